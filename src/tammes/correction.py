"""Corrections: what is taken out of the negatives because some of them are false."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.checks import is_number


class Correction(ABC):
    """Turns a number over all negatives into one over the true negatives."""

    least_similarity: float
    """The least value a similarity can take."""

    @abstractmethod
    def __call__(
        self,
        negatives: Float[Tensor, " n"],
        positives: Float[Tensor, " n"],
        floor: Tensor | float,
        *,
        logarithmic: bool,
    ) -> tuple[Float[Tensor, " n"], Bool[Tensor, " n"]]:
        """The corrected number of each anchor, and where it stands on the floor.

        Args:
            negatives: `(n,)`, a mean over the negatives.
            positives: `(n,)`, the same mean over the positives, which stand for the false negatives.
            floor: what the mean over the true negatives cannot fall below.
            logarithmic: whether all of them are logarithms of means.
        """


@dataclass(frozen=True, kw_only=True)
class Debias(Correction):
    """G := max{ (G - tau+ G+) / tau-, e^{least logit} }, with tau- = 1 - tau+.

    Where the floor binds, no gradient passes through the negatives; `objective.last` tells for how many
    anchors it does. Contrasts that average another function of the logit than its exponential are
    corrected alike, their floor being that function at the least logit.

    Args:
        class_prior: tau+, the probability that a random candidate is a false negative, in [0, 1).
        least_similarity: the least value that a similarity can take: -1 for unit vectors. Minus infinity
            where embeddings are unbounded and the contrast has a bound of its own (`Softplus`).

    Raises:
        ValueError: a prior outside [0, 1), or a least similarity that is none.

    Source: Robinson (2023), eq. 3.7 and 3.12, after Chuang et al. (2020). Differs: the thesis speaks of a
    sphere of radius 1/t; its floor and code mean unit vectors and logits s/t, which is what stands here.

    Example:
        >>> correct = Debias(class_prior=0.5)
        >>> number, on_floor = correct(torch.tensor([3.0]), torch.tensor([1.0]), 0.0, logarithmic=False)
        >>> number.item(), on_floor.item()
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

    def __call__(
        self,
        negatives: Float[Tensor, " n"],
        positives: Float[Tensor, " n"],
        floor: Tensor | float,
        *,
        logarithmic: bool,
    ) -> tuple[Float[Tensor, " n"], Bool[Tensor, " n"]]:
        """See `Correction.__call__`."""
        if self.class_prior == 0:
            return negatives, torch.zeros_like(negatives, dtype=torch.bool)
        if logarithmic:
            corrected, nothing_left = self._logarithm(negatives, positives)
            on_floor = (corrected <= floor).logical_or_(nothing_left)
        else:
            corrected = (negatives - self.class_prior * positives) / (1 - self.class_prior)
            on_floor = corrected <= floor
        return torch.where(on_floor, floor, corrected), on_floor

    def _logarithm(self, negatives: Tensor, positives: Tensor) -> tuple[Tensor, Tensor]:
        """log( (e^a - tau+ e^b) / tau- ), and where nothing is left of which there were a logarithm."""
        share = positives - negatives + math.log(self.class_prior)  # log of what is taken out
        # A safe argument where the result is not used.
        left = share.clamp(max=-torch.finfo(share.dtype).tiny)
        corrected = negatives + torch.log(-torch.expm1(left)) - math.log1p(-self.class_prior)
        return corrected, share.detach() >= 0
