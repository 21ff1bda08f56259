"""Readout: a prediction for each graph from the channels of its nodes."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch_geometric.nn import global_add_pool, global_mean_pool

from tammes.checks import check_integer
from tammes.spectral.layers import MLP


class Readout(nn.Module):
    """Perceptron on the mean, or the sum, of a graph's nodes.

    Args:
        inputs: channels of a node.
        outputs: numbers of a graph.
        layers: number of linear layers, each with half the channels of the one before.
        sums: whether nodes are summed, instead of averaged.

    Raises:
        ValueError: for sizes below 1.

    Example:
        >>> import torch
        >>> Readout(8, 1)(torch.ones(3, 8), torch.tensor([0, 0, 1])).shape
        torch.Size([2, 1])
    """

    def __init__(self, inputs: int, outputs: int, *, layers: int = 3, sums: bool = False) -> None:
        super().__init__()
        check_integer("layers", layers)
        self.sums = sums
        self.mlp = MLP([inputs, *(max(1, inputs // 2**i) for i in range(1, layers)), outputs])

    def forward(
        self, h: Float[Tensor, "nodes inputs"], batch: Int[Tensor, " nodes"], graphs: int | None = None
    ) -> Float[Tensor, "graphs outputs"]:
        """Return the numbers of each graph.

        Args:
            h: channels of the nodes.
            batch: graph of each node, ascending.
            graphs: number of graphs; left out, one more than the last number in `batch`.

        Raises:
            ValueError: where there is not one row for each node of the batch.
        """
        if len(h) != len(batch):
            raise ValueError(f"expected a row for each of {len(batch)} nodes, got {len(h)}")
        pool = global_add_pool if self.sums else global_mean_pool
        return self.mlp(pool(h, batch, graphs))
