"""Small batches, from raw embeddings to the numbers of each row of S, as one node of the graph.

Where S is one tile, the time goes into the number of operations and not into their size. So two views are
interleaved as they are put together, the positives are read off S and written into its gradient, and the way
back to the raw embeddings is walked at once. The numbers are those of `Tiled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.layout import Layout, layout_of_views
from tammes.normalization import longest_of
from tammes.pairs import Pairs
from tammes.reduce import Exponent, LogSums, Negatives, Positives, WeightedNegatives
from tammes.reduce.autograd import first_order_only, through_unit_length
from tammes.reduce.softmax import mean_one_way_softmax_loss, mean_softmax_loss

_MOST_PAIRS = 256
"""S is then 512 by 512, which stays in a processor's cache."""
_MOST_ONE_WAY = 1024
"""S then takes 4 MB at most; beyond, memory is to be linear in the batch."""


@dataclass(frozen=True, kw_only=True)
class SmallBatch:
    """The rows of two views in turn, 2k and 2k + 1 of the same, and S between them.

    Args:
        given: `(n, d)`, as they came; in the graph.
        lengths: `(n, 1)`, |row|, where they are brought to unit length; else None.
        values: `(n, d)`, at unit length if so; without graph.
        bound: no |s_ij| is larger.
    """

    given: Float[Tensor, "n d"]
    lengths: Float[Tensor, "n 1"] | None
    values: Float[Tensor, "n d"]
    bound: float

    @staticmethod
    def of(views: tuple[Any, ...], *, normalize: bool) -> SmallBatch | None:
        """The rows of the views, or None where they are not two small ones on a CPU that hold numbers.

        Example:
            >>> SmallBatch.of((torch.eye(3), torch.eye(3)), normalize=True).given[:3].tolist()
            [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
            >>> SmallBatch.of((torch.eye(3), torch.eye(4)), normalize=True) is None
            True
        """
        if not _are_two_small_views(views):
            return None
        given = torch.stack(views, dim=1).view(-1, views[0].shape[1])
        with torch.no_grad():
            lengths = torch.linalg.vector_norm(given, dim=1, keepdim=True)
            longest = longest_of(lengths, normalize)
            if longest is None:
                return None
            values = given / lengths if normalize else given.detach()
        return SmallBatch(
            given=given, lengths=lengths if normalize else None, values=values, bound=longest * longest
        )

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.values.device

    @property
    def side(self) -> int:
        """Rows and columns of S."""
        return len(self.values)

    def negatives(self) -> Negatives:
        """All rows but an anchor itself and its positive; without graph."""
        negatives = self._arrangement.negatives
        return negatives.with_embeddings(self.values, None, bound=self.bound, seed=0)

    @property
    def _arrangement(self) -> Layout:
        return layout_of_views(len(self.given) // 2, 2, self.given.device, self.given.dtype, None)

    def softmax_loss(self, temperature: float) -> Float[Tensor, ""]:
        """The mean over the rows of -log of the positive's share of the softmax over all other rows."""
        return mean_softmax_loss(self.given, self.lengths, self.values, 1 / temperature, self.bound)

    def reduced(self, weighted: WeightedNegatives) -> tuple[WeightedNegatives, Positives]:
        """The negatives with their log-sum-exps, and the positives, differentiable in the rows given.

        Args:
            weighted: these negatives under their coupling.
        """
        *sums, similarity = _RowNumbers.apply(  # type: ignore[no-untyped-call]
            self.given, self.lengths, weighted.negatives.detached, weighted.exponents
        )
        reduced = WeightedNegatives(
            negatives=weighted.negatives,
            weight=weighted.weight,
            temperature=weighted.temperature,
            engine=weighted.engine,
            log_sums=tuple(sums),
        )
        positives = Positives(
            edges=self._arrangement.edges,
            similarity=similarity,
            weight=weighted.weight,
            temperature=weighted.temperature,
        )
        return reduced, positives


@dataclass(frozen=True, kw_only=True)
class OneWay:
    """Anchors, and other candidates of which the i-th is the positive of the i-th anchor.

    Args:
        given: both, as they came; in the graph.
        lengths: `(n, 1)` of each, |row|, where they are brought to unit length; else None.
        values: both, at unit length if so; without graph.
        bound: no |s_ij| is larger.
        ids: `(n,)`, of both; ascending.
    """

    given: tuple[Tensor, Tensor]
    lengths: tuple[Tensor | None, Tensor | None]
    values: tuple[Tensor, Tensor]
    bound: float
    ids: Int[Tensor, " n"]

    @staticmethod
    def of(pairs: Pairs, *, normalize: bool) -> OneWay | None:
        """The rows of such pairs, or None where these are not such, not few, or hold what is no number.

        Example:
            >>> rows, ids = torch.eye(3), torch.arange(3)
            >>> pairs = Pairs(anchors=rows, ids=ids, candidates=rows, candidate_ids=ids)
            >>> OneWay.of(pairs, normalize=False).bound
            1.0
        """
        anchors, candidates = pairs.anchors, pairs.candidates
        if candidates is None or not _are_small_and_alike(anchors, candidates, _MOST_ONE_WAY):
            return None
        assert pairs.candidate_ids is not None
        if pairs.own is not None or pairs.group.size > 1 or not torch.equal(pairs.ids, pairs.candidate_ids):
            return None
        if not bool((pairs.ids[1:] > pairs.ids[:-1]).all()):  # in this order none occurs twice
            return None
        with torch.no_grad():
            each = tuple(
                torch.linalg.vector_norm(rows, dim=1, keepdim=True) for rows in (anchors, candidates)
            )
            longest = [longest_of(lengths, normalize) for lengths in each]
            if longest[0] is None or longest[1] is None:
                return None
            if not normalize:
                values, lengths = (anchors.detach(), candidates.detach()), (None, None)
            else:
                values, lengths = (anchors / each[0], candidates / each[1]), each
        return OneWay(
            given=(anchors, candidates),
            lengths=lengths,
            values=values,
            bound=longest[0] * longest[1],
            ids=pairs.ids,
        )

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.ids.device

    @property
    def side(self) -> int:
        """Rows and columns of S."""
        return len(self.ids)

    def resting(self) -> Pairs:
        """The same pairs, as they are compared, and without graph."""
        anchors, candidates = self.values
        return Pairs(anchors=anchors, ids=self.ids, candidates=candidates, candidate_ids=self.ids)

    def softmax_loss(self, temperature: float) -> Float[Tensor, ""]:
        """The mean over the anchors of -log of the positive's share of the softmax over all candidates."""
        return mean_one_way_softmax_loss(self.given, self.lengths, self.values, 1 / temperature, self.bound)


def _are_two_small_views(views: tuple[Any, ...]) -> bool:
    if len(views) != 2 or not all(
        isinstance(view, Tensor) and view.layout == torch.strided for view in views
    ):
        return False
    return _are_small_and_alike(*views, _MOST_PAIRS)


def _are_small_and_alike(first: Tensor, second: Tensor, most: int) -> bool:
    return (
        first.device.type == second.device.type == "cpu"
        and first.dtype == second.dtype
        and first.dtype in (torch.float32, torch.float64)
        and first.shape == second.shape
        and first.ndim == 2
        and 2 <= len(first) <= most
        and first.shape[1] > 0
    )


class _RowNumbers(torch.autograd.Function):
    """log sum_j e^{x_ij} for each exponent x, and the similarity of the positive, for each row i."""

    @staticmethod
    def forward(
        ctx: Any,
        given: Tensor,
        lengths: Tensor | None,
        negatives: Negatives,
        exponents: tuple[Exponent, ...],
    ) -> tuple[Tensor, ...]:
        ctx.sums = LogSums(negatives, exponents, side=len(given))
        values = ctx.sums.release()
        ctx.save_for_backward(given, lengths, negatives.anchors, *values)
        return *values, negatives.neighbor_similarity()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        given, lengths, anchors, *values = ctx.saved_tensors
        with torch.no_grad():
            found = ctx.sums.gradient_with_neighbors(tuple(values), gradients[:-1], gradients[-1])
            if lengths is not None:
                found = through_unit_length(anchors, lengths, found)
        return first_order_only((found,), (given, *gradients))[0], None, None, None
