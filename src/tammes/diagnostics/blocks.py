"""The similarities of all pairs of embeddings, block by block, so that memory stays linear."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.products import product

SIDE = 1024


class Block(NamedTuple):
    """Similarities of some embeddings to some others.

    Attributes:
        rows: embeddings of the rows.
        columns: embeddings of the columns.
        similarity: cosines in [-1, 1], up to rounding.
        pairs: mask of the entries whose column comes after the row, so that each pair is in one block only.
    """

    rows: slice
    columns: slice
    similarity: Float[Tensor, "rows columns"]
    pairs: Bool[Tensor, "rows columns"]


def directions(embeddings: Float[Tensor, "n dim"]) -> Float[Tensor, "n dim"]:
    """Return the embeddings scaled to length one, in float32 or float64.

    Args:
        embeddings: embeddings of any length above 0.

    Raises:
        ValueError: no floating-point matrix, or a row of length zero or that is not finite.

    Example:
        >>> directions(torch.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    if embeddings.ndim != 2 or not embeddings.is_floating_point() or embeddings.numel() == 0:
        got = f"{embeddings.dtype} {tuple(embeddings.shape)}"
        raise ValueError(f"expected floating-point embeddings (n, dim), got {got}")
    if embeddings.dtype in (torch.float16, torch.bfloat16):
        embeddings = embeddings.float()
    # By the largest entry first, so that the squares of extreme entries neither overflow nor underflow.
    largest = embeddings.abs().amax(dim=1, keepdim=True)
    usable = largest.isfinite() & (largest > 0)
    if not usable.all():
        row = int(usable.logical_not().nonzero()[0, 0])
        what = "length zero" if float(largest[row]) == 0 else "NaN or infinity"
        raise ValueError(f"expected finite embeddings of positive length, got {what} in row {row}")
    scaled = embeddings / largest
    return scaled / scaled.norm(dim=1, keepdim=True)


def pair_blocks(units: Float[Tensor, "n dim"], side: int = SIDE) -> Iterator[Block]:
    """Yield the similarities of all pairs of n unit vectors in blocks.

    Args:
        units: at least two unit vectors.
        side: largest number of rows and columns of a block.

    Raises:
        ValueError: fewer than two vectors.

    Example:
        >>> sum(int(block.pairs.sum()) for block in pair_blocks(torch.eye(5), side=2))
        10
    """
    n = len(units)
    if n < 2:
        raise ValueError(f"expected at least two embeddings, which make a pair, got {n}")
    for top in range(0, n, side):
        rows = slice(top, min(top + side, n))
        for left in range(top, n, side):
            columns = slice(left, min(left + side, n))
            similarity = product(units[rows], units[columns].T)
            pairs = torch.ones_like(similarity, dtype=torch.bool)
            yield Block(rows, columns, similarity, pairs.triu(1) if left == top else pairs)
