"""The network of the solvers: attention once, then gated graph convolutions, on an equitable partition."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tammes.checks import check_integer
from tammes.extensions.graphs import EquitablePartition, Graphs

SLOPE = 0.2
"""Negative slope of the leaky ReLU of attention."""
# Derivatives from the values of the functions, in one pass over memory each.
sigmoid_backward, tanh_backward = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward


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
        self, x: Float[Tensor, "cells features"], partition: EquitablePartition
    ) -> Float[Tensor, "cells width"]:
        """Return the new features of a node of each cell."""
        # u . W x = (u W) x: one product of x with two vectors gives both parts of the logits.
        sender, receiver = (x @ (torch.cat([self.of_sender, self.of_receiver]) @ self.weight).T).unbind(1)
        to_node, from_node = partition.links
        logits = nn.functional.leaky_relu(
            sender.index_select(0, from_node) + receiver.index_select(0, to_node), SLOPE
        )
        own = nn.functional.leaky_relu(sender + receiver, SLOPE)
        # Exponentials are at most 1, by the largest logit that each node receives.
        with torch.no_grad():
            most = own.scatter_reduce(0, to_node, logits, "amax")
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
    matrix, the product of W_l and the GRU's input weights: A (x W_l) W' = (A x) (W_l W'). The sum is a sparse
    matrix product. There is one node for each cell of an equitable partition, and A is its quotient matrix.

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

    def forward(
        self, x: Float[Tensor, "cells width"], partition: EquitablePartition
    ) -> Float[Tensor, "cells width"]:
        """Return the features of a node of each cell after all layers."""
        width = x.shape[1]
        # The gates' columns stand in the order n, r, z for what neighbors send, and r, z, n for a node's own.
        by_message = (self.weight @ self.rnn.weight_ih.T).roll(width, dims=2)
        sent, own = self.rnn.bias_ih.split([2 * width, width]), self.rnn.bias_hh.split([2 * width, width])
        bias = torch.cat([sent[1], sent[0] + own[0], own[1]])
        by_state, size = self.rnn.weight_hh.T, partition.size.to(x.dtype)[:, None]
        quotient = partition.quotient.to(x.dtype)
        state: Tensor = _Gated.apply(x, by_message, by_state, bias, quotient, size)  # type: ignore[no-untyped-call]
        return state


class _Gated(torch.autograd.Function):
    """All layers: x := n + z (x - n), r, z = sigmoid(s C_l + x H + b), n = tanh(s C_l + b + r (x H + b')).

    s = A x is the sum over neighbors. The blocks n, r, z, n' of s C_l and x H lie side by side: s C_l fills
    n, r, z and x H adds r, z, n', so that each is one product, and so are their derivatives. The derivatives
    of all layers share their memory: touching new memory costs more than these operations. The derivative of
    A x is a product with A' = D A D^-1, D the sizes of the cells; torch would transpose A at each call.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        by_message: Tensor,
        by_state: Tensor,
        bias: Tensor,
        quotient: Tensor,
        size: Tensor,
    ) -> Tensor:
        width = x.shape[1]
        steps = []
        for by_this in by_message:
            message = quotient @ x
            gates = bias.expand(len(x), -1).clone()  # (cells, 4 width)
            gates[:, : 3 * width].addmm_(message, by_this)
            gates[:, width:].addmm_(x, by_state)
            new, reset, update, own = gates.split(width, dim=1)
            gates[:, width : 3 * width].sigmoid_()
            new.addcmul_(reset, own).tanh_()
            steps += [x, message, gates]
            x = torch.lerp(new, x, update)
        ctx.save_for_backward(by_message, by_state, size, *steps)
        ctx.quotient = quotient
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None]:
        by_message, by_state, size, *steps = ctx.saved_tensors
        width = gradient.shape[1]
        of_by_message, of_by_state = torch.empty_like(by_message), torch.zeros_like(by_state)
        back = torch.empty_like(steps[-1])
        of_bias = back.new_zeros(4 * width)
        of_new, of_reset, of_update, of_own = back.split(width, dim=1)
        by_sent, by_own = back[:, : 3 * width], back[:, width:]
        of_next, of_x, some = gradient.clone(), torch.empty_like(gradient), torch.empty_like(gradient)
        for layer in reversed(range(len(by_message))):
            x, message, gates = steps[3 * layer : 3 * layer + 3]
            new, reset, update, own = gates.split(width, dim=1)
            # x_next = n + z (x - n): z to x, 1 - z to n, x - n to z. Then through n, r and z.
            torch.mul(of_next, update, out=of_x)
            tanh_backward(torch.sub(of_next, of_x, out=some), new, grad_input=of_new)
            torch.mul(of_new, reset, out=of_own)
            sigmoid_backward(torch.mul(of_new, own, out=some), reset, grad_input=of_reset)
            torch.sub(x, new, out=some).mul_(of_next)
            sigmoid_backward(some, update, grad_input=of_update)
            torch.mm(message.T, by_sent, out=of_by_message[layer])
            of_by_state.addmm_(x.T, by_own)
            of_bias += back.sum(0)
            of_x.addmm_(by_own, by_state.T)
            torch.mm(by_sent, by_message[layer].T, out=some).div_(size)
            # A' g = D A (D^-1 g)
            torch.addcmul(of_x, ctx.quotient @ some, size, out=of_next)
        return of_next, of_by_message, of_by_state, of_bias, None, None


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
        drawn = part.new_empty(len(part), self.noise).normal_(generator=self.generator)
        return torch.cat([part, drawn], dim=1)
