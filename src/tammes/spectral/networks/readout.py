"""From the nodes of a graph to numbers for it."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.layers import MLP
from tammes.spectral.networks.convolutions import global_add_pool, global_mean_pool


class Readout(nn.Module):
    """MLP of the mean, or the sum, of a graph's nodes.

    Arguments are those of `ReadoutConfig`, and the channels of a node and of the output.
    """

    def __init__(self, *, inputs: int, outputs: int, layers: int, sums: bool) -> None:
        super().__init__()
        self.sums = sums
        self.mlp = MLP([inputs, *(max(1, inputs // 2**i) for i in range(1, layers)), outputs])

    def forward(
        self, h: Float[Tensor, "nodes inputs"], batch: Int[Tensor, " nodes"], graphs: int | None = None
    ) -> Float[Tensor, "graphs outputs"]:
        """The numbers of each graph.

        Args:
            h: channels of the nodes.
            batch: the graph of each node, ascending.
            graphs: how many there are; left out, one more than the last number in `batch`.

        Raises:
            ValueError: where there is not one row for each node of the batch.
        """
        if len(h) != len(batch):
            raise ValueError(f"expected a row for each of {len(batch)} nodes, got {len(h)}")
        pool = global_add_pool if self.sums else global_mean_pool
        return self.mlp(pool(h, batch, graphs))


@dataclass(frozen=True, kw_only=True)
class ReadoutConfig:
    """Settings of a `Readout`.

    Raises:
        ValueError: for a number of layers below 1.

    Example:
        >>> import torch
        >>> readout = ReadoutConfig().build(8, 1)
        >>> readout(torch.ones(3, 8), torch.tensor([0, 0, 1])).shape
        torch.Size([2, 1])
    """

    layers: int = 3
    """Linear layers, each with half the channels of the one before."""

    sums: bool = False
    """Whether nodes are added up, instead of averaged."""

    def __post_init__(self) -> None:
        check_integer("layers", self.layers)

    def build(self, inputs: int, outputs: int) -> Readout:
        """Build it from and to so many channels, with weights from torch's generator."""
        return Readout(inputs=inputs, outputs=outputs, layers=self.layers, sums=self.sums)
