"""The network of the solvers: attention once, then gated graph convolutions, on an equitable partition."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import leaky_relu

from tammes.checks import check_integer
from tammes.extensions.graphs import EquitablePartition, Graphs
from tammes.listed_sum import listed_sum

SLOPE = 0.2
"""Negative slope of the leaky ReLU of attention."""


class Attention(nn.Module):
    """Graph attention: x_i := W sum_j a_ij x_j + b, over node i itself and its neighbors j.

        a_ij = softmax_j leaky_relu(u . W x_j + v . W x_i)

    It equals torch_geometric's `GATConv` with one head. Means are taken before W is applied: of a few input
    features instead of many. There is one node for each cell of an equitable partition, and a neighboring
    cell counts once for each neighbor in it.

    Args:
        features: number of input features of a node.
        width: number of output features of a node.

    Source: Veličković et al., Graph Attention Networks, 2018, as torch_geometric has it.

    Example:
        >>> from tammes.extensions import Graphs
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> Attention(features=1, width=4)(torch.ones(3, 1), graph.singletons).shape
        torch.Size([3, 4])
    """

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.of_sender = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.of_receiver = nn.Parameter(nn.init.xavier_uniform_(torch.empty(1, width)))
        self.bias = nn.Parameter(torch.zeros(width))
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, features)))

    def forward(
        self, x: Float[Tensor, "cells d"], partition: EquitablePartition
    ) -> Float[Tensor, "cells width"]:
        """Return the new features of a node of each cell."""
        # u . W x = (u W) x: one product of x with two vectors gives both parts of the logits.
        sender, receiver = (x @ (torch.cat([self.of_sender, self.of_receiver]) @ self.weight).T).unbind(1)
        to_node, from_node = partition.links
        logits = leaky_relu(sender.index_select(0, from_node) + receiver.index_select(0, to_node), SLOPE)
        own = leaky_relu(sender + receiver, SLOPE)
        # Exponentials are at most 1, by the largest logit that each node receives.
        most = own.detach().scatter_reduce(0, to_node, logits.detach(), "amax")
        share = (logits - most.index_select(0, to_node)).exp() * partition.count
        share_of_own = (own - most).exp()
        mass = share_of_own.index_add(0, to_node, share)
        # Softmax and mean in one: the weighted sum, divided by the sum of the weights.
        seen = share * x.T.index_select(1, from_node)  # (features, arcs)
        mean = (share_of_own * x.T).scatter_add(1, to_node.expand_as(seen), seen) / mass
        return torch.addmm(self.bias, mean.T, self.weight.T)


class GatedConvolutions(nn.Module):
    """Gated graph convolutions: x := GRU(x, sum over neighbors of W_l x), for each layer l.

    They equal torch_geometric's `GatedGraphConv`. Neighbors are summed before they are multiplied, and by one
    matrix, the product of W_l and the GRU's input weights: A (x W_l) W' = (A x) (W_l W'). There is one node
    for each cell of an equitable partition, and A counts its neighbors in each cell.

    Args:
        width: number of features of a node.
        layers: number of layers.

    Source: Li et al. (2016), as torch_geometric has it; its weights can be loaded.

    Example:
        >>> from tammes.extensions import Graphs
        >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
        >>> GatedConvolutions(width=4, layers=2)(torch.randn(3, 4), graph.singletons).shape
        torch.Size([3, 4])
    """

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        bound = width**-0.5
        self.weight = nn.Parameter(torch.empty(layers, width, width).uniform_(-bound, bound))
        self.rnn = nn.GRUCell(width, width)

    def forward(self, x: Float[Tensor, "cells d"], partition: EquitablePartition) -> Float[Tensor, "cells d"]:
        """Return the features of a node of each cell after all layers."""
        rnn = self.rnn
        for by_message in self.weight @ rnn.weight_ih.T:
            message = listed_sum(x, *partition.neighbors)
            x = torch.gru_cell(message, x, by_message.T, rnn.weight_hh, rnn.bias_ih, rnn.bias_hh)
        return x


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

    def __init__(self, config: NetworkConfig, *, scalar: bool, generator: Generator | None = None) -> None:
        super().__init__()
        if config.noise and generator is None:
            raise ValueError(f"noise={config.noise} random features need a generator")
        width = config.width
        self.noise, self.generator = config.noise, generator
        self.attend = Attention(1 + config.noise, width)
        self.gated = GatedConvolutions(width, config.layers)
        self.embed = nn.Linear(width, width)
        self.score = nn.Linear(width, 1) if scalar else None

    def forward(self, graphs: Graphs) -> Float[Tensor, "total outputs"]:
        """Return embeddings `(total, width)`, or one number for each node, `(total, 1)`, any real numbers."""
        partition = graphs.singletons if self.noise else graphs.partition
        x = self._features(graphs).index_select(0, partition.representative)
        x = leaky_relu(self.attend(x, partition))
        x = self.embed(leaky_relu(self.gated(x, partition)) + x)
        if self.score is not None:
            x = self.score(leaky_relu(x))
        return x.index_select(0, partition.cell)

    def _features(self, graphs: Graphs) -> Tensor:
        degree = graphs.degree.to(self.embed.weight.dtype)
        all_degrees = graphs.ground.sum(degree).clamp(min=1)[graphs.ground.owner]
        part = (degree / all_degrees)[:, None]
        drawn = part.new_empty(len(part), self.noise).normal_(generator=self.generator)
        return torch.cat([part, drawn], dim=1)
