"""BasisNet without permutation symmetry, for nodes that have an order."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.bases import CONSTANTS, Bases
from tammes.spectral.batches import batch_of
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.layers import MLP
from tammes.spectral.multiplicities import check_multiplicities, shares


@dataclass(frozen=True, kw_only=True)
class UnconstrainedBasisNetConfig:
    """Settings of an `UnconstrainedBasisNet`.

    Raises:
        ValueError: for sizes that are not integers of at least 1.

    Example:
        >>> UnconstrainedBasisNetConfig(dim=4, nodes=5, eigenvectors=5).build().dim
        4
    """

    dim: int
    """Channels of a node's encoding."""

    nodes: int
    """Nodes of every graph, n."""

    eigenvectors: int
    """Columns of eigenvectors: there are as many eigenspaces at most, and others count as zeros."""

    width: int = 64
    """Channels of the hidden layers, and of what phi makes of an eigenspace."""

    layers: int = 3
    """Linear layers of phi, and of rho."""

    multiplicities: tuple[int, ...] | None = None
    """As in a `BasisNetConfig`."""

    gap: RelativeGap = field(default_factory=RelativeGap)
    """Which eigenvalues count as equal."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        check_integer("nodes", self.nodes)
        check_integer("eigenvectors", self.eigenvectors)
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_multiplicities(self.multiplicities)

    def build(self) -> UnconstrainedBasisNet:
        """Build it, with weights from torch's generator."""
        return UnconstrainedBasisNet(self)


class UnconstrainedBasisNet(nn.Module):
    """f(V_1, ..., V_l) = rho([phi_{d_i}(V_i V_i^T)]_i) with perceptrons on all entries of a projector.

    Neither signs nor bases matter; the order of nodes does. It is universal for data whose nodes have an
    order, such as the eigenspaces of a covariance.

    Args:
        config: its settings.

    Source: Robinson (2023), eq. 7.7. Differs: rho gives a vector for each node, to have the interface of the
    others.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = UnconstrainedBasisNetConfig(dim=4, nodes=3, eigenvectors=3).build()
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(self, config: UnconstrainedBasisNetConfig) -> None:
        super().__init__()
        self.config, self.dim = config, config.dim
        hidden = [config.width] * (config.layers - 1)
        self.phis = nn.ModuleList(
            MLP([config.nodes**2 + CONSTANTS, *hidden, config.width])
            for _ in config.multiplicities or (None,)
        )
        self.rho = MLP([config.eigenvectors * config.width, *hidden, config.nodes * config.dim])

    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes dim"]:
        """Node encodings; arguments as those of `BasisNet`, of which x and edge_index are not looked at.

        Raises:
            ValueError: as `BasisNet`, and for graphs or columns of another number than the network's.
        """
        config = self.config
        batch, dtype = batch_of(batch, eigenvectors), next(self.parameters()).dtype
        bases = Bases.of(eigenvectors, eigenvalues, batch, config.gap).to(dtype)
        if set(bases.sizes) != {config.nodes} or eigenvectors.shape[1] != config.eigenvectors:
            raise ValueError(
                f"expected graphs of {config.nodes} nodes and {config.eigenvectors} columns of eigenvectors, "
                f"as this network was built for, got {sorted(set(bases.sizes))} and {eigenvectors.shape[1]}"
            )
        slots = bases.vectors.new_zeros(len(bases.sizes) * config.eigenvectors, config.width)
        for phi, members in zip(self.phis, shares(bases, config.multiplicities), strict=True):
            if members:
                entries = bases.projectors(members).entries().flatten(1)
                found = phi(torch.cat((entries, bases.constants(members)), dim=1))
                chosen = [bases.spaces[member] for member in members]
                place = [basis.graph * config.eigenvectors + basis.number for basis in chosen]
                slots = slots.index_copy(0, torch.tensor(place, device=slots.device), found)
        return self.rho(slots.view(len(bases.sizes), -1)).view(-1, config.dim)
