"""Batches of matrices, dense or as products of thin factors, as the linear equivariant maps see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.spectral.nodes import Nodes


@dataclass(frozen=True, kw_only=True)
class Contractions:
    """What a matrix becomes where an index is summed over or two are made one.

    Args:
        vectors: the diagonal, the means of rows and the means of columns.
        scalars: the mean of the diagonal and the mean of all entries.
    """

    vectors: Float[Tensor, "batch 3 channels n"]
    scalars: Float[Tensor, "batch 2 channels"]


class Matrices(ABC):
    """A batch of n-by-n matrices with channels."""

    @abstractmethod
    def contractions(self) -> Contractions:
        """Diagonals and means, over each graph's own nodes."""

    @abstractmethod
    def mixed(
        self, weight: Float[Tensor, "outputs channels"], transposed: Float[Tensor, "outputs channels"]
    ) -> Float[Tensor, "batch outputs n n"]:
        """sum_c weight_oc X_c + transposed_oc X_c^T, in memory of its own."""


@dataclass(frozen=True, kw_only=True)
class Dense(Matrices):
    """Matrices entry by entry.

    Args:
        entries: zeros where a row or column is no node.
        nodes: which rows are.

    Example:
        >>> ones = Dense(entries=torch.ones(1, 1, 2, 2), nodes=Nodes(sizes=(2,)))
        >>> ones.contractions().scalars.flatten().tolist()
        [1.0, 1.0]
    """

    entries: Float[Tensor, "batch channels n n"]
    nodes: Nodes

    def contractions(self) -> Contractions:
        """See `Matrices.contractions`."""
        diagonal = self.entries.diagonal(dim1=2, dim2=3)
        rows = self.nodes.mean(self.entries, dim=3)
        columns = self.nodes.mean(self.entries, dim=2)
        return Contractions(
            vectors=torch.stack((diagonal, rows, columns), 1),
            scalars=torch.stack((self.nodes.mean(diagonal, dim=2), self.nodes.mean(rows, dim=2)), 1),
        )

    def mixed(
        self, weight: Float[Tensor, "outputs channels"], transposed: Float[Tensor, "outputs channels"]
    ) -> Float[Tensor, "batch outputs n n"]:
        """See `Matrices.mixed`."""
        n = self.entries.shape[-1]
        flat = self.entries.flatten(2)
        straight, across = (
            torch.bmm(each.expand(len(flat), -1, -1), flat).unflatten(2, (n, n))
            for each in (weight, transposed)
        )
        return straight.add_(across.mT)


@dataclass(frozen=True, kw_only=True)
class Factored(Matrices):
    """Matrices X_c = L_c R_c^T that nobody has made: what is asked of them comes from the factors.

    Diagonals, means of rows, columns and all entries take O(n d) operations, not O(n^2).

    Args:
        left: L, rows of zeros where a row is no node.
        right: R, likewise; None for L itself, which makes the matrices symmetric.
        nodes: which rows are.

    Example:
        >>> projector = Factored(left=torch.eye(2)[None, None, :, :1], nodes=Nodes(sizes=(2,)))
        >>> projector.contractions().vectors[0, 0].tolist()
        [[1.0, 0.0]]
    """

    left: Float[Tensor, "batch channels n d"]
    nodes: Nodes
    right: Float[Tensor, "batch channels n d"] | None = None

    def contractions(self) -> Contractions:
        """See `Matrices.contractions`."""
        right = self.left if self.right is None else self.right
        diagonal = (self.left * right).sum(3)
        mean_right = self.nodes.mean(right, dim=2)[..., None]  # (batch, channels, d, 1)
        rows = (self.left @ mean_right)[..., 0]
        if self.right is None:
            columns = rows
        else:
            columns = (right @ self.nodes.mean(self.left, dim=2)[..., None])[..., 0]
        return Contractions(
            vectors=torch.stack((diagonal, rows, columns), 1),
            scalars=torch.stack((self.nodes.mean(diagonal, dim=2), self.nodes.mean(rows, dim=2)), 1),
        )

    def entries(self) -> Float[Tensor, "batch channels n n"]:
        """The matrices themselves."""
        return self.left @ (self.left if self.right is None else self.right).mT

    def mixed(
        self, weight: Float[Tensor, "outputs channels"], transposed: Float[Tensor, "outputs channels"]
    ) -> Float[Tensor, "batch outputs n n"]:
        """See `Matrices.mixed`."""
        if self.right is not None:
            return Dense(entries=self.entries(), nodes=self.nodes).mixed(weight, transposed)
        entries = self.entries()
        both = (weight + transposed).expand(len(entries), -1, -1)
        return torch.bmm(both, entries.flatten(2)).unflatten(2, entries.shape[2:])
