"""The views of one batch, checked and stacked, as anchors and candidates: what every source begins with."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from tammes.group import Single
from tammes.pairs import Pairs


@dataclass(frozen=True, kw_only=True)
class InBatch:
    """The batch as its own source of negatives: every row is an anchor, every other row a candidate.

    Row r of each view shows the same thing and is a positive of row r of the other views; rows that share an
    id are positives, too.

    Example:
        >>> import torch
        >>> pairs = InBatch()(torch.randn(8, 16), torch.randn(8, 16))
        >>> pairs.anchors.shape, pairs.positives().count.tolist()[:3]
        (torch.Size([16, 16]), [1, 1, 1])
    """

    def __call__(self, *views: Tensor, ids: Tensor | None = None, labels: Tensor | None = None) -> Pairs:
        """Return the pairs of `views`.

        Args:
            views: one or more tensors `(batch, d)`, floating point, of one shape.
            ids: `(batch,)` integers; by default row r has id r.
            labels: `(batch,)` integers, for selections that need classes.

        Raises:
            ValueError: no view; views of different shapes, or not of a floating-point type; fewer than two
                rows; ids or labels of another length.
        """
        check_views(views, minimum=2)
        return stack_views(views, ids, labels)


def stack_views(views: tuple[Tensor, ...], ids: Tensor | None, labels: Tensor | None) -> Pairs:
    """Stack the views one below the other; row r of each has the r-th id and label.

    Args:
        views: one or more tensors `(batch, d)`, floating point, of one shape.
        ids: `(batch,)` integers; by default row r has id r.
        labels: `(batch,)` integers or None.

    Raises:
        ValueError: as for `InBatch`, but for the number of rows.

    Example:
        >>> stack_views((torch.zeros(2, 3), torch.ones(2, 3)), None, None).ids.tolist()
        [0, 1, 0, 1]
    """
    check_views(views)
    view = views[0]
    if ids is None:
        ids = torch.arange(len(view), device=view.device).repeat(len(views))
    else:
        ids = _one_each("ids", ids, view).repeat(len(views))
    if labels is not None:
        labels = _one_each("labels", labels, view).repeat(len(views))
    # torch's compiler cannot trace the default of `group`.
    return Pairs(anchors=torch.cat(views), ids=ids, labels=labels, group=Single(), views=len(views))


def check_rows(pairs: Pairs) -> None:
    """Refuse views without rows, and NaN or infinity before they reach a queue or another process.

    Raises:
        ValueError: with the number of rows at fault, and the name of the first.
    """
    check_any_rows(pairs)
    bad = are_not_finite(pairs)
    if bool(bad.any()):
        raise ValueError(
            f"{int(bad.sum())} of {len(bad)} embeddings hold NaN or infinity, first "
            f"{pairs.row_name(int(bad.nonzero()[0]))}: the encoder or its input has diverged"
        )


def check_any_rows(pairs: Pairs) -> None:
    """Raise ValueError for views without rows."""
    if len(pairs.anchors) == 0:
        raise ValueError("the views have no rows: give every process at least one")


def are_not_finite(pairs: Pairs) -> Bool[Tensor, " n"]:
    """Return `(n,)` whether a row of the anchors holds NaN or infinity."""
    # The largest |entry| of each row keeps NaN, and is quicker than a test of every entry.
    return ~torch.isfinite(torch.linalg.vector_norm(pairs.anchors.detach(), ord=torch.inf, dim=1))


def in_full_precision(pairs: Pairs) -> Pairs:
    """Return the pairs in float32, or float64 if they are: gradients are added up before they are rounded."""
    kind = pairs.anchors.dtype
    anchors = pairs.anchors if kind == torch.float64 else pairs.anchors.float()
    return dataclasses.replace(pairs, anchors=anchors)


def check_views(views: tuple[Tensor, ...], *, minimum: int = 0) -> None:
    """Raise ValueError unless the views are dense matrices of one shape with at least `minimum` rows."""
    if not views:
        raise ValueError("expected one or more views, got none")
    for number, view in enumerate(views):
        if not isinstance(view, Tensor) or not view.is_floating_point():
            kind = view.dtype if isinstance(view, Tensor) else type(view).__name__
            raise ValueError(f"view {number} must be a floating-point tensor (batch, dimension), got {kind}")
        if view.is_meta or view.layout != torch.strided:
            got = "one on the meta device" if view.is_meta else f"one of layout {view.layout}"
            raise ValueError(f"view {number} must be a dense tensor that holds numbers, got {got}")
        if view.ndim != 2 or view.shape != views[0].shape:
            raise ValueError(
                "the views must be matrices (batch, dimension) of one shape, got "
                + " and ".join(str(tuple(each.shape)) for each in views)
            )
        if view.device != views[0].device:
            raise ValueError(
                f"view 0 is on {views[0].device}, view {number} on {view.device}: move one of them"
            )
    if views[0].shape[1] == 0:
        raise ValueError(f"the views must have at least one dimension, got {tuple(views[0].shape)}")
    if len(views[0]) < minimum:
        raise ValueError(
            f"expected at least two pairs, got {len(views[0])}: one has no negative; with drop_last=True a "
            "DataLoader leaves a last batch of one out"
        )


def _one_each(name: str, numbers: Tensor, view: Tensor) -> Tensor:
    """Return the numbers, one for each row, on the device of the view: loaders leave them on the CPU."""
    if not isinstance(numbers, Tensor) or numbers.shape != view.shape[:1]:
        got = tuple(numbers.shape) if isinstance(numbers, Tensor) else type(numbers).__name__
        raise ValueError(
            f"{name} must be a tensor with one integer for each of the {len(view)} rows, got {got}"
        )
    return numbers.to(view.device)
