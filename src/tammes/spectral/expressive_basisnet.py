"""BasisNet with tensors of any order: what can be approximated at all, for small graphs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.spectral.bases import CONSTANTS, Bases
from tammes.spectral.counts import check_count
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.multiplicities import checked, shares
from tammes.spectral.nodes import Nodes
from tammes.spectral.tensor_layer import TensorToTensor

_COPIES = 3
"""Tensors of a layer that are alive at once: what is kept of it, and what it is made from."""


class ExpressiveBasisNet(nn.Module):
    """f(V_1, ..., V_l) = rho(sum_i IGN_{d_i}(V_i V_i^T)) with tensors of order p within, and in rho.

    Each layer has all linear equivariant maps between tensors of its orders, generated from set partitions:
    Bell(2p) of them from order p to order p. The tensors of a graph's eigenspaces are added up; each was
    told its eigenvalue, so a sum tells them apart. Memory grows as n^p: this is for small graphs.

    Args:
        dim: the width of a node encoding.
        order: p; at 2 the tensors are matrices.
        width: channels of each tensor.
        layers: from the projector to the sum, and again from there to the nodes.
        multiplicities: as in `BasisNet`.
        gap: which eigenvalues count as equal.
        gigabytes: what the tensors of a batch may take, about, with their gradients' needs.

    Raises:
        ValueError: for counts that are not integers of at least 1, and gigabytes that are not positive.

    Source: Robinson (2023), 7.1.2, "Expressive-BasisNet", and E.1. Differs: a sum instead of a
    concatenation of eigenspaces, which takes any number of them.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = ExpressiveBasisNet(4, order=3).double()
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        dim: int,
        *,
        order: int = 3,
        width: int = 8,
        layers: int = 2,
        multiplicities: Sequence[int] | None = None,
        gap: RelativeGap | None = None,
        gigabytes: float = 4.0,
    ) -> None:
        super().__init__()
        for name, count in (("dim", dim), ("order", order), ("width", width), ("layers", layers)):
            check_count(name, count)
        if not gigabytes > 0:
            raise ValueError(f"gigabytes must be positive, got {gigabytes!r}")
        self.order, self.width, self.layers, self.gigabytes = order, width, layers, gigabytes
        self.multiplicities = checked(multiplicities)
        self.gap = RelativeGap() if gap is None else gap
        inner = [(order, order, width, width)] * (layers - 1)
        self.igns = nn.ModuleList(
            _layers([(2, order, 1, width), *inner]) for _ in self.multiplicities or (1,)
        )
        self.rho = _layers([*inner, (order, 1, width, dim)])

    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes dim"]:
        """Node encodings; arguments as those of `BasisNet`, of which x and edge_index are ignored.

        Raises:
            ValueError: as `BasisNet`, and where tensors of this order would take more memory than allowed.
        """
        bases = Bases.of(eigenvectors, eigenvalues, batch, self.gap)
        self._expect_room(bases)
        graphs = [graph for graph, size in enumerate(bases.sizes) if size]
        nodes = Nodes(sizes=tuple(bases.sizes[graph] for graph in graphs), device=eigenvectors.device)
        total = eigenvectors.new_zeros(len(graphs), self.width, *[nodes.width] * self.order)
        for ign, members in zip(self.igns, shares(bases, self.multiplicities), strict=True):
            if members:
                owners = [graphs.index(bases.spaces[member].graph) for member in members]
                place = torch.tensor(owners, device=total.device)
                total = total.index_add(0, place, self._tensors(ign, bases, members, nodes.width))
        for layer in self.rho[:-1]:
            total = torch.relu(layer(total, nodes, self._constants(nodes, total)))
        result: Tensor = self.rho[-1](total, nodes, self._constants(nodes, total))
        return result.mT[nodes.mask]

    def _tensors(
        self, ign: nn.Module, bases: Bases, members: list[int], width: int
    ) -> Float[Tensor, "some channels *widths"]:
        """What an IGN makes of some eigenspaces, filled up to the widest graph."""
        projectors = bases.projectors(members)
        nodes, tensors, constants = projectors.nodes, projectors.entries(), bases.constants(members)
        for layer in ign.children():
            tensors = torch.relu(layer(tensors, nodes, constants))
        return torch.nn.functional.pad(tensors, (0, width - nodes.width) * self.order)

    def _constants(self, nodes: Nodes, like: Tensor) -> Tensor:
        """log n, in the place it has among an eigenspace's constants."""
        return torch.nn.functional.pad(nodes.counts.log()[:, None].to(like), (CONSTANTS - 1, 0))

    def _expect_room(self, bases: Bases) -> None:
        n = max(bases.sizes)
        tensors = len(bases.spaces) + sum(1 for size in bases.sizes if size)
        numbers = tensors * n**self.order * self.layers * self.width * _COPIES
        needed = numbers * bases.vectors.element_size() / 1e9
        if needed > self.gigabytes:
            raise ValueError(
                f"tensors of order {self.order} for {len(bases.spaces)} eigenspaces of graphs of up to {n} "
                f"nodes need about {needed:,.3g} GB, more than the {self.gigabytes:g} GB allowed: take "
                "BasisNet, a lower order, fewer graphs or eigenvectors, or raise gigabytes"
            )


def _layers(shapes: list[tuple[int, int, int, int]]) -> nn.ModuleList:
    return nn.ModuleList(
        TensorToTensor((before, after), inputs, outputs, CONSTANTS)
        for before, after, inputs, outputs in shapes
    )
