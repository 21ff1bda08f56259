"""What a coupling is: for each anchor a distribution over its negatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tammes.reduce import Engine, Exponent, Negatives


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A coupling fitted to one batch.

    Args:
        weight: the logarithm of the weights, up to the normalization of each row.
        iterations: how many Sinkhorn iterations it took; None where there was nothing to iterate.
        error: the marginal error that was left; None likewise.
    """

    weight: Exponent
    iterations: int | None = None
    error: float | None = None


class Coupling(ABC):
    """log w_ij = row_i + col_j + g(s_ij) + mask_ij with sum_j w_ij = 1: first fitted, then evaluated."""

    @abstractmethod
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        """Fits `col` and g to a batch; `row`, the normalizer, is found where the weights are used."""
