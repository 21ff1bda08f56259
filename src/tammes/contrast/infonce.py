"""The softmax contrast: InfoNCE with any weight Q, its limit form, and the logistic loss of raw products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from tammes.checks import is_finite
from tammes.contrast.contrast import Contrast, Shift, raised
from tammes.reduce import Positives, WeightedNegatives
from tammes.reduce.weighted import Sample


@dataclass(frozen=True, kw_only=True)
class InfoNCE(Contrast):
    """-log( e^{l+} / (e^{l+} + Q G) ) with G = sum_j w_j e^{l_j}, averaged over the positives.

    Args:
        weight: Q. None takes the number of the anchor's negatives, the usual loss.
        limit: the form for infinitely many negatives, -l+ + log G, which has no Q.

    Raises:
        ValueError: a weight that is not positive, or one given with the limit form.

    Source: Robinson (2023), eq. 3.1, 3.11 and, for the limit form, 3.14.

    Example:
        >>> InfoNCE()
        InfoNCE(weight=None, limit=False)
    """

    weight: float | None = None
    limit: bool = False
    logarithmic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_weight(self.weight)
        if self.limit and self.weight is not None:
            raise ValueError(f"the limit form has no weight Q, got weight={self.weight}: leave one out")

    @property
    def is_softmax(self) -> bool:
        """Whether Q is the number of negatives."""
        return self.weight is None and not self.limit

    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """Log G, raised by the shift."""
        return raised(sample.log_mean_exp(), shift)

    def least(self, logit: Shift) -> Shift:
        """The logarithm of e^{logit}."""
        return logit

    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """See `Contrast.losses`."""
        if self.limit:
            return positives.average(_exponent_over_positives(number, positives, shift))
        return _softmax_losses(number, self.weight, negatives, positives, shift)


@dataclass(frozen=True, kw_only=True)
class Logistic(Contrast):
    """log(1 + (q/m) sum_j e^{v_j}), v_j = l_j - l+: the m-pair logistic loss, averaged over the positives.

    It is InfoNCE under the name and the letters of another literature, where it usually acts on raw
    inner products at temperature 1: `recipes.logistic` sets that.

    Args:
        weight: q. None takes the number m of negatives: log(1 + sum_j e^{v_j}).

    Raises:
        ValueError: a weight that is not positive.

    Source: Jiang et al. (2023), eq. 1; Ash et al. (2022), Definition 1. Differs: the latter's appendix
    D.1 prints a denominator without the positive, against its Definition 1, which is followed.

    Example:
        >>> Logistic(weight=5.0)
        Logistic(weight=5.0)
    """

    weight: float | None = None
    logarithmic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_weight(self.weight)

    @property
    def is_softmax(self) -> bool:
        """Whether q is the number of negatives."""
        return self.weight is None

    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """Log G, raised by the shift."""
        return raised(sample.log_mean_exp(), shift)

    def least(self, logit: Shift) -> Shift:
        """The logarithm of e^{logit}."""
        return logit

    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """See `Contrast.losses`."""
        return _softmax_losses(number, self.weight, negatives, positives, shift)


def _check_weight(weight: float | None) -> None:
    if weight is not None and not (is_finite(weight) and weight > 0):
        raise ValueError(
            f"weight (Q) must be a positive number, or None for the number of negatives, got {weight}"
        )


def _exponent_over_positives(number: Tensor, positives: Positives, shift: Shift) -> Tensor:
    """Log G - l+ for each positive pair, the shift included."""
    excess = positives.of_anchor(number) - positives.logit
    return raised(excess, positives.of_anchor(shift))


def _softmax_losses(
    number: Tensor, weight: float | None, negatives: WeightedNegatives, positives: Positives, shift: Shift
) -> Tensor:
    log_weight = negatives.negatives.log_count if weight is None else math.log(weight)
    return positives.average(softplus(_exponent_over_positives(number + log_weight, positives, shift)))
