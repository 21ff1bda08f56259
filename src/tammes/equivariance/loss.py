"""The equivariance loss: one augmentation acts on all embeddings as one linear map."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.equivariance.forms import Bilinear, Form, InnerProduct
from tammes.normalization import prepared
from tammes.reduce.autograd import without_autocast
from tammes.sources.inbatch import check_views

_INNER_PRODUCT = InnerProduct()


def equivariance_loss(
    view_a: Float[Tensor, "n d"],
    view_b: Float[Tensor, "n d"],
    *,
    groups: int = 1,
    form: Form | Float[Tensor, "d d"] = _INNER_PRODUCT,
    normalize: bool = True,
) -> Float[Tensor, ""]:
    """Return the mean squared difference between the similarities of two views, over pairs of a group.

        L_equi  =  mean over groups,  mean over i != j of a group,  (B(a_i, a_j) - B(b_i, b_j))^2

    It is zero where one linear map of the form's group (for the inner product, an orthogonal matrix) takes
    every a_i of a group to its b_i. The views are made for it: all rows of a group share one augmentation in
    `view_a` and another in `view_b`, and each group draws its own two.

    Memory is linear in n. For groups of up to 3/2 d rows the differences are formed, which takes less work
    there; for larger ones the sum follows exactly from three d x d Gram matrices. Both are computed in
    float64, whatever the type of the embeddings and autocast, since the terms of the sum cancel near the
    optimum. As for objectives, second derivatives raise an error.

    Args:
        view_a: `(n, d)` embeddings of one view; the rows of a group stand together.
        view_b: `(n, d)` embeddings of the other view of the same examples, in the same order.
        groups: number of consecutive groups of equal size into which the rows are cut.
        form: the bilinear form B: `InnerProduct()`, `Minkowski()`, `Symplectic()`, `Bilinear(matrix=...)`, or
            a matrix `(d, d)`, which is then checked at each call.
        normalize: whether rows are brought to unit length first; points of a hyperboloid never are.

    Returns:
        A scalar in float32, or in float64 for embeddings in float64.

    Raises:
        ValueError: views that do not fit together; NaN, infinity or, to be normalized, a zero-length row in
            them; groups that do not divide the rows or have one row; a form that does not fit or is
            degenerate; rows off the hyperboloid; similarities whose squares overflow.

    Source: Robinson (2023), eq. 5.2 with a second augmentation in place of the plain input, and section
    5.3.2. Differs: for groups of c rows the term of the published code is 2 (c - 1) times this mean, so that
    its weight 0.01 is 0.02 (c - 1) here; and it gives all groups the same augmentation by accident.

    Example:
        >>> view_a = torch.randn(8, 3)
        >>> rotation = torch.linalg.qr(torch.randn(3, 3)).Q
        >>> bool(equivariance_loss(view_a, view_a @ rotation, groups=2) < 1e-12)
        True
        >>> equivariance_loss(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.eye(2)).item()
        1.0
    """
    check_views((view_a, view_b))
    size = size_of_group(len(view_a), groups)
    form = form if isinstance(form, Form) else Bilinear(matrix=form)
    with without_autocast(view_a.device):
        a, b = _rows(view_a, form, normalize, "view_a"), _rows(view_b, form, normalize, "view_b")
        # A M A^T - B M B^T = U M W^T + W M U^T: where the views are close, U = A - B keeps all its digits.
        u, w = (a - b).unflatten(0, (groups, size)), ((a + b) / 2).unflatten(0, (groups, size))
        total = _by_differences(u, w, form) if 2 * size <= 3 * a.shape[1] else _by_gram_matrices(u, w, form)
        loss = total / (groups * size * (size - 1))
    loss = loss if torch.float64 in (view_a.dtype, view_b.dtype) else loss.float()
    if not (normalize and form.on_sphere) and not bool(loss.isfinite()):
        raise ValueError(
            f"the similarities of these rows are too large to square in {loss.dtype}: scale the rows down, "
            "or leave normalize=False out"
        )
    return loss


def precise(device: torch.device) -> torch.dtype:
    """Return the most precise type of a device: Apple's GPUs have no float64.

    Example:
        >>> precise(torch.device("cpu")), precise(torch.device("mps"))
        (torch.float64, torch.float32)
    """
    return torch.float32 if device.type == "mps" else torch.float64


def size_of_group(rows: int, groups: int) -> int:
    """Return the number of rows of a group; raise ValueError unless all groups have the same, two or more."""
    check_integer("groups", groups)
    if rows < 2:
        raise ValueError(f"expected at least two rows, which make a pair, got {rows}")
    if rows % groups or rows // groups < 2:
        fitting = [str(number) for number in range(1, rows // 2 + 1) if rows % number == 0]
        why = "they would not be of equal size" if rows % groups else "one row makes no pair"
        raise ValueError(
            f"{rows} rows cannot be cut into {groups} groups, since {why}: "
            f"choose groups from {', '.join(fitting)}, or another number of rows"
        )
    return rows // groups


def _rows(view: Tensor, form: Form, normalize: bool, name: str) -> Float[Tensor, "n d"]:
    """Return the rows of a view in the graph, checked, in full precision, at unit length if asked."""
    rows = prepared(
        view.to(precise(view.device)),
        normalize=normalize and form.on_sphere,
        name=lambda row: f"row {row} of {name}",
    )
    form.check(rows.values, float(torch.finfo(view.dtype).eps), name)
    return rows.in_graph()


def _by_differences(u: Float[Tensor, "g n d"], w: Float[Tensor, "g n d"], form: Form) -> Float[Tensor, ""]:
    """Return the sum over i != j of the squares of D = U M W^T + W M U^T, formed for each group."""
    difference = form.applied(u) @ w.mT + form.applied(w) @ u.mT  # (g, n, n)
    return difference.square().sum() - difference.diagonal(dim1=1, dim2=2).square().sum()


def _by_gram_matrices(u: Float[Tensor, "g n d"], w: Float[Tensor, "g n d"], form: Form) -> Float[Tensor, ""]:
    """Return the same sum from d x d matrices, without D."""
    # |D|^2 = |U M W^T|^2 + |W M U^T|^2 + 2 <U M W^T, W M U^T>, and each is a trace of Gram matrices:
    #       = <M^T U^T U M, W^T W> + <M^T W^T W M, U^T U> + 2 tr(M^T U^T W M  U^T W).
    uu, ww, uw = u.mT @ u, w.mT @ w, u.mT @ w  # (g, d, d)
    total = (form.between(uu) * ww).sum() + (form.between(ww) * uu).sum()
    total = total + 2 * (form.between(uw) * uw.mT).sum()
    diagonal = (form.applied(u) * w + form.applied(w) * u).sum(dim=2)  # (g, n)
    return total - diagonal.square().sum()
