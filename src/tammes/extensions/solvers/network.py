"""The network of the solvers: attention once, then gated graph convolutions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.extensions.graphs import Graphs
from tammes.extensions.solvers.attention import Attention
from tammes.extensions.solvers.gated_convolutions import GatedConvolutions


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """What a `SolverNetwork` is determined by.

    Args:
        width: features of a node within the network; the paper tries 64, 128 and 256.
        layers: gated graph convolutions; the paper tries 6, 10 and 16.
        noise: random features of a node beside its degree, drawn anew at each call; the paper has none. With
            none, nodes that a symmetry of the graph maps to each other cannot be told apart.

    Raises:
        ValueError: for fewer than one feature or layer, or a negative number of random features.
    """

    width: int = 64
    layers: int = 6
    noise: int = 0

    def __post_init__(self) -> None:
        if self.width < 1 or self.layers < 1 or self.noise < 0:
            raise ValueError(
                f"expected width and layers of at least 1 and noise of at least 0, got width={self.width}, "
                f"layers={self.layers}, noise={self.noise}"
            )


class SolverNetwork(nn.Module):
    """From graphs to numbers for each node: degree -> GAT -> gated graph convolutions -> linear layers.

    A node begins with its part of its graph's degrees. Where nothing random is added, nodes that color
    refinement does not tell apart have the same numbers, which are computed once: see `EquitablePartition`.
    The initial weights are drawn from torch's generator.

    Args:
        config: its size.
        scalar: whether a node gets one number, instead of an embedding of `width`.
        generator: what random features are drawn with; needed where the config asks for some.

    Raises:
        ValueError: where random features are asked for without a generator.

    Source: Robinson (2023), section 8.5.1 and F.6; layers, features and their order as in the published code.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> SolverNetwork(NetworkConfig(width=8, layers=2), scalar=False)(graph).shape
        torch.Size([3, 8])
    """

    def __init__(
        self, config: NetworkConfig, *, scalar: bool, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        if config.noise and generator is None:
            raise ValueError(f"noise={config.noise} random features need a generator to be drawn with")
        width = config.width
        self.noise = config.noise
        self.generator = generator
        self.attend = Attention(1 + config.noise, width)
        self.gated = GatedConvolutions(width, config.layers)
        self.embed = nn.Linear(width, width)
        self.score = nn.Linear(width, 1) if scalar else None

    def forward(self, graphs: Graphs) -> Float[Tensor, "total outputs"]:
        """Embeddings `(total, width)`, or one number each, `(total, 1)`, any real number."""
        partition = graphs.singletons if self.noise else graphs.partition
        x = self._features(graphs).index_select(0, partition.representative)
        x = nn.functional.leaky_relu(self.attend(x, partition))
        x = nn.functional.leaky_relu(self.gated(x, partition)) + x
        x = self.embed(x)
        if self.score is not None:
            x = self.score(nn.functional.leaky_relu(x))
        return x.index_select(0, partition.cell)

    def _features(self, graphs: Graphs) -> Tensor:
        degree = graphs.degree.to(self.embed.weight.dtype)
        all_degrees = graphs.ground.sum(degree).clamp(min=1)[graphs.ground.owner]
        part = (degree / all_degrees)[:, None]
        if not self.noise:
            return part
        drawn = torch.randn(
            len(part), self.noise, generator=self.generator, dtype=part.dtype, device=part.device
        )
        return torch.cat([part, drawn], dim=1)
