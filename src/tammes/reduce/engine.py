"""The three reductions over the similarity matrix from which every objective is computed."""

from __future__ import annotations

from abc import ABC, abstractmethod

from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives


class Engine(ABC):
    """Method of reducing S over its negatives, row by row. Only an engine sees a tile of S."""

    @abstractmethod
    def log_sum_exp(
        self, negatives: Negatives, exponents: tuple[Exponent, ...]
    ) -> tuple[Float[Tensor, " n"], ...]:
        """Return log sum_j e^{x_ij} over the negatives j of each anchor i, for each exponent x.

        Args:
            negatives: the entries of S to reduce.
            exponents: any number of exponents; they share one pass over S.

        Returns:
            One `(n,)` tensor for each exponent, differentiable in the embeddings as the exponent says.
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
        """Return sum_j w_ij term(scale * s_ij - offset_ip), with w_ij = e^{x_ij} / sum_k e^{x_ik}.

        Args:
            negatives: the entries of S to reduce.
            weight: the exponent x of the weights.
            log_total: `(n,)` log sum_j e^{x_ij}, known before: a shift that keeps e^x in range.
            term: a pointwise function, differentiable almost everywhere.
            scale: factor from similarities to the unit of `offsets` and of `term`.
            offsets: `(n, p)` offsets, any number p for each anchor.

        Returns:
            `(n, p)` means, differentiable in `offsets` and in the embeddings, through the weights too as the
            exponent says. The gradient through `log_total` is included: none returns to it.
        """

    @abstractmethod
    def hardest(self, negatives: Negatives) -> Int[Tensor, " n"]:
        """Return `(n,)` the negative of largest similarity for each anchor."""
