"""SignNet without permutation symmetry, for nodes that have an order."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.batches import batch_of, check_eigenpairs, expect_columns
from tammes.spectral.eigenpairs import exists
from tammes.spectral.layers import MLP


@dataclass(frozen=True, kw_only=True)
class UnconstrainedSignNetConfig:
    """Settings of an `UnconstrainedSignNet`.

    Raises:
        ValueError: for sizes that are not integers of at least 1.

    Example:
        >>> UnconstrainedSignNetConfig(dim=4, nodes=5, eigenvectors=5).build().dim
        4
    """

    dim: int
    """Channels of a node's encoding."""

    nodes: int
    """Nodes of every graph, n."""

    eigenvectors: int
    """Columns of eigenvectors, k; those that a graph does not have count as zeros."""

    width: int = 64
    """Channels of the hidden layers, and of what phi makes of an eigenvector."""

    layers: int = 3
    """Linear layers of phi, and of rho."""

    normalize: bool = False
    """Whether hidden layers are normalized by the batch."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        check_integer("nodes", self.nodes)
        check_integer("eigenvectors", self.eigenvectors)
        check_integer("width", self.width)
        check_integer("layers", self.layers)

    def build(self) -> UnconstrainedSignNet:
        """Build it, with weights from torch's generator."""
        return UnconstrainedSignNet(self)


class UnconstrainedSignNet(nn.Module):
    """f = rho([phi(v_i, lambda_i) + phi(-v_i, lambda_i)]_i) with perceptrons on all entries of a vector.

    Signs do not matter; the order of nodes does. It is universal for data whose nodes have an order.

    Args:
        config: its settings.

    Source: Robinson (2023), eq. 7.5. Differs: rho gives a vector for each node, to have the interface of the
    others.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = UnconstrainedSignNetConfig(dim=4, nodes=3, eigenvectors=3).build()
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(self, config: UnconstrainedSignNetConfig) -> None:
        super().__init__()
        self.config, self.dim = config, config.dim
        hidden = [config.width] * (config.layers - 1)
        self.phi = MLP([config.nodes + 1, *hidden, config.width], normalize=config.normalize)
        side_by_side = config.eigenvectors * config.width
        self.rho = MLP([side_by_side, *hidden, config.nodes * config.dim], normalize=config.normalize)

    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes dim"]:
        """The encoding of each node; `x` and `edge_index` are not looked at.

        Raises:
            ValueError: for eigenpairs that do not fit the batch or are not finite, and for graphs or columns
                of another number than the network's.
        """
        batch, dtype = batch_of(batch, eigenvectors), next(self.parameters()).dtype
        check_eigenpairs(batch, eigenvectors, eigenvalues)
        expect_columns(eigenvectors, self.config.eigenvectors)
        sizes = set(torch.bincount(batch, minlength=len(eigenvalues)).tolist())
        if sizes != {self.config.nodes}:
            raise ValueError(
                f"expected graphs of {self.config.nodes} nodes, as this network was built for, got "
                f"{sorted(sizes)}"
            )
        vectors = eigenvectors.to(dtype).view(len(eigenvalues), self.config.nodes, -1).mT  # (graphs, k, n)
        signals = torch.stack([vectors, -vectors], dim=2)
        value = eigenvalues.to(dtype)[..., None, None].expand(-1, -1, 2, 1)
        encoded = self.phi(torch.cat([signals, value], dim=3)).sum(2)  # (graphs, k, width)
        there = exists(eigenvectors, batch, len(eigenvalues))
        encoded = encoded.where(there[..., None], 0.0)
        return self.rho(encoded.flatten(1)).view(len(batch), -1)
