"""Bilinear forms B(x, y) = x^T M y: a group of linear maps is what leaves one of them unchanged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_shape


class Form(ABC):
    """Bilinear form on the embeddings, and with it the group whose action on them is learned."""

    on_sphere: bool = True
    """Whether rows may be brought to unit length first."""

    @abstractmethod
    def applied(self, rows: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Return x^T M for each row x, so that the inner product with y is B(x, y)."""

    @abstractmethod
    def check(self, rows: Float[Tensor, "n d"], precision: float, name: str) -> None:
        """Raise ValueError for embeddings on which the form cannot be used.

        Args:
            rows: `(n, d)` embeddings in float64, without a graph.
            precision: relative rounding error of the type that the embeddings had.
            name: name of the view, for the message.
        """

    def between(self, gram: Float[Tensor, "*g d d"]) -> Float[Tensor, "*g d d"]:
        """Return M^T G M for each matrix G."""
        return self.applied(self.applied(gram).mT).mT


@dataclass(frozen=True, kw_only=True)
class InnerProduct(Form):
    """B(x, y) = x . y, which the orthogonal group leaves unchanged.

    Source: Robinson (2023), eq. 5.6.

    Example:
        >>> InnerProduct().applied(torch.tensor([[1.0, 2.0]])).tolist()
        [[1.0, 2.0]]
    """

    @override
    def applied(self, rows: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return rows

    @override
    def check(self, rows: Float[Tensor, "n d"], precision: float, name: str) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Minkowski(Form):
    """B(x, y) = -x_0 y_0 + sum_k x_k y_k, which the Lorentz group leaves unchanged.

    Embeddings are points of a hyperboloid, B(x, x) = -1 and x_0 > 0: hyperbolic space. `hyperboloid` makes
    them from any vectors. They are never brought to unit length.

    Source: Robinson (2023), section 5.3.2 and appendix C.3.

    Example:
        >>> point = torch.tensor([[2.0, 1.0, 1.0]])
        >>> (Minkowski().applied(point) @ point.T).item()
        -2.0
    """

    on_sphere = False

    @override
    def applied(self, rows: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return torch.cat([-rows[..., :1], rows[..., 1:]], dim=-1)

    @override
    def check(self, rows: Float[Tensor, "n d"], precision: float, name: str) -> None:
        if rows.shape[1] < 2:
            raise ValueError(f"a hyperboloid has at least two dimensions, got {rows.shape[1]} in {name}")
        time = rows[:, 0]
        # x_0^2 and the rest are rounded before they cancel, often in float32: the error is relative
        # to x_0^2.
        error = (self.applied(rows) * rows).sum(dim=1) + 1
        allowed = max(1e-5, 16 * precision)
        off = (error.abs() > allowed * time.square().clamp(min=1)) | (time <= 0)
        if bool(off.any()):
            row = int(off.nonzero()[0])
            raise ValueError(
                f"expected points of the hyperboloid, -x_0^2 + x_1^2 + ... = -1 with x_0 > 0; "
                f"{int(off.sum())} of {len(rows)} rows of {name} are off it, first row {row} with "
                f"{float(error[row]) - 1:.4g}: make points from vectors with tammes.equivariance.hyperboloid"
            )


@dataclass(frozen=True, kw_only=True)
class Symplectic(Form):
    """B(x, y) = q . p' - p . q' for x = [q, p] and y = [q', p'], which the symplectic group leaves unchanged.

    The form is antisymmetric, and embeddings have an even number of dimensions. Symplectic maps change
    lengths, so `normalize=False` leaves room for more of them.

    Source: Robinson (2023), section 5.3.2 and appendix C.3.

    Example:
        >>> (Symplectic().applied(torch.tensor([[1.0, 0.0]])) @ torch.tensor([[0.0, 3.0]]).T).item()
        3.0
    """

    @override
    def applied(self, rows: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        q, p = rows.chunk(2, dim=-1)
        return torch.cat([-p, q], dim=-1)

    @override
    def check(self, rows: Float[Tensor, "n d"], precision: float, name: str) -> None:
        if rows.shape[1] % 2:
            raise ValueError(
                f"the symplectic form pairs each coordinate with another: expected an even number of "
                f"dimensions, got {rows.shape[1]} in {name}"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Bilinear(Form):
    """B(x, y) = x^T M y with a matrix M of your own.

    The matrix need not be symmetric: both orders of a pair are compared.

    Args:
        matrix: `(d, d)` matrix M, a constant of the loss.

    Raises:
        ValueError: no square matrix, NaN or infinity in it, a singular matrix, or one that requires a
            gradient.

    Example:
        >>> swap = Bilinear(matrix=torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> swap.applied(torch.tensor([[1.0, 2.0]])).tolist()
        [[2.0, 1.0]]
    """

    matrix: Float[Tensor, "d d"]

    def __post_init__(self) -> None:
        matrix = self.matrix
        if not isinstance(matrix, Tensor):
            raise ValueError(f"a form is a Form or a square matrix (d, d) as a tensor, got {matrix!r}")
        is_square = matrix.ndim == 2 and 0 < matrix.shape[0] == matrix.shape[1]
        if not is_square or not matrix.is_floating_point():
            raise ValueError(
                f"a form is a square floating-point matrix (d, d), got {matrix.dtype} {tuple(matrix.shape)}"
            )
        if matrix.requires_grad:
            raise ValueError("a form is a constant of the loss: give matrix.detach()")
        if not bool(matrix.isfinite().all()):
            raise ValueError("expected a form of finite numbers, got NaN or infinity")
        values = torch.linalg.svdvals(matrix.double())
        smallest = float(torch.finfo(matrix.dtype).eps) * len(matrix) * float(values[0])
        if float(values[-1]) <= smallest:
            raise ValueError(
                f"the form is degenerate: its matrix of {len(matrix)} dimensions has rank "
                f"{int((values > smallest).sum())}, so that some directions of the embeddings would be free"
            )

    @override
    def applied(self, rows: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return rows @ self.matrix.to(rows)

    @override
    def check(self, rows: Float[Tensor, "n d"], precision: float, name: str) -> None:
        d = len(self.matrix)
        check_shape(f"{name}, for a form of {d} dimensions,", rows.shape, (len(rows), d))


def hyperboloid(rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d+1"]:
    """Return the points of the hyperboloid above rows: (sqrt(1 + |x|^2), x).

    Args:
        rows: `(n, d)` vectors, for example outputs of an encoder.

    Example:
        >>> hyperboloid(torch.tensor([[0.0, 0.0], [3.0, 4.0]])).tolist()
        [[1.0, 0.0, 0.0], [5.099019527435303, 3.0, 4.0]]
    """
    wide = rows if rows.dtype == torch.float64 else rows.float()  # squares overflow in float16
    return torch.cat([(1 + wide.square().sum(dim=1, keepdim=True)).sqrt().to(rows.dtype), rows], dim=1)
