"""Padded batches of graphs, and matrices over their nodes: dense, or as products of thin factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class Nodes:
    """The nodes of a batch of graphs, padded to the largest: tensors are `(batch, channels, width, ...)`.

    Args:
        sizes: number of nodes of each graph, at least 1.
        device: device of the tensors.

    Example:
        >>> Nodes(sizes=(2, 1)).masked(torch.ones(2, 1, 2)).tolist()
        [[[1.0, 1.0]], [[1.0, 0.0]]]
    """

    sizes: Sequence[int]
    device: torch.device | None = None

    @cached_property
    def width(self) -> int:
        """Number of nodes of the largest graph."""
        return max(self.sizes)

    @cached_property
    def counts(self) -> Float[Tensor, " batch"]:
        """The sizes as a tensor of float64."""
        return torch.tensor(self.sizes, dtype=torch.float64, device=self.device)

    @cached_property
    def mask(self) -> Bool[Tensor, "batch width"]:
        """Whether a row is a node, not padding."""
        return torch.arange(self.width, device=self.device) < self.counts[:, None]

    def mean(self, x: Float[Tensor, "batch channels *rest"], dim: int) -> Tensor:
        """Return the mean over the nodes of each graph along `dim`, for an x that is zero in the padding."""
        total = x.sum(dim)
        return total / self.counts.to(total.dtype).reshape(-1, *[1] * (total.dim() - 1))

    def masked(self, x: Float[Tensor, "batch channels *widths"]) -> Float[Tensor, "batch channels *widths"]:
        """Set x to zero, in place, where any index is padding, and return it."""
        if min(self.sizes) == self.width:
            return x
        beyond = ~self.mask
        for _ in range(3, x.dim()):
            beyond = beyond[..., None] | ~self.mask.reshape(len(self.sizes), *[1] * (beyond.dim() - 1), -1)
        return x.masked_fill_(beyond[:, None], 0.0)


Weight = Float[Tensor, "outputs channels"]
"""Share of each channel of some matrices in each channel of others."""


@dataclass(frozen=True, kw_only=True)
class Dense:
    """Matrices stored entry by entry.

    Args:
        entries: the matrices, zero in the padding.
        nodes: sizes of the graphs.

    Example:
        >>> ones = Dense(entries=torch.ones(1, 1, 2, 2), nodes=Nodes(sizes=(2,)))
        >>> ones.contractions()[1].flatten().tolist()
        [1.0, 1.0]
    """

    entries: Float[Tensor, "batch channels n n"]
    nodes: Nodes

    def contractions(self) -> tuple[Float[Tensor, "batch 3 channels n"], Float[Tensor, "batch 2 channels"]]:
        """Return (diagonal, means of rows, means of columns) and (mean of the diagonal, mean of all)."""
        diagonal = self.entries.diagonal(dim1=2, dim2=3)
        rows = self.nodes.mean(self.entries, dim=3)
        columns = self.nodes.mean(self.entries, dim=2)
        means = self.nodes.mean(diagonal, dim=2), self.nodes.mean(rows, dim=2)
        return torch.stack((diagonal, rows, columns), 1), torch.stack(means, 1)

    def mixed(self, weight: Weight, transposed: Weight) -> Float[Tensor, "batch outputs n n"]:
        """Return sum_c weight_oc X_c + transposed_oc X_c^T, in new memory."""
        # Transposing after mixing costs one pass over the outputs, instead of a copy of the input.
        return _weighted(weight, self.entries).add_(_weighted(transposed, self.entries).mT)


@dataclass(frozen=True, kw_only=True)
class Factored:
    """Low-rank matrices X_c = L_c R_c^T in factored form.

    Diagonals and means take O(n d) operations and memory: diag(L R^T)_i = <L_i, R_i>, and the means of rows
    are L (R^T 1) / n. Only `entries` and `mixed` make the n-by-n matrices.

    Args:
        left: L, zero in the padding.
        right: R, likewise; None for L itself, which makes the matrices symmetric.
        nodes: sizes of the graphs.

    Example:
        >>> projector = Factored(left=torch.eye(2)[None, None, :, :1], nodes=Nodes(sizes=(2,)))
        >>> projector.contractions()[0][0, 0].tolist()
        [[1.0, 0.0]]
    """

    left: Float[Tensor, "batch channels n d"]
    nodes: Nodes
    right: Float[Tensor, "batch channels n d"] | None = None

    def contractions(self) -> tuple[Float[Tensor, "batch 3 channels n"], Float[Tensor, "batch 2 channels"]]:
        """Return (diagonal, means of rows, means of columns) and (mean of the diagonal, mean of all)."""
        right = self.left if self.right is None else self.right
        diagonal = (self.left * right).sum(3)
        mean_right = self.nodes.mean(right, dim=2)[..., None]  # (batch, channels, d, 1)
        rows = (self.left @ mean_right)[..., 0]
        columns = rows if self.right is None else (right @ self.nodes.mean(self.left, 2)[..., None])[..., 0]
        means = self.nodes.mean(diagonal, dim=2), self.nodes.mean(rows, dim=2)
        return torch.stack((diagonal, rows, columns), 1), torch.stack(means, 1)

    def entries(self) -> Float[Tensor, "batch channels n n"]:
        """Return the matrices entry by entry."""
        return self.left @ (self.left if self.right is None else self.right).mT

    def mixed(self, weight: Weight, transposed: Weight) -> Float[Tensor, "batch outputs n n"]:
        """Return sum_c weight_oc X_c + transposed_oc X_c^T, in new memory."""
        if self.right is not None:
            return Dense(entries=self.entries(), nodes=self.nodes).mixed(weight, transposed)
        return _weighted(weight + transposed, self.entries())  # symmetric: both act on the same matrix


def _weighted(weight: Weight, entries: Tensor) -> Tensor:
    """Return sum_c weight_oc X_c, a product of matrices whose columns are pairs of nodes."""
    return torch.bmm(weight.expand(len(entries), -1, -1), entries.flatten(2)).unflatten(2, entries.shape[2:])


Matrices = Dense | Factored
"""A batch of n-by-n matrices with channels, as the linear equivariant maps see them."""
