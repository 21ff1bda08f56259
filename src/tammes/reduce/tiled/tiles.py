"""The tiles of S: their places, the two directions in which they are read, and gradients made of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.products import STEP, TransposedSum, add_product, product, product_in
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import Term

ALL = slice(None)
"""The share of tiles of one process alone."""
Tile = tuple[slice, slice]
"""The rows and the columns of a part of S."""


class Workspace:
    """Memory for tiles, allocated once: fresh pages for each tile would cost as much as arithmetic.

    Args:
        negatives: S.
        side: largest number of rows and columns of a tile.
        share: tiles to evaluate, of the list of all.
        keep: the numbered tiles that have memory of their own for each place in S, so that a second sweep
            finds what the first has written.
        most: entries above which none are kept.
    """

    def __init__(
        self,
        negatives: Negatives,
        side: int,
        share: slice = ALL,
        *,
        keep: tuple[int, ...] = (),
        most: int = 0,
    ) -> None:
        self.tiles = tiles(negatives, side)[share]
        self._size = min(height(negatives, side), negatives.shape[0]) * min(side, negatives.shape[1])
        self._negatives = negatives
        self._held: dict[int, Tensor] = {}
        self._kept: dict[tuple[int, int, int], Tensor] = {}
        self._anchors: tuple[tuple[slice, float], Tensor] | None = None
        self._keep = keep if len(keep) * self._size * len(self.tiles) <= most else ()

    def tile(self, number: int, rows: slice, columns: slice) -> Float[Tensor, "r c"]:
        """Return the memory of tile `number` in the shape of the tile; its content is left over."""
        shape = rows.stop - rows.start, columns.stop - columns.start
        if number in self._keep:
            place = number, rows.start, columns.start
            begin = len(self._kept) * self._size
            memory = self._memory(-1, len(self._keep) * len(self.tiles))
            return self._kept.setdefault(place, memory[begin : begin + shape[0] * shape[1]].view(shape))
        return self._memory(number, 1)[: shape[0] * shape[1]].view(shape)

    def product(
        self, number: int, rows: slice, columns: slice, *, scale: float = 1.0
    ) -> Float[Tensor, "r c"]:
        """Return scale * s_ij as the tile `number`."""
        tile = self.tile(number, rows, columns)
        found = product_in(tile, self._scaled(rows, scale), self._negatives.others[columns].T)
        # To keep many tiles in memory of their own would take fresh pages for each.
        return tile.copy_(found) if number in self._keep and found is not tile else found

    def kept(self, number: int, rows: slice, columns: slice) -> Float[Tensor, "r c"] | None:
        """Return a tile that an earlier sweep has written, or None for one that is to be computed."""
        return self._kept.get((number, rows.start, columns.start))

    def _scaled(self, rows: slice, scale: float) -> Float[Tensor, "r d"]:
        """Return scale * z_i of some anchors, made once for all tiles of these rows."""
        if self._anchors is None or self._anchors[0] != (rows, scale):
            self._anchors = (rows, scale), self._negatives.anchors[rows] * scale
        return self._anchors[1]

    def _memory(self, number: int, count: int) -> Tensor:
        if number not in self._held:
            self._held[number] = self._negatives.anchors.new_empty(count * self._size)
        return self._held[number]


SlopeOfTile = Callable[[slice, slice, Workspace], Tensor | None]
"""d loss / d s_ij on a tile, or None for zeros; where S is symmetric, s_ij and s_ji are one, and so is it."""


def tiles(negatives: Negatives, side: int) -> list[Tile]:
    """Return tiles of nearly equal size that cover S, or its upper triangle where S is symmetric."""
    n, m = negatives.shape
    rows, columns = _blocks(n, height(negatives, side)), _blocks(m, side)
    return [
        (block, other)
        for number, block in enumerate(rows)
        for other in (columns[number:] if negatives.symmetric else columns)
    ]


def height(negatives: Negatives, side: int) -> int:
    """Return the largest number of rows of a tile: more than `side` where few candidates leave it room."""
    return side if negatives.symmetric else side * max(1, side // max(1, negatives.shape[1]))


def _blocks(size: int, side: int) -> list[slice]:
    """Return parts of nearly equal size, multiples of `STEP` but for the last if `side` is one."""
    parts = -(-size // side)
    edges = [size * part // parts for part in range(parts + 1)]
    if side % STEP == 0:
        edges[1:-1] = [-(-edge // STEP) * STEP for edge in edges[1:-1]]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def similarity_tile(negatives: Negatives, rows: slice, columns: slice) -> Float[Tensor, "r c"]:
    """Return s_ij on a tile, read-only; `negatives` are detached."""
    if negatives.is_small:
        return negatives.kept_similarity[rows, columns]
    return product(negatives.anchors[rows], negatives.others[columns].T)


def oriented_tiles(negatives: Negatives, side: int) -> Iterator[tuple[slice, slice, Tensor]]:
    """Yield every tile of S; where S is symmetric, those below the diagonal are transposes of those above."""
    for rows, columns in tiles(negatives, side):
        similarity = similarity_tile(negatives, rows, columns)
        yield rows, columns, similarity
        if negatives.symmetric and rows != columns:
            yield columns, rows, similarity.T


def both_ways(negatives: Negatives, slope: Callable[[slice, slice, Tensor], Tensor]) -> SlopeOfTile:
    """Return `slope` of a tile, with its transpose's added where S is symmetric."""

    def of_tile(rows: slice, columns: slice, workspace: Workspace) -> Tensor:
        similarity = similarity_tile(negatives, rows, columns)
        total = slope(rows, columns, similarity)
        if negatives.symmetric:
            mirrored = total if rows == columns else slope(columns, rows, similarity.T)
            total = total + mirrored.T
        return total

    return of_tile


