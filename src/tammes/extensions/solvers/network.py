"""The network of the solvers: attention once, then gated graph convolutions."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.extensions.graphs import Graphs
from tammes.extensions.solvers.layers import Attention, GatedConvolutions


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Size of a `SolverNetwork`.

    Args:
        width: number of features of a node, at least 1; the paper tries 64, 128 and 256.
        layers: number of gated graph convolutions, at least 1; the paper tries 6, 10 and 16.
        noise: number of random features of a node beside its degree, drawn at each call; the paper has none.
            With none, nodes that a symmetry of the graph maps to each other have the same outputs.

    Raises:
        ValueError: for fewer than one feature or layer, or a negative number of random features.
    """

    width: int = 64
    layers: int = 6
    noise: int = 0

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_integer("noise", self.noise, minimum=0)


class SolverNetwork(nn.Module):
    """Network from graphs to outputs of each node: degree, GAT, gated graph convolutions, linear layers.

    The input of a node is its degree, divided by the sum of all degrees of its graph. Without random
    features, nodes that color refinement does not tell apart have the same outputs, which are computed once:
    see `EquitablePartition`. The initial weights are drawn from torch's global generator.

    Args:
        config: size of the network.
        scalar: whether the output of a node is one number, instead of an embedding of `width` numbers.
        generator: random generator of the random features; required if `config.noise` is above 0.

    Raises:
        ValueError: if `config.noise` is above 0 and there is no generator.

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
            raise ValueError(f"noise={config.noise} random features need a generator")
        width = config.width
        self.noise = config.noise
        self.generator = generator
        self.attend = Attention(1 + config.noise, width)
        self.gated = GatedConvolutions(width, config.layers)
        self.embed = nn.Linear(width, width)
        self.score = nn.Linear(width, 1) if scalar else None

    def forward(self, graphs: Graphs) -> Float[Tensor, "total outputs"]:
        """Return embeddings `(total, width)`, or one number for each node, `(total, 1)`, any real numbers."""
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
