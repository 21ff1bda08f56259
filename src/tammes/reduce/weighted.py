"""Samples with weights: what a contrast may ask of the negatives, and likewise of the positives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import Linear


class Sample(ABC):
    """For each anchor, logits l_ij with weights w_ij that sum to one."""

    @abstractmethod
    def log_mean_exp(self) -> Float[Tensor, " n"]:
        """Log sum_j w_ij e^{l_ij}."""

    @abstractmethod
    def mean(self, term: Pointwise, shift: Tensor | float = 0.0) -> Float[Tensor, " n"]:
        """sum_j w_ij term(l_ij + shift_i)."""


@dataclass(frozen=True, kw_only=True)
class WeightedNegatives(Sample):
    """The negatives under a fitted coupling.

    Args:
        negatives: which entries of S are meant.
        weight: the logarithm of the weights, up to the normalization of each row.
        temperature: l = s / temperature.
        engine: what reduces S.
        log_sums: `(n,)` for each of `exponents`, where they are known already; the negatives have no graph
            then, and log G is all that can be differentiated.
    """

    negatives: Negatives
    weight: Exponent
    temperature: float
    engine: Engine
    log_sums: tuple[Float[Tensor, " n"], ...] | None = None

    def detached(self) -> WeightedNegatives:
        """The same, cut from the graph."""
        return WeightedNegatives(
            negatives=self.negatives.detached,
            weight=self.weight,
            temperature=self.temperature,
            engine=self.engine,
        )

    def log_mean_exp(self) -> Float[Tensor, " n"]:
        """Log G_i = log sum_j w_ij e^{l_ij}, a difference of two log-sum-exps."""
        return self._log_mean_exp

    @cached_property
    def _log_mean_exp(self) -> Tensor:
        sums = self.log_sums
        if sums is None:
            sums = self.engine.log_sum_exp(self.negatives, self.exponents)
        if self.weight.is_zero:
            return sums[0] - self.negatives.log_count
        return sums[0] - sums[1]

    @cached_property
    def exponents(self) -> tuple[Exponent, ...]:
        """Whose log-sum-exps make log G: of weighted exponentials and, unless it is known, of weights."""
        with_logit = self.weight.with_logit(1 / self.temperature)
        return (with_logit,) if self.weight.is_zero else (with_logit, self.weight)

    def mean(self, term: Pointwise, shift: Tensor | float = 0.0) -> Float[Tensor, " n"]:
        """sum_j w_ij term(l_ij + shift_i)."""
        anchors = self.negatives.anchors
        offset = -torch.as_tensor(shift, dtype=anchors.dtype, device=anchors.device)
        return self.mean_beyond(term, offset.expand(len(anchors))[:, None])[:, 0]

    def mean_beyond(self, term: Pointwise, offsets: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
        """sum_j w_ij term(l_ij - offset_ip)."""
        if self.log_sums is not None:  # else no gradient would reach the embeddings, and nothing would say so
            raise RuntimeError(
                "of these negatives only the logarithm of a mean of e^l is known: a contrast that asks for "
                "other means must not be `logarithmic`"
            )
        return self.engine.expectation(
            self.negatives, self.weight, self.log_total, term, 1 / self.temperature, offsets
        )

    def mean_similarity(self) -> Float[Tensor, " n"]:
        """sum_j w_ij s_ij."""
        return self.temperature * self.mean(Linear())

    def hardest(self) -> Tensor:
        """`(n,)`, the candidate of largest similarity among each anchor's negatives."""
        return self.engine.hardest(self.negatives)

    def effective_count(self) -> Float[Tensor, " n"]:
        """1 / sum_j w_ij^2: N_i where all weights are equal, 1 where one has everything."""
        if self.weight.is_zero:
            return self.negatives.log_count.exp()
        (squares,) = self.engine.log_sum_exp(self.negatives, (self.weight.squared(),))
        return torch.exp(2 * self.log_total - squares)

    @cached_property
    def log_total(self) -> Float[Tensor, " n"]:
        """`(n,)`, log sum_j e^{x_ij}: minus the row's normalizer; without gradient."""
        if self.weight.is_zero:
            return self.negatives.log_count
        with torch.no_grad():
            (total,) = self.engine.log_sum_exp(self.negatives, (self.weight,))
        return total
