"""Corrections for false negatives: estimates of the statistic over the true negatives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import is_number


class Correction(ABC):
    """Estimate of the statistic over the true negatives from that over all negatives."""

    least_similarity: float
    """Smallest value that a similarity can take."""

    @abstractmethod
    def __call__(
        self,
        negatives: Float[Tensor, " n"],
        positives: Float[Tensor, " n"],
        floor: Tensor | float,
        *,
        log_domain: bool,
    ) -> tuple[Float[Tensor, " n"], Bool[Tensor, " n"]]:
        """Return the corrected statistic of each anchor, and where it is on the floor.

        Args:
            negatives: `(n,)` means over the negatives.
            positives: `(n,)` the same means over the positives, which stand for the false negatives.
            floor: lower bound of the mean over the true negatives.
            log_domain: whether all of them are logarithms of means.
        """


@dataclass(frozen=True, kw_only=True)
class Debias(Correction):
    """G := max{ (G - tau+ G+) / tau-, e^{least logit} }, with tau- = 1 - tau+.

    Where the floor binds, no gradient passes through the negatives; `objective.last` has the share of such
    anchors. Contrasts that average another function of the logit than its exponential are corrected in the
    same way, with that function at the least logit as their floor.

    Args:
        class_prior: tau+, the probability that a random candidate is a false negative, in [0, 1).
        least_similarity: smallest value that a similarity can take: -1 for unit vectors; minus infinity for
            unbounded embeddings and a contrast that is bounded itself (`Softplus`).

    Raises:
        ValueError: a prior outside [0, 1), or a least similarity of 1 or more.

    Source: Robinson (2023), eq. 3.7 and 3.12, after Chuang et al. (2020). Differs: the thesis speaks of a
    sphere of radius 1/t; its floor and code mean unit vectors and logits s/t, which is what stands here.

    Example:
        >>> correct = Debias(class_prior=0.5)
        >>> mean, on_floor = correct(torch.tensor([3.0]), torch.tensor([1.0]), 0.0, log_domain=False)
        >>> mean.item(), on_floor.item()
        (5.0, False)
    """

    class_prior: float
    least_similarity: float = -1.0

    def __post_init__(self) -> None:
        if not (is_number(self.class_prior) and 0 <= self.class_prior < 1):
            raise ValueError(
                f"class_prior must be a probability in [0, 1), got {self.class_prior}; "
                "with ten equally frequent classes it is 0.1"
            )
        if not (is_number(self.least_similarity) and self.least_similarity < 1):
            raise ValueError(
                f"least_similarity must lie below 1 (it is -1 for unit vectors), got {self.least_similarity}"
            )

    @override
    def __call__(
        self,
        negatives: Float[Tensor, " n"],
        positives: Float[Tensor, " n"],
        floor: Tensor | float,
        *,
        log_domain: bool,
    ) -> tuple[Float[Tensor, " n"], Bool[Tensor, " n"]]:
        if self.class_prior == 0:
            return negatives, torch.zeros_like(negatives, dtype=torch.bool)
        if log_domain:
            corrected, nothing_left = self._logarithm(negatives, positives)
            on_floor = (corrected <= floor).logical_or_(nothing_left)
        else:
            corrected = (negatives - self.class_prior * positives) / (1 - self.class_prior)
            on_floor = corrected <= floor
        return torch.where(on_floor, floor, corrected), on_floor

    def _logarithm(self, negatives: Tensor, positives: Tensor) -> tuple[Tensor, Tensor]:
        """Return log( (e^a - tau+ e^b) / tau- ), and where the difference is negative and has none."""
        share = positives - negatives + math.log(self.class_prior)  # log of the part that is subtracted
        # A safe argument where the result is not used: its gradient must not be NaN.
        left = share.clamp(max=-torch.finfo(share.dtype).tiny)
        corrected = negatives + torch.log(-torch.expm1(left)) - math.log1p(-self.class_prior)
        return corrected, share.detach() >= 0
