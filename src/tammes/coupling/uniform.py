"""All negatives weigh the same."""

from __future__ import annotations

from dataclasses import dataclass

from tammes.coupling.coupling import Coupling, Fit
from tammes.reduce import Engine, Exponent, Negatives


@dataclass(frozen=True, kw_only=True)
class Uniform(Coupling):
    """w_ij = 1 / N_i: the negatives of SimCLR and of the debiased loss.

    Example:
        >>> Uniform()
        Uniform()
    """

    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        """See `Coupling.fit`; there is nothing to fit."""
        return Fit(weight=Exponent())
