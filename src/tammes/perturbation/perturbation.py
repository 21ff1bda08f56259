"""The interface of perturbations: how logits are moved, and how the moved loss joins the plain one."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce import Displacement


class Perturbation(ABC):
    """Move of all logits against the anchor, and the combination of the moved loss with the plain one.

    Where every negative of an anchor rises by the same number, `shift` gives it and one log-sum-exp serves
    both losses. Where the move differs from candidate to candidate, `displacement` gives it instead.
    """

    @abstractmethod
    def shift(self, lengths: Tensor | float, temperature: float) -> Tensor | float:
        """Return the shift in logits, by which negatives rise and positives fall.

        Args:
            lengths: `(n,)` lengths of the anchors; 1 for unit vectors.
            temperature: l = s / temperature.
        """

    @abstractmethod
    def combine(self, plain: Tensor | None, perturbed: Tensor) -> Tensor:
        """Return `(n,)` one loss from the plain one, None unless `takes_plain`, and the perturbed one."""

    @property
    def takes_plain(self) -> bool:
        """Whether the plain loss has a weight."""
        return True

    @property
    def factor(self) -> float:
        """Number that multiplies the average of both losses."""
        return 1.0

    @property
    def stretch(self) -> float | None:
        """Largest ratio of `lengths` to the Euclidean length of an anchor; None where they are equal."""
        return None

    def lengths(self, anchors: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """Return `(n,)` lengths of the anchors to which shifts are proportional."""
        return torch.linalg.vector_norm(anchors, dim=1)

    @property
    def displacement(self) -> Displacement | None:
        """Move of each candidate for each anchor; None where `shift` says all."""
        return None
