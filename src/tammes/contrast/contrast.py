"""The interface of contrasts: how the negatives of an anchor are set against its positives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from tammes.checks import is_finite
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives

Shift = Tensor | float
"""A perturbation in logits, one for all anchors or `(n,)`: negatives rise by it, positives fall by it."""


class Contrast(ABC):
    """Loss of one anchor, non-decreasing in its negative logits.

    The negatives enter as one statistic for each anchor, on which a correction can act.
    """

    weighs: ClassVar[bool] = True
    """Whether it averages over the negatives, so that a coupling's weights have an effect."""
    debiasable: ClassVar[bool] = True
    """Whether its statistic is a mean over the negatives alone, from which false ones can be subtracted."""
    log_domain: ClassVar[bool] = False
    """Whether its statistic is the logarithm of a mean of e^{l}."""
    falls_with_positives: ClassVar[bool] = True
    """Whether the loss never rises with a positive logit, so that the worst perturbation lowers all."""

    @abstractmethod
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " e"]:
        """Return the statistic of a sample's logits, each raised by the shift.

        Args:
            sample: the negatives; or the positives, where a correction estimates the false negatives.
            positives: the positives.
            shift: perturbation in logits.

        Returns:
            `(n,)` one number for each anchor, or `(e,)` one for each positive pair.
        """

    @abstractmethod
    def lower_bound(self, logit: Shift) -> Shift:
        """Return the statistic of a sample whose every logit is `logit`, the smallest possible."""

    @abstractmethod
    def losses(
        self,
        statistic: Float[Tensor, " e"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        """Return `(n,)` losses: the statistic against the positive logits, each lowered by the shift."""


def check_weight(weight: float | None) -> None:
    """Raise ValueError for a weight Q of the negatives that is neither positive nor None."""
    if weight is not None and not (is_finite(weight) and weight > 0):
        raise ValueError(
            f"weight (Q) must be a positive number, or None for the number of negatives, got {weight}"
        )


def raised(statistic: Tensor, shift: Shift) -> Tensor:
    """Return statistic + shift, without an operation for a shift of zero.

    Example:
        >>> import torch
        >>> raised(torch.tensor([1.0, 2.0]), 0.5)
        tensor([1.5000, 2.5000])
    """
    return statistic if isinstance(shift, float) and shift == 0.0 else statistic + shift
