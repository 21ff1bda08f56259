"""BasisNet on the eigenspaces of any diagonalizable matrices: directed graphs, complex eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.bases import CONSTANTS, copies_of_spaces
from tammes.spectral.ign import IGN, IGNConfig
from tammes.spectral.matrices import Dense
from tammes.spectral.nodes import Nodes
from tammes.spectral.perceptron import SummedConfig
from tammes.spectral.phi import RhoConfig
from tammes.spectral.projectors import Projectors


@dataclass(frozen=True, kw_only=True)
class ProjectorBasisNetConfig:
    """Settings of a `ProjectorBasisNet`.

    Raises:
        ValueError: for a dimension below 1.

    Example:
        >>> ProjectorBasisNetConfig(dim=16).build().dim
        16
    """

    dim: int
    """Channels of a node's encoding."""

    ign: IGNConfig = field(default_factory=IGNConfig)
    """What the projector of every eigenspace goes through."""

    rho: RhoConfig = field(default_factory=SummedConfig)
    """What joins the eigenspaces of a node."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)

    def build(self) -> ProjectorBasisNet:
        """Build it, with weights from torch's generator."""
        return ProjectorBasisNet(self)


class ProjectorBasisNet(nn.Module):
    """f = rho([IGN(V_i (V_i^* V_i)^{-1} V_i^*)]_i) for each node of several graphs.

    The IGN sees the real and the imaginary part of n times the projector, and is told the eigenvalue's two
    parts, log d and 1/n. `EigenspaceProjectors` makes the projectors.

    Args:
        config: its settings.

    Source: Robinson (2023), eq. E.6 and E.9.

    Example:
        >>> from tammes.spectral import EigenspaceProjectors
        >>> cycle = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # directed
        >>> network = ProjectorBasisNetConfig(dim=4).build()
        >>> network([EigenspaceProjectors()(cycle)]).shape
        torch.Size([3, 4])
    """

    def __init__(self, config: ProjectorBasisNetConfig) -> None:
        super().__init__()
        self.config, self.dim = config, config.dim
        self.ign = IGN(config.ign, inputs=2, constants=CONSTANTS + 1)
        self.rho = config.rho.build(config.ign.dim, config.dim)

    def forward(
        self, graphs: Sequence[Projectors], edge_index: Int[Tensor, "2 m"] | None = None
    ) -> Float[Tensor, "nodes dim"]:
        """Node encodings, one graph after the other.

        Args:
            graphs: the eigenspaces of each.
            edge_index: of all graphs, handed to rho.

        Raises:
            ValueError: for no graphs.
        """
        if not graphs:
            raise ValueError("expected the projectors of at least one graph, got none")
        dtype = next(self.parameters()).dtype
        encoded = torch.cat([self._encoded(each, dtype) for each in graphs])
        sizes = [each.matrices.shape[1] for each in graphs]
        counts = [len(each.matrices) for each in graphs]
        copies = copies_of_spaces(sizes, counts, max(sizes), edge_index, encoded.device)
        return self.rho(encoded, copies)

    def _encoded(self, spaces: Projectors, dtype: torch.dtype) -> Float[Tensor, "rows channels"]:
        """A row for each node and eigenspace of one graph."""
        count, n, _ = spaces.matrices.shape
        nodes = Nodes(sizes=(n,) * count, device=spaces.matrices.device)
        entries = n * torch.stack((spaces.matrices.real, spaces.matrices.imag), dim=1).to(dtype)
        told = (
            spaces.values.real,
            spaces.values.imag,
            spaces.dimensions.double().log(),
            torch.full_like(spaces.values.real, 1 / n),
        )
        vectors = self.ign(Dense(entries=entries, nodes=nodes), nodes, torch.stack(told, dim=1).to(dtype))
        return vectors.permute(2, 0, 1).flatten(0, 1)  # (n spaces, channels)
