"""BasisNet with tensors of any order: universal, for small graphs."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.spectral.bases import CONSTANTS, Bases, check_multiplicities
from tammes.spectral.batches import batch_of
from tammes.spectral.eigen.eigenspaces import RelativeGap
from tammes.spectral.equivariant.matrices import Nodes
from tammes.spectral.equivariant.tensors import TensorToTensor

TENSORS_OF_A_LAYER = 3
"""Tensors of a layer that are in memory at once: its output, and intermediate results."""


class ExpressiveBasisNet(nn.Module):
    """f(V_1, ..., V_l) = rho(sum_i IGN_{d_i}(V_i V_i^T)) with tensors of order p within, and in rho.

    Each layer has all linear equivariant maps between tensors of its orders, generated from set partitions:
    Bell(2p) of them from order p to order p. The tensors of a graph's eigenspaces are summed; the eigenvalue
    is an input of each IGN, so the sum still distinguishes them. Memory grows as n^p.

    Args:
        dim: channels of a node's encoding.
        order: number of indices of the tensors, p; at 2 they are matrices.
        width: channels of each tensor.
        layers: number of layers from the projector to the sum, and again from there to the nodes.
        multiplicities: dimensions of eigenspaces, with an IGN for each; None for one IGN for all dimensions.
        gap: rule for equal eigenvalues; left out, `RelativeGap()`.
        gigabytes: limit of the estimated memory of the tensors of a batch, with their gradients, in GB.

    Raises:
        ValueError: for sizes that are not integers of at least 1, and gigabytes that are not positive.

    Source: Robinson (2023), 7.1.2, "Expressive-BasisNet", and E.1. Differs: a sum instead of a
    concatenation of eigenspaces, which takes any number of them.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = ExpressiveBasisNet(dim=4, order=3)
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        dim: int,
        order: int = 3,
        width: int = 8,
        layers: int = 2,
        multiplicities: tuple[int, ...] | None = None,
        gap: RelativeGap | None = None,
        gigabytes: float = 4.0,
    ) -> None:
        super().__init__()
        check_multiplicities(multiplicities)
        self.dim = check_integer("dim", dim)
        self.order = check_integer("order", order)
        self.width = check_integer("width", width)
        self.layers = check_integer("layers", layers)
        self.gigabytes = check_number("gigabytes", gigabytes, above=0)
        self.multiplicities = multiplicities
        self.gap = gap or RelativeGap()
        inner = [(order, order, width, width)] * (layers - 1)
        self.igns = nn.ModuleList(_layers([(2, order, 1, width), *inner]) for _ in multiplicities or (None,))
        self.rho = _layers([*inner, (order, 1, width, dim)])

    @override
    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes dim"]:
        batch, dtype = batch_of(batch, eigenvectors), next(self.parameters()).dtype
        bases = Bases.of(eigenvectors, eigenvalues, batch, self.gap).to(dtype)
        self._check_memory(bases)
        occupied = bases.sizes > 0
        nodes = Nodes(sizes=tuple(bases.sizes[occupied].tolist()), device=eigenvectors.device)
        place = (occupied.cumsum(0) - 1)[bases.graph].to(eigenvectors.device)
        total = bases.vectors.new_zeros(len(nodes.sizes), self.width, *[nodes.width] * self.order)
        for ign, members in zip(self.igns, bases.by_multiplicity(self.multiplicities), strict=True):
            if len(members):
                own = self._tensors(ign, bases, members, nodes.width)
                total = total.index_add(0, place[members], own.to(total.dtype))
        # 1/n takes the place that it has among the constants of an eigenspace.
        constants = nn.functional.pad(nodes.counts.reciprocal()[:, None].to(total), (CONSTANTS - 1, 0))
        for layer in self.rho[:-1]:
            total = torch.relu(layer(total, nodes, constants))
        result: Tensor = self.rho[-1](total, nodes, constants)
        return result.mT[nodes.mask]

    def _tensors(
        self, ign: nn.Module, bases: Bases, members: Int[Tensor, " some"], width: int
    ) -> Float[Tensor, "some channels *widths"]:
        """Return the IGN's tensors for some eigenspaces, padded to the largest graph of the batch."""
        projectors = bases.projectors(members)
        nodes, tensors, constants = projectors.nodes, projectors.entries(), bases.constants(members)
        for layer in ign.children():
            tensors = torch.relu(layer(tensors, nodes, constants))
        return nn.functional.pad(tensors, (0, width - nodes.width) * self.order)

    def _check_memory(self, bases: Bases) -> None:
        n, spaces = int(bases.sizes.max()), len(bases.values)
        tensors = spaces + int((bases.sizes > 0).sum())
        numbers = tensors * n**self.order * self.layers * self.width * TENSORS_OF_A_LAYER
        needed = numbers * bases.vectors.element_size() / 1e9
        if needed > self.gigabytes:
            raise ValueError(
                f"tensors of order {self.order} for {spaces} eigenspaces of graphs of up to {n} nodes need "
                f"about {needed:,.3g} GB, and gigabytes allows {self.gigabytes:g}: use BasisNet, a lower "
                "order, fewer graphs or eigenvectors, or raise gigabytes"
            )


def _layers(shapes: list[tuple[int, int, int, int]]) -> nn.ModuleList:
    return nn.ModuleList(
        TensorToTensor((before, after), inputs, outputs, CONSTANTS)
        for before, after, inputs, outputs in shapes
    )
