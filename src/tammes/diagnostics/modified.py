"""What a modified embedding looks like: the image whose embedding is nearest to it."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_number, check_shape
from tammes.diagnostics.blocks import SIDE, directions


@torch.no_grad()
def nearest_to_modified(
    anchors: Float[Tensor, "n dim"],
    others: Float[Tensor, "n dim"],
    bank: Float[Tensor, "m dim"],
    *,
    shift: float,
    without: Int[Tensor, "n left_out"] | None = None,
) -> Int[Tensor, " n"]:
    """Return the row of a bank nearest to each embedding that is moved along its anchor.

        argmax over x in M of  cos( v' + shift v, f(x) ) ,      |v| = |v'| = 1

    Implicit feature modification moves a positive by a shift of -epsilon and a negative by +epsilon.

    Args:
        anchors: embeddings v of any length above 0.
        others: embedding v' of the positive or of a negative of each anchor.
        bank: embeddings of the images that may be shown.
        shift: distance of the move in similarity; below zero away from the anchor.
        without: rows of the bank that an anchor may not be shown, such as its own.

    Raises:
        ValueError: shapes that do not match, a shift that is not finite, rows of length zero or not finite,
            also after the move, or an anchor that may be shown no row at all.

    Source: Robinson (2023), section 4.3.1 and Figure 4-4.

    Example:
        >>> bank = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
        >>> anchor, negative = bank[:1], bank[1:2]
        >>> [int(nearest_to_modified(anchor, negative, bank, shift=shift)) for shift in (0.0, 2.0, -2.0)]
        [1, 0, 2]
    """
    check_shape("others, one for each anchor,", others.shape, anchors.shape)
    check_shape("bank, of the anchors' width,", bank.shape, (None, anchors.shape[1]))
    check_number("shift", shift)
    moved = directions(directions(others.double()) + shift * directions(anchors.double()))
    known = directions(bank.double())
    found = []
    for top in range(0, len(moved), SIDE):
        similarity = moved[top : top + SIDE] @ known.T
        if without is not None:
            similarity.scatter_(1, without[top : top + SIDE], -torch.inf)
        best = similarity.max(dim=1)
        if bool(best.values.isinf().any()):
            raise ValueError("expected a row of the bank that each anchor may be shown, got all left out")
        found.append(best.indices)
    return torch.cat(found)
