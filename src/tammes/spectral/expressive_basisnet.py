"""BasisNet with tensors of any order: what can be approximated at all, for small graphs."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer, is_finite
from tammes.spectral.bases import CONSTANTS, Bases
from tammes.spectral.batches import batch_of
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.multiplicities import check_multiplicities, shares
from tammes.spectral.nodes import Nodes
from tammes.spectral.tensor_layer import TensorToTensor

_COPIES = 3
"""Tensors of a layer that are alive at once: what is kept of it, and what it is made from."""


@dataclass(frozen=True, kw_only=True)
class ExpressiveBasisNetConfig:
    """Settings of an `ExpressiveBasisNet`.

    Raises:
        ValueError: for counts that are not integers of at least 1, and gigabytes that are not positive.

    Example:
        >>> ExpressiveBasisNetConfig(dim=4, order=2).build().dim
        4
    """

    dim: int
    """Channels of a node's encoding."""

    order: int = 3
    """Indices of the tensors, p; at 2 they are matrices."""

    width: int = 8
    """Channels of each tensor."""

    layers: int = 2
    """Layers from the projector to the sum over eigenspaces, and again from there to the nodes."""

    multiplicities: tuple[int, ...] | None = None
    """As in a `BasisNetConfig`."""

    gap: RelativeGap = field(default_factory=RelativeGap)
    """Which eigenvalues count as equal."""

    gigabytes: float = 4.0
    """What the tensors of a batch may take, about, with what their gradients need."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        check_integer("order", self.order)
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_multiplicities(self.multiplicities)
        if not (is_finite(self.gigabytes) and self.gigabytes > 0):
            raise ValueError(f"gigabytes must be a positive number, got {self.gigabytes!r}")

    def build(self) -> ExpressiveBasisNet:
        """Build it, with weights from torch's generator."""
        return ExpressiveBasisNet(self)


class ExpressiveBasisNet(nn.Module):
    """f(V_1, ..., V_l) = rho(sum_i IGN_{d_i}(V_i V_i^T)) with tensors of order p within, and in rho.

    Each layer has all linear equivariant maps between tensors of its orders, generated from set partitions:
    Bell(2p) of them from order p to order p. The tensors of a graph's eigenspaces are added up; each was
    told its eigenvalue, so a sum tells them apart. Memory grows as n^p: this is for small graphs.

    Args:
        config: its settings.

    Source: Robinson (2023), 7.1.2, "Expressive-BasisNet", and E.1. Differs: a sum instead of a
    concatenation of eigenspaces, which takes any number of them.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = ExpressiveBasisNetConfig(dim=4, order=3).build()
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(self, config: ExpressiveBasisNetConfig) -> None:
        super().__init__()
        self.config, self.dim = config, config.dim
        order, width = config.order, config.width
        inner = [(order, order, width, width)] * (config.layers - 1)
        self.igns = nn.ModuleList(
            _layers([(2, order, 1, width), *inner]) for _ in config.multiplicities or (None,)
        )
        self.rho = _layers([*inner, (order, 1, width, config.dim)])

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
        batch, dtype = batch_of(batch, eigenvectors), next(self.parameters()).dtype
        bases = Bases.of(eigenvectors, eigenvalues, batch, self.config.gap).to(dtype)
        self._expect_room(bases)
        graphs = [graph for graph, size in enumerate(bases.sizes) if size]
        nodes = Nodes(sizes=tuple(bases.sizes[graph] for graph in graphs), device=eigenvectors.device)
        total = bases.vectors.new_zeros(len(graphs), self.config.width, *[nodes.width] * self.config.order)
        for ign, members in zip(self.igns, shares(bases, self.config.multiplicities), strict=True):
            if members:
                owners = [graphs.index(bases.spaces[member].graph) for member in members]
                place = torch.tensor(owners, device=total.device)
                own = self._tensors(ign, bases, members, nodes.width)
                total = total.index_add(0, place, own.to(total.dtype))
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
        return torch.nn.functional.pad(tensors, (0, width - nodes.width) * self.config.order)

    def _constants(self, nodes: Nodes, like: Tensor) -> Tensor:
        """1/n, in the place it has among an eigenspace's constants."""
        return torch.nn.functional.pad(nodes.counts.reciprocal()[:, None].to(like), (CONSTANTS - 1, 0))

    def _expect_room(self, bases: Bases) -> None:
        n = max(bases.sizes)
        tensors = len(bases.spaces) + sum(1 for size in bases.sizes if size)
        numbers = tensors * n**self.config.order * self.config.layers * self.config.width * _COPIES
        needed, allowed = numbers * bases.vectors.element_size() / 1e9, self.config.gigabytes
        if needed > allowed:
            raise ValueError(
                f"tensors of order {self.config.order} for {len(bases.spaces)} eigenspaces of graphs of up "
                f"to {n} nodes need about {needed:,.3g} GB, and gigabytes allows {allowed:g}: take BasisNet, "
                "a lower order, fewer graphs or eigenvectors, or raise gigabytes"
            )


def _layers(shapes: list[tuple[int, int, int, int]]) -> nn.ModuleList:
    return nn.ModuleList(
        TensorToTensor((before, after), inputs, outputs, CONSTANTS)
        for before, after, inputs, outputs in shapes
    )
