"""Weighted samples of logits: what a contrast may ask of the negatives, and likewise of the positives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import Linear


class Sample(ABC):
    """Logits l_ij of each anchor i, with weights w_ij that sum to one over j."""

    @abstractmethod
    def log_mean_exp(self) -> Float[Tensor, " n"]:
        """Return `(n,)` log sum_j w_ij e^{l_ij}."""

    @abstractmethod
    def mean(self, term: Pointwise, shift: Tensor | float = 0.0) -> Float[Tensor, " n"]:
        """Return `(n,)` sum_j w_ij term(l_ij + shift_i)."""


@dataclass(frozen=True, kw_only=True)
class WeightedNegatives(Sample):
    """The negatives under a fitted coupling.

    Args:
        negatives: the entries of S that are negatives.
        weight: logarithm of the weights, up to the normalization of each row.
        temperature: l = s / temperature.
        engine: the engine that reduces S.
    """

    negatives: Negatives
    weight: Exponent
    temperature: float
    engine: Engine

    @property
    def log_count(self) -> Float[Tensor, " n"]:
        """`(n,)` log N_i."""
        return self.negatives.log_count

    @property
    def count(self) -> Int[Tensor, " n"]:
        """`(n,)` number of negatives of each anchor, N_i."""
        return self.negatives.count

    @override
    def log_mean_exp(self) -> Float[Tensor, " n"]:
        return self._log_mean_exp

    @cached_property
    def _log_mean_exp(self) -> Tensor:
        """Return log G_i = log sum_j w_ij e^{l_ij}, a difference of two log-sum-exps."""
        with_logit = self.weight.with_logit(1 / self.temperature)
        if self.weight.is_zero:
            (total,) = self.engine.log_sum_exp(self.negatives, (with_logit,))
            return total - self.negatives.log_count
        total, weights = self.engine.log_sum_exp(self.negatives, (with_logit, self.weight))
        if not self.weight.may_vanish:
            return total - weights
        # The difference of two numbers without digits is not a small error but any number: the objective
        # refuses NaN. Made without a look at the values, for which a GPU would wait.
        return torch.where(_has_digits(weights), total - weights, torch.nan)

    @override
    def mean(self, term: Pointwise, shift: Tensor | float = 0.0) -> Float[Tensor, " n"]:
        anchors = self.negatives.anchors
        offset = -torch.as_tensor(shift, dtype=anchors.dtype, device=anchors.device)
        return self.mean_beyond(term, offset.expand(len(anchors))[:, None])[:, 0]

    def mean_beyond(self, term: Pointwise, offsets: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
        """Return `(n, p)` sum_j w_ij term(l_ij - offset_ip)."""
        return self.engine.expectation(
            self.negatives, self.weight, self.log_total, term, 1 / self.temperature, offsets
        )

    def mean_similarity(self) -> Float[Tensor, " n"]:
        """Return `(n,)` sum_j w_ij s_ij."""
        return self.temperature * self.mean(Linear())

    def hardest(self) -> Int[Tensor, " n"]:
        """Return `(n,)` the candidate of largest similarity among each anchor's negatives."""
        return self.engine.hardest(self.negatives)

    def effective_count(self) -> Float[Tensor, " n"]:
        """Return `(n,)` 1 / sum_j w_ij^2: N_i for equal weights, 1 where one negative has all the weight."""
        if self.weight.is_zero:
            return self.negatives.log_count.exp()
        (squares,) = self.engine.log_sum_exp(self.negatives, (self.weight.squared(),))
        return torch.exp(2 * self.log_total - squares)

    @property
    def has_weight(self) -> Bool[Tensor, " n"]:
        """`(n,)` whether an anchor has any weight, with digits for a logit beside its logarithm."""
        return _has_digits(self.log_total)

    @cached_property
    def log_total(self) -> Float[Tensor, " n"]:
        """`(n,)` log sum_j e^{x_ij}: minus the row's normalizer; without gradient."""
        if self.weight.is_zero:
            return self.negatives.log_count
        with torch.no_grad():
            (total,) = self.engine.log_sum_exp(self.negatives, (self.weight,))
        return total


def _has_digits(exponents: Tensor) -> Tensor:
    """Return where the last digit of an exponent is below one; false for infinity and NaN."""
    return exponents.abs() * torch.finfo(exponents.dtype).eps < 1
