"""Linear equivariant maps between matrices and vectors over nodes, and networks of them (IGN)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.equivariant.matrices import Dense, Matrices, Nodes


def uniform_weights(*shape: int, terms: int) -> nn.Parameter:
    """Return weights of a sum of `terms` terms, from U(-1 / sqrt(terms), 1 / sqrt(terms)) as in nn.Linear."""
    bound = 1 / math.sqrt(max(1, terms))
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound))


def check_channels(inputs: int, outputs: int, constants: int = 0) -> None:
    """Raise ValueError for fewer than one input or output channel, or a negative number of constants."""
    check_integer("inputs", inputs)
    check_integer("outputs", outputs)
    check_integer("constants", constants, minimum=0)


class MatrixToMatrix(nn.Module):
    """The 15 linear equivariant maps of a matrix to a matrix, and 2 biases.

    out_ij = (X, X^T)_ij + rows_i + columns_j + all + [i = j] diagonal_i, where rows, columns and diagonal
    are each linear in (diagonal of X, means of its rows, means of its columns), 9 maps, and all and the
    diagonal in (mean of its diagonal, mean of its entries), 4 maps. One bias goes to all entries, one to
    the diagonal. All 15 are summed into one n-by-n tensor for each output, instead of 15 tensors.

    Args:
        inputs: channels of X.
        outputs: channels of the result.
        constants: numbers given with each matrix, which enter as constant matrices and diagonals do.

    Raises:
        ValueError: for fewer than one channel, or a negative number of constants.

    Source: Maron et al. (2019), "Invariant and Equivariant Graph Networks", Table 5; Robinson (2023), 7.1.1.
    Differs: means over a graph's own nodes, not sums, so that results do not grow with the graph.

    Example:
        >>> from tammes.spectral import Dense, Nodes
        >>> layer, nodes = MatrixToMatrix(1, 4), Nodes(sizes=(3, 2))
        >>> x = nodes.masked(torch.ones(2, 1, 3, 3))
        >>> layer(Dense(entries=x, nodes=nodes), nodes).shape
        torch.Size([2, 4, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int, constants: int = 0) -> None:
        super().__init__()
        check_channels(inputs, outputs, constants)
        terms = 15 * inputs + 2 * constants
        self.entries = uniform_weights(2, outputs, inputs, terms=terms)
        self.vectors = uniform_weights(3, outputs, 3, inputs, terms=terms)  # to the diagonal, rows, columns
        self.scalars = uniform_weights(2, outputs, 2, inputs, terms=terms)  # to the diagonal, all
        self.constants = uniform_weights(2, outputs, constants, terms=terms)
        self.bias = uniform_weights(2, outputs, terms=terms)

    @override
    def forward(
        self, x: Matrices, nodes: Nodes, constants: Float[Tensor, "batch constants"] | None = None
    ) -> Float[Tensor, "batch outputs n n"]:
        vector_parts, scalar_parts = x.contractions()
        vectors = torch.einsum("poqc,bqcn->pbon", self.vectors, vector_parts)
        scalars = torch.einsum("poqc,bqc->pbo", self.scalars, scalar_parts) + self.bias[:, None]
        if constants is not None:
            scalars = scalars + torch.einsum("poc,bc->pbo", self.constants, constants)
        diagonal, rows, columns = vectors
        on_diagonal, on_all = scalars[..., None]
        entries = x.mixed(self.entries[0], self.entries[1])
        return nodes.masked(_spread(entries, diagonal + on_diagonal, rows + on_all, columns))


class VectorToMatrix(nn.Module):
    """The 5 linear equivariant maps of a vector to a matrix, without biases, added to a `MatrixToMatrix`.

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
        check_channels(inputs, outputs)
        self.vectors = uniform_weights(3, outputs, inputs, terms=5 * inputs)
        self.scalars = uniform_weights(2, outputs, inputs, terms=5 * inputs)

    @override
    def forward(
        self, x: Float[Tensor, "batch inputs n"], nodes: Nodes, matrices: Float[Tensor, "batch outputs n n"]
    ) -> Float[Tensor, "batch outputs n n"]:
        # The sum of all maps is added to `matrices` in place.
        diagonal, rows, columns = torch.einsum("poc,bcn->pbon", self.vectors, x)
        on_diagonal, on_all = torch.einsum("poc,bc->pbo", self.scalars, nodes.mean(x, dim=2))[..., None]
        return nodes.masked(_spread(matrices, diagonal + on_diagonal, rows + on_all, columns))


class MatrixToVector(nn.Module):
    """The 5 linear equivariant maps of a matrix to a vector, and a bias.

    out_i is linear in X_ii, the mean of row i, the mean of column i, the mean of the diagonal and the mean
    of all entries. For `Factored` matrices the n-by-n matrix is never made.

    Args:
        inputs: channels of X.
        outputs: channels of the result.
        constants: numbers given with each matrix.

    Raises:
        ValueError: for fewer than one channel, or a negative number of constants.

    Source: Maron et al. (2019). Differs: means, as in `MatrixToMatrix`.

    Example:
        >>> from tammes.spectral import Factored, Nodes
        >>> nodes = Nodes(sizes=(3,))
        >>> MatrixToVector(1, 4)(Factored(left=torch.ones(1, 1, 3, 1), nodes=nodes), nodes).shape
        torch.Size([1, 4, 3])
    """

    def __init__(self, inputs: int, outputs: int, constants: int = 0) -> None:
        super().__init__()
        check_channels(inputs, outputs, constants)
        terms = 5 * inputs + constants
        self.vectors = uniform_weights(outputs, 3, inputs, terms=terms)
        self.scalars = uniform_weights(outputs, 2, inputs, terms=terms)
        self.constants = uniform_weights(outputs, constants, terms=terms)
        self.bias = uniform_weights(outputs, terms=terms)

    @override
    def forward(
        self, x: Matrices, nodes: Nodes, constants: Float[Tensor, "batch constants"] | None = None
    ) -> Float[Tensor, "batch outputs n"]:
        vector_parts, scalar_parts = x.contractions()
        scalars = torch.einsum("oqc,bqc->bo", self.scalars, scalar_parts) + self.bias
        if constants is not None:
            scalars = scalars + constants @ self.constants.T
        vectors = torch.einsum("oqc,bqcn->bon", self.vectors, vector_parts)
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
        check_channels(inputs, outputs)
        terms = 2 * inputs
        self.vectors = uniform_weights(outputs, inputs, terms=terms)
        self.scalars = uniform_weights(outputs, inputs, terms=terms)
        self.bias = uniform_weights(outputs, terms=terms)

    @override
    def forward(self, x: Float[Tensor, "batch inputs n"], nodes: Nodes) -> Float[Tensor, "batch outputs n"]:
        scalars = nodes.mean(x, dim=2) @ self.scalars.T + self.bias
        mixed = torch.bmm(self.vectors.expand(len(x), -1, -1), x)
        return nodes.masked(mixed.add_(scalars[..., None]))


class _Spread(torch.autograd.Function):
    """entries_ij + rows_i + columns_j + [i = j] diagonal_i, added to the entries in place.

    Autograd's own backward of an in-place addition to a diagonal copies the whole n-by-n gradient. Here the
    gradient of the matrix is passed on as it is, and the others are its diagonal and its sums.
    """

    @staticmethod
    def forward(ctx: Any, entries: Tensor, diagonal: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        ctx.mark_dirty(entries)
        entries.add_(rows[..., :, None]).add_(columns[..., None, :])
        entries.diagonal(dim1=2, dim2=3).add_(diagonal)
        return entries

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return gradient, gradient.diagonal(dim1=2, dim2=3), gradient.sum(3), gradient.sum(2)


_spread: Callable[..., Tensor] = _Spread.apply


@dataclass(frozen=True, kw_only=True)
class IGNConfig:
    """Widths of the layers of an `IGN`.

    Args:
        matrix: channels of each layer from matrices to matrices; none by default, as in the paper's
            experiments, and then no n-by-n matrix is ever made.
        vector: channels of the layer from matrices to vectors, and of the layers from vectors to vectors
            after it; the last is the width of the result.

    Raises:
        ValueError: for fewer than one channel, or no layer to vectors.

    Example:
        >>> IGNConfig(matrix=(8,), vector=(32, 16)).dim
        16
    """

    matrix: tuple[int, ...] = ()
    vector: tuple[int, ...] = (32, 32, 32)

    def __post_init__(self) -> None:
        for name, widths in (("matrix", self.matrix), ("vector", self.vector)):
            if not isinstance(widths, tuple):
                raise ValueError(f"{name} must be a tuple of widths, one for each layer, got {widths!r}")
            for width in widths:
                check_integer(f"each width in {name}", width)
        if not self.vector:
            raise ValueError("vector must have at least one width: the result is one vector for each node")

    @property
    def dim(self) -> int:
        """Number of channels of the result."""
        return self.vector[-1]


class IGN(nn.Module):
    """Equivariant network from a matrix over pairs of nodes to a vector for each node.

    A ReLU follows each layer but the last. Node features enter the first matrix layer through
    `VectorToMatrix`, and the first vector layer through `VectorToVector`.

    Args:
        config: widths of the layers.
        inputs: channels of the matrices.
        constants: numbers given with each matrix, inputs of the first layer.
        features: channels of node features given with each matrix.

    Source: Maron et al. (2019); Robinson (2023), eq. 7.4 and E.11.3.

    Example:
        >>> from tammes.spectral import Factored, Nodes
        >>> nodes = Nodes(sizes=(3,))
        >>> network = IGN(IGNConfig(matrix=(4,), vector=(8, 2)), inputs=1)
        >>> network(Factored(left=torch.ones(1, 1, 3, 1), nodes=nodes), nodes).shape
        torch.Size([1, 2, 3])
    """

    def __init__(self, config: IGNConfig, *, inputs: int, constants: int = 0, features: int = 0) -> None:
        super().__init__()
        check_integer("features", features, minimum=0)
        self.config = config
        widths = (inputs, *config.matrix)
        self.matrix = nn.ModuleList(
            MatrixToMatrix(before, after, 0 if place else constants)
            for place, (before, after) in enumerate(pairwise(widths))
        )
        self.entrance = VectorToMatrix(features, widths[1]) if features and config.matrix else None
        self.collect = MatrixToVector(widths[-1], config.vector[0], 0 if config.matrix else constants)
        self.features = VectorToVector(features, config.vector[0]) if features else None
        self.vector = nn.ModuleList(
            VectorToVector(before, after) for before, after in pairwise(config.vector)
        )

    @override
    def forward(
        self,
        x: Matrices,
        nodes: Nodes,
        constants: Float[Tensor, "batch constants"] | None = None,
        features: Float[Tensor, "batch features n"] | None = None,
    ) -> Float[Tensor, "batch outputs n"]:
        for place, layer in enumerate(self.matrix):
            entries = layer(x, nodes, None if place else constants)
            if place == 0 and self.entrance is not None:
                entries = self.entrance(features, nodes, entries)
            x = Dense(entries=torch.relu_(entries), nodes=nodes)
        vectors = self.collect(x, nodes, None if self.config.matrix else constants)
        if self.features is not None:
            vectors = vectors + self.features(features, nodes)
        for layer in self.vector:
            vectors = layer(torch.relu(vectors), nodes)
        return vectors
