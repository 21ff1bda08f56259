"""The loss is the double sum of its definition, in value and gradient, whichever way it is computed."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tammes.equivariance import (
    Bilinear,
    Form,
    InnerProduct,
    Minkowski,
    Symplectic,
    equivariance_loss,
    hyperboloid,
)
from tammes.equivariance.loss import precise

FORMS = ["inner product", "minkowski", "symplectic", "own symmetric", "own of no symmetry"]
SHAPES = [(12, 4, 1), (24, 6, 4), (50, 4, 2), (40, 6, 1)]
"""Rows, dimensions and groups: differences are formed in the second, Gram matrices elsewhere."""


def form_and_matrix(kind: str, d: int) -> tuple[Form, Tensor]:
    eye = torch.eye(d, dtype=torch.float64)
    if kind == "inner product":
        return InnerProduct(), eye
    if kind == "minkowski":
        return Minkowski(), torch.diag(torch.tensor([-1.0] + [1.0] * (d - 1), dtype=torch.float64))
    if kind == "symplectic":
        half = eye[: d // 2, : d // 2]
        zero = torch.zeros_like(half)
        return Symplectic(), torch.cat([torch.cat([zero, half], 1), torch.cat([-half, zero], 1)])
    own = torch.randn(d, d, dtype=torch.float64) + 2 * eye
    matrix = own + own.T if kind == "own symmetric" else own
    return Bilinear(matrix=matrix), matrix


def views(kind: str, rows: int, d: int, apart: float = 1.0) -> tuple[Tensor, Tensor]:
    """Two views, `apart` from each other, on the hyperboloid if asked."""
    free = d - 1 if kind == "minkowski" else d
    a = torch.randn(rows, free, dtype=torch.float64)
    b = a + apart * torch.randn(rows, free, dtype=torch.float64)
    return (hyperboloid(a), hyperboloid(b)) if kind == "minkowski" else (a, b)


def double_sum(a: Tensor, b: Tensor, matrix: Tensor, groups: int = 1, *, normalize: bool = True) -> Tensor:
    """The definition, entry by entry of the matrices of similarities."""
    if normalize:
        a, b = a / a.norm(dim=1, keepdim=True), b / b.norm(dim=1, keepdim=True)
    means = []
    for own_a, own_b in zip(a.chunk(groups), b.chunk(groups), strict=True):
        squares = (own_a @ matrix @ own_a.T - own_b @ matrix @ own_b.T).square()
        means.append(squares[~torch.eye(len(own_a), dtype=torch.bool)].mean())
    return torch.stack(means).mean()


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("rows", "d", "groups"), SHAPES)
@pytest.mark.parametrize("kind", FORMS)
def test_value_and_gradient_are_those_of_the_double_sum(
    kind: str, rows: int, d: int, groups: int, normalize: bool
) -> None:
    form, matrix = form_and_matrix(kind, d)
    a, b = (view.requires_grad_() for view in views(kind, rows, d))
    ours = equivariance_loss(a, b, groups=groups, form=form, normalize=normalize)
    theirs = double_sum(a, b, matrix, groups, normalize=normalize and kind != "minkowski")
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=0)
    found, expected = torch.autograd.grad(ours, (a, b)), torch.autograd.grad(theirs, (a, b))
    for one, other in zip(found, expected, strict=True):
        assert float((one - other).norm() / other.norm()) < 1e-12


@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize(("rows", "d"), [(20, 32), (200, 8)], ids=["differences", "gram"])
def test_a_small_term_keeps_its_digits_in_float32(rows: int, d: int, apart: float) -> None:
    """The term is 1e-13 for views that are 1e-6 apart, far below the rounding of a similarity."""
    a, b = (view.float() for view in views("inner product", rows, d, apart))
    ours_a, ours_b = a.clone().requires_grad_(), b.clone().requires_grad_()
    ours = equivariance_loss(ours_a, ours_b)
    assert ours.dtype == torch.float32
    precise_a, precise_b = a.double().requires_grad_(), b.double().requires_grad_()
    theirs = double_sum(precise_a, precise_b, torch.eye(d, dtype=torch.float64))
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-6)
    ours.backward()
    theirs.backward()
    for one, other in ((ours_a.grad, precise_a.grad), (ours_b.grad, precise_b.grad)):
        assert one is not None
        assert other is not None
        assert float((one.double() - other).norm() / other.norm()) < 1e-6


@given(rows=st.sampled_from([6, 12, 30]), d=st.integers(2, 9), seed=st.integers(0, 10**6), both=st.booleans())
def test_orthogonal_actions_cost_nothing(rows: int, d: int, seed: int, both: bool) -> None:
    """Zero for a_i = R b_i; and a rotation of both views changes nothing."""
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(2, rows, d, dtype=torch.float64, generator=generator)
    rotation = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator)).Q
    if both:
        turned = equivariance_loss(a @ rotation, b @ rotation, groups=2)
        assert float(turned) == pytest.approx(float(equivariance_loss(a, b, groups=2)), rel=1e-10)
    else:
        other = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator)).Q
        half = rows // 2
        moved = torch.cat([a[:half] @ rotation, a[half:] @ other])  # each group has its own augmentation
        assert abs(float(equivariance_loss(a, moved, groups=2))) < 1e-15


def test_lorentz_and_symplectic_actions_cost_nothing() -> None:
    points = hyperboloid(torch.randn(40, 3, dtype=torch.float64))
    boost = torch.eye(4, dtype=torch.float64)
    boost[0, 0] = boost[1, 1] = math.cosh(0.7)
    boost[0, 1] = boost[1, 0] = math.sinh(0.7)
    assert abs(float(equivariance_loss(points, points @ boost, form=Minkowski()))) < 1e-10
    assert float(equivariance_loss(points, points @ boost, form=torch.eye(4), normalize=False)) > 0.1
    rows = torch.randn(40, 2, dtype=torch.float64)
    shear = torch.tensor([[1.0, 0.8], [0.0, 1.0]], dtype=torch.float64)
    assert abs(float(equivariance_loss(rows, rows @ shear, form=Symplectic(), normalize=False))) < 1e-13
    assert float(equivariance_loss(rows, rows @ shear, normalize=False)) > 0.1


def test_a_collapsed_embedding_costs_nothing_either() -> None:
    """Why the loss needs a term beside it."""
    assert float(equivariance_loss(torch.ones(8, 3), -torch.ones(8, 3))) == 0


def test_groups_are_consecutive_rows_and_count_alike() -> None:
    a, b = views("inner product", 12, 4)
    parts = [equivariance_loss(a[i : i + 4], b[i : i + 4]) for i in (0, 4, 8)]
    torch.testing.assert_close(equivariance_loss(a, b, groups=3), torch.stack(parts).mean())


def test_the_gradient_is_that_of_finite_differences() -> None:
    a, b = (view.requires_grad_() for view in views("inner product", 9, 2))
    assert torch.autograd.gradcheck(lambda a, b: equivariance_loss(a, b, groups=3), (a, b))
    assert torch.autograd.gradcheck(equivariance_loss, (a, b))


def test_a_second_derivative_is_an_error() -> None:
    a, b = (view.requires_grad_() for view in views("inner product", 9, 2))
    (gradient,) = torch.autograd.grad(equivariance_loss(a, b), a, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        gradient.sum().backward()


def test_autocast_changes_nothing() -> None:
    a, b = (view.float() for view in views("inner product", 20, 4, 1e-3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = equivariance_loss(a, b)
        low = equivariance_loss(a.bfloat16(), b.bfloat16())
    assert inside.dtype == low.dtype == torch.float32
    assert torch.equal(inside, equivariance_loss(a, b))
    expected = double_sum(a.bfloat16().double(), b.bfloat16().double(), torch.eye(4, dtype=torch.float64))
    assert float(low) == pytest.approx(float(expected), rel=1e-6)


def test_extreme_lengths_are_normalized() -> None:
    a, b = (view.float() for view in views("inner product", 20, 4))
    assert float(equivariance_loss(1e30 * a, 1e-30 * b)) == pytest.approx(
        float(equivariance_loss(a, b)), rel=1e-5
    )


@pytest.mark.parametrize("d", [16, 64])
def test_the_cheaper_way_is_taken(d: int) -> None:
    """Differences take 6 n^2 d operations forward and backward, Gram matrices 9 n d^2, of two each."""
    for n in (d, 3 * d // 2, 3 * d // 2 + 2, 4 * d):
        a, b = torch.randn(2, n, d, requires_grad=True)
        with FlopCounterMode(display=False) as counter:
            equivariance_loss(a, b).backward()
        assert counter.get_total_flops() == 2 * min(6 * n**2 * d, 9 * n * d**2)


def test_memory_at_65536_rows_is_linear() -> None:
    """No tensor is larger than the embeddings, for one group and for many."""
    largest, total = 0, 0

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):  # type: ignore[no-untyped-def]
            nonlocal largest, total
            result = function(*arguments, **(keywords or {}))
            if isinstance(result, Tensor):
                largest, total = max(largest, result.numel()), total + result.numel()
            return result

    rows, d = 65_536, 16
    a, b = torch.randn(2, rows, d, requires_grad=True)
    for groups in (1, 8, rows // 16):
        largest, total = 0, 0
        with Watch():
            equivariance_loss(a, b, groups=groups).backward()
        # Both views stand in one tensor, and so does its gradient.
        assert largest <= 2 * rows * d
        assert total < 100 * rows * d


@pytest.mark.parametrize(
    ("rows", "groups", "words"),
    [
        (12, 5, "12 rows cannot be cut into 5 groups, since they would not be of equal size: choose groups "),
        (12, 5, "from 1, 2, 3, 4, 6, or another number"),
        (12, 12, "since one row makes no pair: choose groups from 1, 2, 3, 4, 6"),
        (7, 2, "choose groups from 1, or another number of rows"),
        (12, 24, "12 rows cannot be cut into 24 groups"),
        (12, 0, "groups must be an integer of at least 1, got 0"),
        (1, 1, "at least two rows, which make a pair, got 1"),
    ],
)
def test_groups_that_do_not_fit_are_refused(rows: int, groups: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        equivariance_loss(torch.ones(rows, 2), torch.ones(rows, 2), groups=groups)


def test_wrong_views_are_refused() -> None:
    good = torch.ones(4, 2)
    with pytest.raises(ValueError, match="of one shape"):
        equivariance_loss(good, torch.ones(4, 3))
    with pytest.raises(ValueError, match=r"1 of 4 embeddings hold NaN.* first row 2 of view_b"):
        equivariance_loss(good, torch.tensor([[1.0, 1], [1, 1], [math.nan, 1], [1, 1]]))
    with pytest.raises(ValueError, match=r"length zero.* first row 0 of view_a"):
        equivariance_loss(torch.zeros(4, 2), good)
    assert float(equivariance_loss(torch.zeros(4, 2), good, normalize=False)) == 4


@pytest.mark.parametrize(("dtype", "length"), [(torch.float32, 1e10), (torch.float64, 1e100)])
@pytest.mark.parametrize("rows", [4, 64])
def test_squares_that_overflow_are_refused(dtype: torch.dtype, length: float, rows: int) -> None:
    generator = torch.Generator().manual_seed(0)
    view_a, view_b = torch.randn(2, rows, 8, dtype=dtype, generator=generator) * length
    assert equivariance_loss(view_a, view_b).isfinite()
    with pytest.raises(ValueError, match=r"too large to square in torch\.float.*: scale the rows down"):
        equivariance_loss(view_a, view_b, normalize=False)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (torch.ones(2, 2), "the form is degenerate: its matrix of 2 dimensions has rank 1"),
        (torch.zeros(2, 2), "has rank 0"),
        (torch.ones(2, 3), "a form is a square floating-point matrix"),
        (torch.ones(0, 0), "a form is a square floating-point matrix"),
        (torch.ones(2, 2, dtype=torch.int64), "a form is a square floating-point matrix"),
        (torch.full((2, 2), math.inf), "a form of finite numbers"),
        (torch.eye(2, requires_grad=True), "constant of the loss"),
        (torch.eye(3), "view_a, for a form of 3 dimensions, must have shape"),
    ],
)
def test_a_form_that_is_none_is_refused(matrix: Tensor, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        equivariance_loss(torch.ones(4, 2), torch.ones(4, 2), form=matrix)


def test_the_symplectic_form_needs_pairs_of_coordinates() -> None:
    with pytest.raises(ValueError, match="an even number of dimensions, got 3 in view_a"):
        equivariance_loss(torch.ones(4, 3), torch.ones(4, 3), form=Symplectic())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_points_of_the_hyperboloid_may_be_rounded(dtype: torch.dtype) -> None:
    points = hyperboloid(5 * torch.randn(30, 3, dtype=dtype))
    assert float(equivariance_loss(points, points, form=Minkowski())) == 0


@pytest.mark.parametrize(
    "off",
    [[[1.1, 0.0]], [[-1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1e-2]]],
    ids=["above", "on the lower sheet", "spacelike", "by a hundredth"],
)
def test_points_off_the_hyperboloid_are_refused(off: list[list[float]]) -> None:
    good = hyperboloid(torch.randn(3, 1))
    bad = torch.cat([good[:2], torch.tensor(off)])
    with pytest.raises(ValueError, match="1 of 3 rows of view_b are off it, first row 2"):
        equivariance_loss(good, bad, form=Minkowski())


def test_a_hyperboloid_has_two_dimensions_at_least() -> None:
    with pytest.raises(ValueError, match="a hyperboloid has at least two dimensions, got 1 in view_a"):
        equivariance_loss(torch.ones(3, 1), torch.ones(3, 1), form=Minkowski())


def test_devices_without_float64_use_what_they_have() -> None:
    assert precise(torch.device("mps")) == torch.float32
    assert precise(torch.device("cuda")) == torch.float64


def test_forms_say_what_they_are() -> None:
    assert [repr(form) for form in (InnerProduct(), Minkowski(), Symplectic())] == [
        "InnerProduct()",
        "Minkowski()",
        "Symplectic()",
    ]


def test_long_rows_in_half_precision_have_finite_points_of_the_hyperboloid() -> None:
    rows = torch.tensor([[300.0, 400.0], [0.0, 0.0]], dtype=torch.float16)
    assert hyperboloid(rows).tolist() == [[500.0, 300.0, 400.0], [1.0, 0.0, 0.0]]
