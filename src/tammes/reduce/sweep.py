"""A softmax loss over other candidates than the anchors: loss and gradient in one sweep over S.

    P_ij = d loss / d s_ij ,        d loss / d anchors = P B ,        d loss / d candidates = P^T A

S is computed in strips, of some anchors and all candidates. With its strip, everything is known that the loss
of an anchor depends on, its derivatives by the sums of the row too. So the gradient is made before the strip
is dropped: three products with the embeddings, where a backward pass of its own would compute S a second
time. The price is that the gradient stays in memory until the backward pass.

That needs rows that are complete. Where the candidates are the anchors, s_ij belongs to rows i and j, and to
use the symmetry saves more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.pairs import PositivePairs
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives

LossOfSums = Callable[[list[Tensor], Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""Function from sums, similarities of positives and log N to losses, d loss / d log G, -d loss / d l+."""
_ENTRIES, _FEWEST_ROWS = 512 * 512, 256
"""Entries of a strip, which stay in a processor's cache; rows below which a product is slower by half."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep over S that finds the mean loss and its gradient.

    Args:
        negatives: S, without a graph, whose candidates are not the anchors.
        positives: the positive pairs, one for each anchor.
        exponents: exponents of w_ij e^{l_ij} and, unless the weights are equal, of w_ij; without a tilt, and
            of a range that needs no shift.
        temperature: l = s / temperature.
        loss: losses and derivatives of some anchors by their sums.
    """

    negatives: Negatives
    positives: PositivePairs
    exponents: tuple[Exponent, ...]
    temperature: float
    loss: LossOfSums

    def mean(
        self, *, wanted: tuple[bool, bool]
    ) -> tuple[Float[Tensor, ""], tuple[Tensor | None, Tensor | None]]:
        """Return the mean loss, and its gradients by anchors and candidates.

        Args:
            wanted: whether the gradients by anchors and by candidates are computed; else they are None.
        """
        negatives, candidate = self.negatives, self.positives.candidate
        anchors, others = negatives.anchors, negatives.others
        of_positive = others.index_select(0, candidate)
        similarity = (anchors * of_positive).sum(dim=1)
        to_anchors = torch.empty_like(anchors) if wanted[0] else None
        to_others = torch.zeros_like(others) if wanted[1] else None
        # e^{column_j} is a factor of both sums, whose scale cancels, and of P: applied to B and to the sum.
        column = self.exponents[0].column
        if column is not None:
            column = torch.exp(column - column.max())
        weighted = others if column is None else others * column[:, None]
        losses, to_positives = [], []
        for rows, tiles in self._strips():
            sums = [tile.sum(dim=1) if column is None else tile.mv(column) for tile in tiles]
            of_rows, to_negatives, by_pair = self.loss(sums, similarity[rows], negatives.log_count[rows])
            losses.append(of_rows)
            to_positives.append(by_pair)
            if not any(wanted):
                continue
            slope, by_row = self._slope(tiles, sums, to_negatives)
            if to_anchors is not None:
                torch.mm(slope, weighted, out=to_anchors[rows]).mul_(by_row)
            if to_others is not None:
                to_others.addmm_(slope.T, anchors[rows] * by_row)
        if to_others is not None and column is not None:
            to_others.mul_(column[:, None])
        by_pair = (_joined(to_positives) * -self._scale)[:, None]
        if to_anchors is not None:
            to_anchors.addcmul_(by_pair, of_positive)
        if to_others is not None:
            to_others.index_add_(0, candidate, anchors * by_pair)
        return _joined(losses).mean(), (to_anchors, to_others)

    @property
    def _scale(self) -> float:
        return 1 / (self.negatives.shape[0] * self.temperature)

    def _strips(self) -> Iterator[tuple[slice, list[Tensor]]]:
        """Yield the rows of each strip with their exponentials, in memory that the next strip overwrites."""
        n, m = self.negatives.shape
        height = min(n, max(_FEWEST_ROWS, _ENTRIES // m))
        memory = [self.negatives.anchors.new_empty(height * m) for _ in self.exponents]
        for begin in range(0, n, height):
            rows = slice(begin, min(begin + height, n))
            tiles = [each[: (rows.stop - begin) * m].view(-1, m) for each in memory]
            self._write_exponentials(rows, tiles)
            yield rows, tiles

    def _write_exponentials(self, rows: slice, tiles: list[Tensor]) -> None:
        """Write e^{x_ij} without its column to a tile for each exponent; zero where no negative stands."""
        negatives, columns = self.negatives, slice(0, self.negatives.shape[1])
        anchors, candidates = negatives.anchors[rows], negatives.others.T
        slope, of_weight = self.exponents[0].slope, [each.slope for each in self.exponents[1:]]
        is_twice = of_weight == [slope / 2]
        if of_weight and not is_twice:
            torch.mm(anchors, candidates, out=tiles[0])
            torch.mul(tiles[0], of_weight[0], out=tiles[1]).exp_()
            negatives.without(tiles[1], rows, columns, 0.0)
            tiles[0].mul_(slope)
        else:  # the product scales for free
            torch.addmm(tiles[0], anchors, candidates, beta=0, alpha=slope, out=tiles[0])
        negatives.without(tiles[0].exp_(), rows, columns, 0.0)
        if is_twice:
            torch.sqrt(tiles[0], out=tiles[1])  # quicker than an exponential

    def _slope(self, tiles: list[Tensor], sums: list[Tensor], to_negatives: Tensor) -> tuple[Tensor, Tensor]:
        """Return d loss / d s_ij, up to its column, by two factors: a strip and a number for each row.

        d loss_i / d log G_i * sum over both exponents of +- slope e^x / (sum of its row), over n.
        """
        relative = [each.gradient_slope * self.temperature for each in self.exponents]
        slope, by_row = tiles[0], (to_negatives / sums[0]).mul_(self._scale * relative[0])
        if len(tiles) == 2 and relative[1] != 0.0:
            ratio = (sums[0] / sums[1]).mul_(-relative[1] / relative[0])
            slope.addcmul_(tiles[1], ratio[:, None])
        return slope, by_row[:, None]


def _joined(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
