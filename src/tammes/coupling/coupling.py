"""The interface of couplings: for each anchor a distribution over its negatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tammes.reduce import Engine, Exponent, Negatives


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Coupling fitted to one batch.

    Attributes:
        weight: log w_ij, up to the normalization of each row.
        iterations: number of Sinkhorn iterations; None for a coupling that needs none.
        error: marginal error that is left; None for a coupling without marginals.
    """

    weight: Exponent
    iterations: int | None = None
    error: float | None = None


class Coupling(ABC):
    """Weights of the negatives, log w_ij = row_i + col_j + g(s_ij) + mask_ij with sum_j w_ij = 1.

    A coupling is first fitted to a batch, and then evaluated wherever its weights are needed.
    """

    @property
    def of_logits(self) -> bool:
        """Whether the weights are a function of the logits, so that each anchor may have a temperature."""
        return True

    @abstractmethod
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        """Fit `col` and g to a batch; `row`, the normalizer, is computed where the weights are used.

        Args:
            negatives: the batch, and which of its entries are negatives.
            temperature: divisor that turns similarities into logits.
            engine: the engine that reduces the similarity matrix.
        """
