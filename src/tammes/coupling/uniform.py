"""Equal weights for all negatives."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from tammes.coupling.coupling import Coupling, Fit
from tammes.reduce import Engine, Exponent, Negatives

_EQUAL = Fit(weight=Exponent())


@dataclass(frozen=True, kw_only=True)
class Uniform(Coupling):
    """Equal weights, w_ij = 1 / N_i: the negatives of SimCLR and of the debiased loss.

    Example:
        >>> Uniform()
        Uniform()
    """

    @override
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        return _EQUAL
