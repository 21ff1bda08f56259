"""Negatives and positives that have moved, each for its anchor, so that no product of rows is S."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from typing_extensions import override

from tammes.reduce.displacement import Movable
from tammes.reduce.exponent import Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.positives import WeightedPositives
from tammes.reduce.weighted import WeightedNegatives

_ENTRIES = 1 << 20
"""Entries of S in memory at a time; a batch with more of them is computed again in the backward pass."""


@dataclass(frozen=True, kw_only=True)
class MovedNegatives(WeightedNegatives):
    """Moved negatives, under the weights of the unmoved ones.

    Args:
        movable: anchors and candidates, in the order of `negatives`.
        one: factor of the logits, through which a learned temperature gets its gradient; None for none.
    """

    movable: Movable
    one: Tensor | None = None

    @override
    def log_mean_exp(self) -> Float[Tensor, " n"]:
        def block(rows: slice) -> Tensor:
            weight = self._log_weights(rows)
            return torch.logsumexp(weight + self._logits(rows), dim=1) - torch.logsumexp(weight, dim=1)

        return self._by_blocks(block)

    @override
    def mean_beyond(self, term: Pointwise, offsets: Float[Tensor, "n p"]) -> Float[Tensor, "n p"]:
        def block(rows: slice) -> Tensor:
            weights = torch.softmax(self._log_weights(rows), dim=1)
            values = term(self._logits(rows)[:, None, :] - offsets[rows, :, None])  # (r, p, m)
            return torch.einsum("rm,rpm->rp", weights, values)

        return self._by_blocks(block)

    def smallest(self) -> Float[Tensor, " n"]:
        """Return `(n,)` the smallest logit among each anchor's moved negatives; without gradient."""
        with torch.no_grad():
            return self._by_blocks(lambda rows: _smallest(self._logits(rows), self.negatives, rows))

    def _by_blocks(self, block: Callable[[slice], Tensor]) -> Tensor:
        blocks = list(_rows(*self.negatives.shape))
        if len(blocks) == 1 or not torch.is_grad_enabled():
            return torch.cat([block(rows) for rows in blocks])
        return torch.cat([checkpoint(block, rows, use_reentrant=False) for rows in blocks])

    def _logits(self, rows: slice) -> Float[Tensor, "r m"]:
        logits = self.movable.block(rows, 1.0) / self.temperature
        if self.one is None:
            return logits
        return logits * (self.one if self.one.ndim == 0 else self.one[rows, None])

    def _log_weights(self, rows: slice) -> Float[Tensor, "r m"]:
        """Return the logarithms of the weights, minus infinity where no negative stands."""
        negatives, columns = self.negatives, slice(0, self.negatives.shape[1])
        mask = negatives.mask(rows, columns)
        if self.weight.is_zero:
            exponents = negatives.anchors.new_zeros(len(negatives.anchors[rows]), columns.stop)
        else:
            candidate = torch.arange(columns.stop, device=negatives.anchors.device)
            exponents = self.weight.at_pairs(negatives.anchors[rows] @ negatives.others.T, candidate)
        return exponents if mask is None else exponents.masked_fill(mask, -torch.inf)


@dataclass(frozen=True, kw_only=True)
class MovedPositives(WeightedPositives):
    """Moved positives, under the weights of the unmoved ones.

    Args:
        unmoved: `(e,)` similarity of each pair before the move, of which the weights are.
    """

    unmoved: Float[Tensor, " e"]

    @cached_property
    def _relative_log_weight(self) -> Float[Tensor, " e"]:
        log_weight = self.weight.at_pairs(self.unmoved, self.pairs.candidate)
        return log_weight - self._largest(log_weight)[self.pairs.anchor]

    @staticmethod
    def after(
        positives: WeightedPositives, movable: Movable, sign: float, one: Tensor | None
    ) -> MovedPositives:
        """Return the positives moved towards their anchors (sign 1) or away from them (-1)."""
        pairs = positives.pairs
        similarity = movable.pairs(pairs.anchor, pairs.candidate, sign)
        if one is not None:
            similarity = similarity * (one if one.ndim == 0 else one[pairs.anchor])
        return MovedPositives(
            pairs=pairs,
            similarity=similarity,
            weight=positives.weight,
            temperature=positives.temperature,
            unmoved=positives.similarity,
        )


def smallest_similarity(negatives: Negatives) -> Float[Tensor, " n"]:
    """Return `(n,)` the smallest similarity among each anchor's negatives; without gradient.

    Example:
        >>> from tammes.reduce import KeyRanges
        >>> rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
        >>> smallest_similarity(Negatives(anchors=rows, ranges=KeyRanges(keys=torch.arange(3)), bound=1.0))
        tensor([-1.,  0., -1.])
    """
    with torch.no_grad():
        return torch.cat(
            [
                _smallest(negatives.anchors[rows] @ negatives.others.T, negatives, rows)
                for rows in _rows(*negatives.shape)
            ]
        )


def _smallest(values: Tensor, negatives: Negatives, rows: slice) -> Float[Tensor, " r"]:
    mask = negatives.mask(rows, slice(0, values.shape[1]))
    return (values if mask is None else values.masked_fill(mask, torch.inf)).amin(dim=1)


def _rows(n: int, m: int) -> Iterator[slice]:
    step = max(1, _ENTRIES // m)
    return (slice(first, min(first + step, n)) for first in range(0, n, step))