def embedding_gradients(
    negatives: Negatives, slope: SlopeOfTile, workspace: Workspace
) -> tuple[Tensor, Tensor | None]:
    """Return d loss / d anchors and d loss / d candidates from d loss / dS, by one product with each side.

    Args:
        negatives: S.
        slope: d loss / dS on a tile.
        workspace: tiles to evaluate, and their memory.
    """
    anchors, others, symmetric = negatives.anchors, negatives.others, negatives.symmetric
    to_anchors = torch.zeros_like(anchors)
    to_others = to_anchors if symmetric else torch.zeros_like(others)
    of_columns = TransposedSum(anchors, to_others)
    for rows, columns in workspace.tiles:
        tile = slope(rows, columns, workspace)
        if tile is None:
            continue
        add_product(to_anchors[rows], tile, others[columns])
        if not (symmetric and rows == columns):
            of_columns.add(tile, rows, columns)
    of_columns.finish()
    return to_anchors, None if symmetric else to_others


def least_exponent(kind: torch.dtype) -> float:
    """Return the exponent below which e^x counts as zero.

    Such numbers are nearly subnormal, and products with them take a hundred times as long as with zero.

    Example:
        >>> round(least_exponent(torch.float32))
        -70
    """
    return 0.8 * math.log(torch.finfo(kind).tiny)


def without(tile: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """Return the tile, overwritten by `value` where it holds no negative."""
    return tile if mask is None else tile.masked_fill_(mask, value)


def exponent_slope(exponent: Exponent, similarity: Tensor) -> Tensor | float:
    """Return d x_ij / d s_ij of the part through which the gradient flows."""
    if exponent.tilt is None or not exponent.tilt_has_gradient:
        return exponent.gradient_slope
    return exponent.gradient_slope + with_derivative(exponent.tilt, similarity)[1]


def derivative_of(function: Pointwise, argument: Tensor) -> Tensor:
    """Return the derivative of a pointwise function on a tile."""
    return (
        function.derivative(argument)
        if isinstance(function, Term)
        else with_derivative(function, argument)[1]
    )


def with_derivative(function: Pointwise, argument: Tensor) -> tuple[Tensor, Tensor]:
    """Return a pointwise function and its derivative on a tile."""
    if isinstance(function, Term):
        return function(argument), function.derivative(argument)
    with torch.enable_grad():
        argument = argument.detach().requires_grad_()
        value = function(argument)
        (derivative,) = torch.autograd.grad(value.sum(), argument)
    return value.detach(), derivative
