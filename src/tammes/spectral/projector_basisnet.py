"""BasisNet on the eigenspaces of any diagonalizable matrices: directed graphs, complex eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.bases import CONSTANTS, copies_of_spaces
from tammes.spectral.eigen.projectors import Projectors
from tammes.spectral.equivariant.ign import IGN, IGNConfig
from tammes.spectral.equivariant.matrices import Dense, Nodes
from tammes.spectral.perceptron import SummedConfig
from tammes.spectral.phi import RhoConfig


class ProjectorBasisNet(nn.Module):
    """f = rho([IGN(V_i (V_i^* V_i)^{-1} V_i^*)]_i) for each node of several graphs.

    The IGN gets the real and the imaginary part of n times the projector, the two parts of the eigenvalue,
    log d and 1/n. `Projectors.of` computes the projectors.

    Args:
        dim: channels of a node's encoding.
        ign: settings of the network on each projector; left out, `IGNConfig()`.
        rho: settings of the network that joins the eigenspaces of a node; left out, `SummedConfig()`.

    Raises:
        ValueError: for a dimension below 1.

    Source: Robinson (2023), eq. E.6 and E.9.

    Example:
        >>> cycle = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # directed
        >>> ProjectorBasisNet(dim=4)([Projectors.of(cycle)]).shape
        torch.Size([3, 4])
    """

    def __init__(self, *, dim: int, ign: IGNConfig | None = None, rho: RhoConfig | None = None) -> None:
        super().__init__()
        self.dim = check_integer("dim", dim)
        widths = ign or IGNConfig()
        self.ign = IGN(widths, inputs=2, constants=CONSTANTS + 1)
        self.rho = (rho or SummedConfig()).build(widths.dim, dim)

    def forward(
        self, graphs: Sequence[Projectors], edge_index: Int[Tensor, "2 m"] | None = None
    ) -> Float[Tensor, "nodes dim"]:
        """Return the encodings of all nodes, one graph after the other.

        Args:
            graphs: eigenspaces of each graph.
            edge_index: edges of all graphs, passed to rho.

        Raises:
            ValueError: for no graphs.
        """
        if not graphs:
            raise ValueError("expected the projectors of at least one graph, got none")
        dtype = next(self.parameters()).dtype
        encoded = torch.cat([self._encoded(each, dtype) for each in graphs])
        shapes = torch.tensor([each.matrices.shape[:2] for each in graphs])  # eigenspaces, nodes
        counts, sizes = shapes.T
        copies = copies_of_spaces(sizes, counts, int(sizes.max()), edge_index, encoded.device)
        return self.rho(encoded, copies)

    def _encoded(self, spaces: Projectors, dtype: torch.dtype) -> Float[Tensor, "rows channels"]:
        """Return a row for each node and eigenspace of one graph."""
        count, n, _ = spaces.matrices.shape
        nodes = Nodes(sizes=(n,) * count, device=spaces.matrices.device)
        entries = n * torch.stack((spaces.matrices.real, spaces.matrices.imag), dim=1).to(dtype)
        constants = (
            spaces.values.real,
            spaces.values.imag,
            spaces.dimensions.double().log(),
            torch.full_like(spaces.values.real, 1 / n),
        )
        vectors = self.ign(
            Dense(entries=entries, nodes=nodes), nodes, torch.stack(constants, dim=1).to(dtype)
        )
        return vectors.permute(2, 0, 1).flatten(0, 1)  # (n spaces, channels)
