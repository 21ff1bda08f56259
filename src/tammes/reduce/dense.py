"""The reductions as they are written on paper: the specification that every other engine must equal."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives


@dataclass(frozen=True, kw_only=True)
class Dense(Engine):
    """Engine that forms S whole and leaves the gradient to autograd; memory grows with n * m.

    In a step that `torch.compile` traces, the softmax loss of two views or of aligned pairs is then a part of
    the graph.

    Example:
        >>> from tammes.reduce import KeyRanges
        >>> negatives = Negatives(anchors=torch.eye(3), ranges=KeyRanges(keys=torch.arange(3)), bound=1.0)
        >>> (log_count,) = Dense().log_sum_exp(negatives, (Exponent(slope=1.0),))  # every s_ij is 0
        >>> log_count.exp().tolist()
        [2.0, 2.0, 2.0]
    """

    @override
    def log_sum_exp(
        self, negatives: Negatives, exponents: tuple[Exponent, ...]
    ) -> tuple[Float[Tensor, " n"], ...]:
        similarity, mask = _matrix(negatives)
        return tuple(torch.logsumexp(_masked(exponent, similarity, mask), dim=1) for exponent in exponents)

    @override
    def expectation(
        self,
        negatives: Negatives,
        weight: Exponent,
        log_total: Float[Tensor, " n"],
        term: Pointwise,
        scale: float,
        offsets: Float[Tensor, "n p"],
    ) -> Float[Tensor, "n p"]:
        # The weights are normalized here, so `log_total` is not needed.
        similarity, mask = _matrix(negatives)
        weights = torch.softmax(_masked(weight, similarity, mask), dim=1)
        terms = term(scale * similarity[:, None, :] - offsets[:, :, None])  # (n, p, m)
        return torch.einsum("ij,ipj->ip", weights, terms)

    @override
    def hardest(self, negatives: Negatives) -> Int[Tensor, " n"]:
        similarity, mask = _matrix(negatives.detached)
        return similarity.masked_fill(mask, -torch.inf).argmax(dim=1)


def _matrix(negatives: Negatives) -> tuple[Float[Tensor, "n m"], Bool[Tensor, "n m"]]:
    n, m = negatives.shape
    similarity = negatives.anchors @ negatives.others.T
    mask = negatives.mask(slice(0, n), slice(0, m))
    return similarity, torch.zeros_like(similarity, dtype=torch.bool) if mask is None else mask


def _masked(exponent: Exponent, similarity: Tensor, mask: Tensor) -> Float[Tensor, "n m"]:
    columns = torch.arange(similarity.shape[1], device=similarity.device)
    return exponent.at_pairs(similarity, columns).masked_fill(mask, -torch.inf)
