"""What an objective refuses: parts of the wrong kind or that make no sense together, exponents too large."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from tammes.contrast import Contrast
from tammes.correction import Correction
from tammes.coupling import Coupling, Uniform
from tammes.perturbation import Perturbation
from tammes.reduce import Engine
from tammes.selection import Selection


def check_kinds(parts: Mapping[str, object]) -> None:
    """Raises ValueError for a part, by name, that is not of its kind."""
    optional = type(None)
    for name, kinds in (
        ("coupling", (Coupling,)),
        ("selection", (Selection,)),
        ("correction", (Correction, optional)),
        ("perturbation", (Perturbation, optional)),
        ("contrast", (Contrast,)),
        ("engine", (Engine, optional)),
    ):
        part = parts[name]
        if not isinstance(part, kinds):
            raise ValueError(f"{name} must be a {kinds[0].__name__}, got {part!r}")


def check_sense(
    coupling: Coupling, selection: Selection, correction: Correction | None, contrast: Contrast
) -> None:
    """Raises ValueError for parts that make no sense together, with what to take instead."""
    if not contrast.weighs and not isinstance(coupling, Uniform):
        raise ValueError(
            f"{contrast!r} looks at the hardest negative alone, so the weights of {coupling!r} have no "
            "effect: use Uniform(), or a contrast that averages"
        )
    if correction is None:
        return
    if not contrast.debiasable:
        raise ValueError(
            f"{contrast!r} is no mean over the negatives alone, so {correction!r} has nothing to correct: "
            "use InfoNCE, Logistic, BCL or Softplus"
        )
    if selection.removes_false_negatives:
        raise ValueError(
            f"{selection!r} leaves no false negatives, so {correction!r} would take out true ones: "
            "use one of the two"
        )
    if contrast.logarithmic and not math.isfinite(correction.least_similarity):
        raise ValueError(
            f"{contrast!r} has no lower bound of its own: {correction!r} needs a finite least_similarity"
        )


def check_range(largest: float, kind: torch.dtype) -> None:
    """Raises ValueError for exponents that would overflow: well below the end of the type, as they add up.

    Args:
        largest: no exponent is larger.
        kind: in which they are computed.

    Example:
        >>> check_range(1e3, torch.float32)
    """
    if not largest < torch.finfo(kind).max ** 0.75:
        raise ValueError(
            f"exponents of up to {largest:.1e} are beyond {kind}: the embeddings are too long, or the "
            "temperature, beta or epsilon is too extreme; normalize, or use moderate values"
        )
