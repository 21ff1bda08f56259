"""Names and embeddings that the tests of objectives share."""

from __future__ import annotations

import torch
from torch import Tensor

import tammes


def name_of(objective: tammes.Objective) -> str:
    """The kinds of its parts, for the name of a test."""
    parts = [
        objective.coupling,
        objective.selection,
        objective.correction,
        objective.perturbation,
        objective.contrast,
    ]
    return "-".join(type(part).__name__ for part in parts)


def good(batch_size: int = 4) -> Tensor:
    """Embeddings that nothing is wrong with."""
    return torch.randn(batch_size, 3)
