"""Softmax contrasts: InfoNCE with any weight Q, its limit form, and the logistic loss of raw products."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.contrast.contrast import Contrast, Shift, check_weight, raised
from tammes.reduce import Sample, WeightedNegatives, WeightedPositives
from tammes.reduce.terms import softplus


class LogMeanExpContrast(Contrast):
    """A loss of log G, with G = sum_j w_j e^{l_j} that counts as Q negatives."""

    weight: float | None
    log_domain: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_weight(self.weight)

    @property
    def log_weight(self) -> float | None:
        """Logarithm of Q; None for the number of negatives of each anchor."""
        return None if self.weight is None else math.log(self.weight)

    @override
    def statistic(self, sample: Sample, positives: WeightedPositives, shift: Shift) -> Float[Tensor, " n"]:
        return raised(sample.log_mean_exp(), shift)

    @override
    def lower_bound(self, logit: Shift) -> Shift:
        return logit

    def log_total(self, statistic: Float[Tensor, " n"], negatives: WeightedNegatives) -> Float[Tensor, " n"]:
        """Return `(n,)` log(Q G)."""
        log_weight = self.log_weight
        return statistic + (negatives.log_count if log_weight is None else log_weight)


class SoftmaxContrast(LogMeanExpContrast):
    """log(1 + Q e^{log G - l+}), averaged over the positives, with G = sum_j w_j e^{l_j}.

    InfoNCE and the m-pair logistic loss are this formula under two names.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_limit and self.weight is not None:
            raise ValueError(f"the limit form has no weight Q, got weight={self.weight}: leave one out")

    @property
    def is_limit(self) -> bool:
        """Whether the loss is the form for infinitely many negatives, -l+ + log G."""
        return False

    @override
    def losses(
        self,
        statistic: Float[Tensor, " n"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        if not self.is_limit:
            statistic = self.log_total(statistic, negatives)
        excess = raised(positives.of_anchor(statistic) - positives.logit, positives.of_anchor(shift))
        return positives.average(excess if self.is_limit else softplus(excess))


@dataclass(frozen=True, kw_only=True)
class InfoNCE(SoftmaxContrast):
    """-log( e^{l+} / (e^{l+} + Q G) ) with G = sum_j w_j e^{l_j}, averaged over the positives.

    With several positives each has a term, whose denominator holds the negatives and that positive alone:
    with classes as ids this is the supervised loss of Feeney and Hughes (2023), SINCERE.

    Args:
        weight: Q; None for the number of the anchor's negatives, the usual loss.
        limit: whether to take the form for infinitely many negatives, -l+ + log G, which has no Q.

    Raises:
        ValueError: a weight that is not positive, or one given with the limit form.

    Source: Robinson (2023), eq. 3.1, 3.11 and, for the limit form, 3.14; the limit form is also the
    decoupled loss of Yeh et al. (2022), L_DC, less the constant log N.

    Example:
        >>> InfoNCE()
        InfoNCE(weight=None, limit=False)
    """

    weight: float | None = None
    limit: bool = False

    @property
    @override
    def is_limit(self) -> bool:
        return self.limit


@dataclass(frozen=True, kw_only=True)
class Logistic(SoftmaxContrast):
    """log(1 + (q/m) sum_j e^{v_j}), v_j = l_j - l+: the m-pair logistic loss, averaged over the positives.

    InfoNCE under the name and the letters of another literature, where it usually acts on raw inner products
    at temperature 1: `recipes.logistic` sets that.

    Args:
        weight: q; None for the number m of negatives: log(1 + sum_j e^{v_j}).

    Raises:
        ValueError: a weight that is not positive.

    Source: Jiang et al. (2023), eq. 1; Ash et al. (2022), Definition 1. Differs: the latter's appendix
    D.1 prints a denominator without the positive, against its Definition 1, which is followed.

    Example:
        >>> Logistic(weight=5.0)
        Logistic(weight=5.0)
    """

    weight: float | None = None
