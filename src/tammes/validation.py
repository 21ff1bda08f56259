"""Checks of an objective: the kinds of its parts, their combination, and the range of its exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import torch

from tammes.batch import Samples
from tammes.contrast import Contrast
from tammes.correction import Correction
from tammes.coupling import Coupling, Transport, Uniform
from tammes.mixing import HardMixing
from tammes.perturbation import Perturbation
from tammes.reduce import Engine, Exponent, Negatives
from tammes.reduce.terms import Clipped
from tammes.selection import Selection
from tammes.temperature import LogitScale


def check_kinds(parts: Mapping[str, object]) -> None:
    """Raise ValueError for a part that is not of its kind.

    Args:
        parts: parts of an objective by name.
    """
    optional = type(None)
    for name, kinds in (
        ("coupling", (Coupling,)),
        ("selection", (Selection,)),
        ("correction", (Correction, optional)),
        ("perturbation", (Perturbation, optional)),
        ("mixing", (HardMixing, optional)),
        ("contrast", (Contrast,)),
        ("engine", (Engine, optional)),
    ):
        part = parts[name]
        if not isinstance(part, kinds):
            raise ValueError(f"{name} must be a {kinds[0].__name__}, got {part!r}")
    if parts["without_positive"] not in ("error", "skip"):
        raise ValueError(f"without_positive must be 'error' or 'skip', got {parts['without_positive']!r}")


def check_combination(
    coupling: Coupling,
    selection: Selection,
    correction: Correction | None,
    perturbation: Perturbation | None,
    contrast: Contrast,
    *,
    normalize: bool = True,
    mixing: HardMixing | None = None,
) -> None:
    """Raise ValueError for parts that contradict each other, with the parts to take instead."""
    if mixing is not None:
        _check_mixing(mixing, coupling, correction, perturbation, contrast, normalize=normalize)
    if perturbation is not None and perturbation.displacement is not None:
        _check_displacement(perturbation, contrast, normalize=normalize)
    if perturbation is not None and not contrast.falls_with_positives:
        raise ValueError(
            f"{contrast!r} can rise with a positive's logit, so lowering all of them is not the worst that "
            f'{perturbation!r} can do: use SupCon(average="inside") or InfoNCE()'
        )
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
    if contrast.log_domain and not math.isfinite(correction.least_similarity):
        raise ValueError(f"{contrast!r} has no lower bound: {correction!r} needs a finite least_similarity")


def _check_mixing(
    mixing: HardMixing,
    coupling: Coupling,
    correction: Correction | None,
    perturbation: Perturbation | None,
    contrast: Contrast,
    *,
    normalize: bool,
) -> None:
    """Raise ValueError for parts that synthetic negatives do not fit."""
    if not normalize:
        raise ValueError(f"{mixing!r} makes unit vectors, but normalize=False keeps lengths: normalize")
    if isinstance(coupling, Transport):
        raise ValueError(
            f"{coupling!r} transports a batch to itself, in which {mixing!r} has no rows: use "
            "Uniform() or Hard(...)"
        )
    if correction is not None:
        raise ValueError(
            f"{correction!r} corrects for the classes of real candidates, which mixtures do not have: leave "
            f"it out, or {mixing!r}"
        )
    if perturbation is not None and perturbation.displacement is not None:
        raise ValueError(f"{perturbation!r} does not move the negatives of {mixing!r}: use form=Shifted()")
    if not contrast.weighs:
        raise ValueError(
            f"{contrast!r} looks at one real negative, so {mixing!r} has no effect: use InfoNCE()"
        )


def _check_displacement(perturbation: Perturbation, contrast: Contrast, *, normalize: bool) -> None:
    """Raise ValueError for parts that cannot do with moves that differ from candidate to candidate."""
    if not normalize:
        raise ValueError(
            f"{perturbation!r} brings moved embeddings to unit length, but normalize=False keeps lengths: "
            "use form=Shifted(), or normalize"
        )
    if not contrast.weighs:
        raise ValueError(
            f"{contrast!r} looks at the hardest negative alone, which {perturbation!r} may change: use "
            "form=Shifted(), or a contrast that averages"
        )


def check_temperatures(coupling: Coupling, scale: LogitScale) -> None:
    """Raise ValueError for a temperature for each anchor where weights follow from similarities."""
    if scale.differs and not coupling.of_logits:
        raise ValueError(
            f"the weights of {coupling!r} follow from similarities, which a temperature for each anchor "
            "would change with the logits: use Hard(beta=...), or one temperature for all anchors"
        )


def check_range(weight: Exponent, negatives: Negatives, temperature: float, shift: float) -> None:
    """Raise ValueError for exponents or slopes that may overflow: well below the end of the type, for sums.

    Args:
        weight: logarithm of the weights.
        negatives: negatives, which know a bound of the similarities.
        temperature: temperature of the logits.
        shift: largest perturbation of a logit.

    Example:
        >>> from tammes.reduce import KeyRanges
        >>> ranges = KeyRanges(keys=torch.arange(2))
        >>> negatives = Negatives(anchors=torch.eye(2), ranges=ranges, bound=1.0)
        >>> check_range(Exponent(slope=2.0), negatives, temperature=0.5, shift=0.0)
    """
    largest = (abs(weight.slope) + 1 / temperature) * negatives.bound + shift
    if isinstance(weight.tilt, Clipped):
        largest += weight.tilt.bound
    # Where the weights have a gradient, a similarity changes means of logits by their size times the slope.
    largest = max(largest, abs(weight.gradient_slope) * negatives.bound / temperature)
    dtype = negatives.anchors.dtype
    if not largest < torch.finfo(dtype).max ** 0.75:
        raise ValueError(
            f"exponents of up to {largest:.1e} are beyond {dtype}: the embeddings are too long, or the "
            "temperature, beta or epsilon is too extreme; normalize, or use moderate values"
        )


def weightless(make_samples: Callable[[], Samples], coupling: Coupling) -> ValueError:
    """Return the error for weights that are all zero, which leave a loss that is no number.

    Every process of a group must call it.

    Args:
        make_samples: returns the negatives and the positives under the weights.
        coupling: coupling that made the weights.
    """
    negatives, _ = make_samples()
    kind = negatives.negatives.anchors.dtype
    lost = int(negatives.negatives.group.sum(negatives.has_weight.logical_not().sum()))
    if lost == 0:
        return ValueError(
            f"the weights of all positives of an anchor are zero under {coupling!r}, so the correction "
            "cannot estimate the false negatives: raise epsilon, normalize the embeddings, or leave it out"
        )
    anchors = "1 anchor" if lost == 1 else f"{lost} anchors"
    return ValueError(
        f"the weights of all negatives of {anchors} are zero, or too close to it for {kind}, under "
        f"{coupling!r}: raise epsilon, normalize the embeddings, or take all negatives instead of a subset"
    )
