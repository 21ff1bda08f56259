"""All linear maps between matrices, vectors and scalars of graphs that do not care for the order of nodes."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.matrices import Matrices
from tammes.spectral.nodes import Nodes


def weights(*shape: int, terms: int) -> nn.Parameter:
    """Weights or biases of a sum of many terms, from U(-1 / sqrt(terms), 1 / sqrt(terms)) as in nn.Linear."""
    bound = 1 / math.sqrt(max(1, terms))
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


class MatrixToMatrix(nn.Module):
    """The 15 linear equivariant maps of a matrix to a matrix, and 2 biases.

    out_ij = (X, X^T)_ij + rows_i + columns_j + all + [i = j] diagonal_i, where rows, columns and diagonal
    are each linear in (diagonal of X, means of its rows, means of its columns), 9 maps, and all and the
    diagonal in (mean of its diagonal, mean of its entries), 4 maps. One bias goes to all entries, one to
    the diagonal. The 15 are added up in one n-by-n tensor for each output, not kept side by side.

    Args:
        inputs: channels of X.
        outputs: channels of the result.
        constants: numbers given with each matrix, which enter as constant matrices and diagonals do.

    Raises:
        ValueError: for fewer than one channel, or fewer than no constants.

    Source: Maron et al. (2019), "Invariant and Equivariant Graph Networks", Table 5; Robinson (2023), 7.1.1.
    Differs: means over a graph's own nodes, not sums, so that what it gives does not grow with the graph.

    Example:
        >>> from tammes.spectral import Dense, Nodes
        >>> layer, nodes = MatrixToMatrix(1, 4), Nodes(sizes=(3, 2))
        >>> x = nodes.masked(torch.ones(2, 1, 3, 3))
        >>> layer(Dense(entries=x, nodes=nodes), nodes).shape
        torch.Size([2, 4, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int, constants: int = 0) -> None:
        super().__init__()
        _check(inputs, outputs, constants)
        terms = 15 * inputs + 2 * constants
        self.entries = weights(2, outputs, inputs, terms=terms)
        self.vectors = weights(3, outputs, 3, inputs, terms=terms)  # to the diagonal, rows, columns
        self.scalars = weights(2, outputs, 2, inputs, terms=terms)  # to the diagonal, all
        self.constants = weights(2, outputs, constants, terms=terms)
        self.bias = weights(2, outputs, terms=terms)

    def forward(
        self, x: Matrices, nodes: Nodes, constants: Float[Tensor, "batch constants"] | None = None
    ) -> Float[Tensor, "batch outputs n n"]:
        """The sum of all maps; zeros where an index is no node."""
        parts = x.contractions()
        vectors = torch.einsum("poqc,bqcn->pbon", self.vectors, parts.vectors)
        scalars = torch.einsum("poqc,bqc->pbo", self.scalars, parts.scalars) + self.bias[:, None]
        if constants is not None:
            scalars = scalars + torch.einsum("poc,bc->pbo", self.constants, constants)
        diagonal, rows, columns = vectors
        return _spread(
            x.mixed(self.entries[0], self.entries[1]),
            diagonal + scalars[0, ..., None],
            rows + scalars[1, ..., None],
            columns,
            nodes,
        )


class VectorToMatrix(nn.Module):
    """The 5 linear equivariant maps of a vector to a matrix, without biases, to add to a `MatrixToMatrix`.

    out_ij = rows_i + columns_j + all + [i = j] (diagonal_i + same), where the first two and the diagonal are
    multiples of x and the others of its mean.

    Args:
        inputs: channels of x.
        outputs: channels of the result.

    Raises:
        ValueError: for fewer than one channel.

    Source: Maron et al. (2019).

    Example:
        >>> from tammes.spectral import Nodes
        >>> VectorToMatrix(1, 2)(torch.ones(1, 1, 3), Nodes(sizes=(3,)), torch.zeros(1, 2, 3, 3)).shape
        torch.Size([1, 2, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        _check(inputs, outputs, 0)
        self.vectors = weights(3, outputs, inputs, terms=5 * inputs)
        self.scalars = weights(2, outputs, inputs, terms=5 * inputs)

    def forward(
        self,
        x: Float[Tensor, "batch inputs n"],
        nodes: Nodes,
        matrices: Float[Tensor, "batch outputs n n"],
    ) -> Float[Tensor, "batch outputs n n"]:
        """The matrices with the sum of all maps added, in place."""
        diagonal, rows, columns = torch.einsum("poc,bcn->pbon", self.vectors, x)
        scalars = torch.einsum("poc,bc->pbo", self.scalars, nodes.mean(x, dim=2))[..., None]
        return _spread(matrices, diagonal + scalars[0], rows + scalars[1], columns, nodes)


class MatrixToVector(nn.Module):
    """The 5 linear equivariant maps of a matrix to a vector, and a bias.

    out_i is linear in X_ii, the mean of row i, the mean of column i, the mean of the diagonal and the mean
    of all entries. From thin factors the matrix is never made.

    Args:
        inputs: channels of X.
        outputs: channels of the result.
        constants: numbers given with each matrix.

    Raises:
        ValueError: for fewer than one channel, or fewer than no constants.

    Source: Maron et al. (2019). Differs: means, as in `MatrixToMatrix`.

    Example:
        >>> from tammes.spectral import Factored, Nodes
        >>> nodes = Nodes(sizes=(3,))
        >>> MatrixToVector(1, 4)(Factored(left=torch.ones(1, 1, 3, 1), nodes=nodes), nodes).shape
        torch.Size([1, 4, 3])
    """

    def __init__(self, inputs: int, outputs: int, constants: int = 0) -> None:
        super().__init__()
        _check(inputs, outputs, constants)
        terms = 5 * inputs + constants
        self.vectors = weights(outputs, 3, inputs, terms=terms)
        self.scalars = weights(outputs, 2, inputs, terms=terms)
        self.constants = weights(outputs, constants, terms=terms)
        self.bias = weights(outputs, terms=terms)

    def forward(
        self, x: Matrices, nodes: Nodes, constants: Float[Tensor, "batch constants"] | None = None
    ) -> Float[Tensor, "batch outputs n"]:
        """The sum of all maps; zeros where there is no node."""
        parts = x.contractions()
        scalars = torch.einsum("oqc,bqc->bo", self.scalars, parts.scalars) + self.bias
        if constants is not None:
            scalars = scalars + constants @ self.constants.T
        vectors = torch.einsum("oqc,bqcn->bon", self.vectors, parts.vectors)
        return nodes.masked(vectors + scalars[..., None])


class VectorToVector(nn.Module):
    """The 2 linear equivariant maps of a vector to a vector, and a bias: a layer of DeepSets.

    out_i is linear in x_i and in the mean of x.

    Args:
        inputs: channels of x.
        outputs: channels of the result.

    Raises:
        ValueError: for fewer than one channel.

    Source: Zaheer et al. (2017), "Deep Sets". Differs: means, as in `MatrixToMatrix`.

    Example:
        >>> from tammes.spectral import Nodes
        >>> VectorToVector(2, 4)(torch.ones(1, 2, 3), Nodes(sizes=(3,))).shape
        torch.Size([1, 4, 3])
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        _check(inputs, outputs, 0)
        terms = 2 * inputs
        self.vectors = weights(outputs, inputs, terms=terms)
        self.scalars = weights(outputs, inputs, terms=terms)
        self.bias = weights(outputs, terms=terms)

    def forward(self, x: Float[Tensor, "batch inputs n"], nodes: Nodes) -> Float[Tensor, "batch outputs n"]:
        """The sum of both maps; zeros where there is no node."""
        scalars = nodes.mean(x, dim=2) @ self.scalars.T + self.bias
        mixed = torch.bmm(self.vectors.expand(len(x), -1, -1), x)
        return nodes.masked(mixed.add_(scalars[..., None]))


def _spread(
    entries: Float[Tensor, "batch channels n n"],
    diagonal: Float[Tensor, "batch channels n"],
    rows: Float[Tensor, "batch channels n"],
    columns: Float[Tensor, "batch channels n"],
    nodes: Nodes,
) -> Float[Tensor, "batch channels n n"]:
    """entries_ij + rows_i + columns_j + [i = j] diagonal_i, in place."""
    return nodes.masked(_Spread.apply(entries, diagonal, rows, columns))  # type: ignore[no-untyped-call]


class _Spread(torch.autograd.Function):
    """The sum in one tensor; autograd would copy the whole gradient for what is added to a diagonal."""

    @staticmethod
    def forward(ctx: Any, entries: Tensor, diagonal: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        ctx.mark_dirty(entries)
        entries.add_(rows[..., :, None]).add_(columns[..., None, :])
        entries.diagonal(dim1=2, dim2=3).add_(diagonal)
        return entries

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return gradient, gradient.diagonal(dim1=2, dim2=3), gradient.sum(3), gradient.sum(2)


def _check(inputs: int, outputs: int, constants: int) -> None:
    check_integer("inputs", inputs)
    check_integer("outputs", outputs)
    check_integer("constants", constants, minimum=0)
