"""The three reductions over the similarity matrix that every objective is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives


class Engine(ABC):
    """A way to reduce S over its negatives, row by row. Only an engine sees a tile of S."""

    @abstractmethod
    def log_sum_exp(
        self, negatives: Negatives, exponents: tuple[Exponent, ...]
    ) -> tuple[Float[Tensor, " n"], ...]:
        """Log sum_j e^{x_ij} over the negatives j of each anchor i, for each exponent x.

        Args:
            negatives: the entries of S to reduce.
            exponents: any number of them; they share one pass over S.

        Returns:
            One `(n,)` tensor for each exponent, differentiable in the embeddings where the exponent
            says so.
        """

    @abstractmethod
    def expectation(
        self,
        negatives: Negatives,
        weight: Exponent,
        log_total: Float[Tensor, " n"],
        term: Pointwise,
        scale: float,
        offsets: Float[Tensor, "n p"],
    ) -> Float[Tensor, "n p"]:
        """sum_j w_ij term(scale * s_ij - offset_ip) over the negatives, with w_ij = e^{x_ij - log_total_i}.

        Args:
            negatives: the entries of S to reduce.
            weight: the exponent x of the weights.
            log_total: `(n,)`, log sum_j e^{x_ij}, which makes the weights sum to one.
            term: a pointwise function, differentiable almost everywhere.
            scale: turns a similarity into the unit of `offsets` and of `term`.
            offsets: `(n, p)`, any number p of them for each anchor.

        Returns:
            `(n, p)`, differentiable in the embeddings, through the weights too where the exponent says
            so, and in `offsets`. No gradient returns through `log_total`: it is accounted for.
        """

    @abstractmethod
    def hardest(self, negatives: Negatives) -> Int[Tensor, " n"]:
        """`(n,)`, the negative of largest similarity for each anchor."""
