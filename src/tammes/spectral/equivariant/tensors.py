"""All linear equivariant maps between tensors of any order, generated from set partitions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.equivariant.ign import check_channels, uniform_weights
from tammes.spectral.equivariant.matrices import Nodes


def set_partitions(size: int) -> Iterator[tuple[int, ...]]:
    """Return all partitions of {0, ..., size - 1}, each as the block of every element.

    Blocks are numbered in order of appearance, so element 0 lies in block 0 and every partition comes
    once: `bell_number(size)` in all. The order is lexicographic.

    Args:
        size: number of elements; 0 has one partition, without blocks.

    Raises:
        ValueError: for a size that is not an integer of at least 0.

    Example:
        >>> list(set_partitions(3))
        [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """
    check_integer("size", size, minimum=0)
    return _partitions(size)


def _partitions(size: int) -> Iterator[tuple[int, ...]]:
    if size == 0:
        yield ()
        return
    for blocks in _partitions(size - 1):
        for block in range(max(blocks, default=-1) + 2):  # the last element joins a block, or opens a new one
            yield (*blocks, block)


def bell_number(size: int) -> int:
    """Return the number of partitions of a set.

        B_{n+1} = sum_k binomial(n, k) B_k        (n - k elements are in one block with the last)

    Args:
        size: number of elements.

    Raises:
        ValueError: for a size that is not an integer of at least 0.

    Example:
        >>> [bell_number(size) for size in range(7)]
        [1, 1, 2, 5, 15, 52, 203]
    """
    check_integer("size", size, minimum=0)
    numbers = [1]
    for n in range(size):
        numbers.append(sum(math.comb(n, k) * number for k, number in enumerate(numbers)))
    return numbers[size]


class TensorToTensor(nn.Module):
    """All linear equivariant maps between tensors of given orders, and all constant ones as biases.

    There is one map for each partition of the indices of input and output together, Bell(p + q) in all; they
    are independent on graphs with at least p + q nodes. Indices in one block are equal: a map takes the
    entries of the input whose indices are equal within blocks, averages them over the blocks that the output
    lacks, and broadcasts them along the blocks that the input lacks. It works on the smallest tensor
    possible: channels are mixed after the averages, and the results of one output pattern are summed before
    they are broadcast.

    Args:
        orders: number of indices of the input, p, and of the output, q.
        inputs: channels of the input.
        outputs: channels of the output.
        constants: numbers given with each tensor, which enter as the biases do.

    Raises:
        ValueError: for orders or channels below 1, or a negative number of constants.

    Source: Maron et al. (2019), Proposition 2. Differs: means over a graph's own nodes, not sums.

    Example:
        >>> from tammes.spectral import Nodes
        >>> layer = TensorToTensor((3, 1), 2, 5)
        >>> layer(torch.ones(1, 2, 4, 4, 4), Nodes(sizes=(4,))).shape
        torch.Size([1, 5, 4])
        >>> [len(TensorToTensor(orders, 1, 1).terms) for orders in ((2, 2), (2, 1), (3, 3))]
        [15, 5, 203]
    """

    def __init__(self, orders: tuple[int, int], inputs: int, outputs: int, constants: int = 0) -> None:
        super().__init__()
        for order in orders:
            check_integer("each order", order)
        check_channels(inputs, outputs, constants)
        self.orders, self.outputs = orders, outputs
        self.terms = tuple(set_partitions(sum(orders)))
        self.patterns = tuple(set_partitions(orders[1]))
        number = len(self.terms) * inputs + bell_number(orders[1]) * constants
        self.weight = uniform_weights(len(self.terms), outputs, inputs, terms=number)
        self.constants = uniform_weights(len(self.patterns), outputs, constants, terms=number)
        self.bias = uniform_weights(len(self.patterns), outputs, terms=number)

    @override
    def forward(
        self,
        x: Float[Tensor, "batch inputs *widths"],
        nodes: Nodes,
        constants: Float[Tensor, "batch constants"] | None = None,
    ) -> Float[Tensor, "batch outputs *output_widths"]:
        totals = {}  # of each pattern of equal indices of the output, with an index for each of its blocks
        for pattern, bias, by_constants in zip(self.patterns, self.bias, self.constants, strict=True):
            total = bias.expand(len(x), -1) if constants is None else bias + constants @ by_constants.T
            totals[pattern] = total.reshape(*total.shape, *[1] * (max(pattern) + 1))
        # Several maps share a reduction of the input and differ in where they put it.
        reduced: dict[tuple[tuple[int, ...], tuple[int, ...]], Tensor] = {}
        for weight, blocks in zip(self.weight, self.terms, strict=True):
            source, target = blocks[: self.orders[0]], blocks[self.orders[0] :]
            appearing = list(dict.fromkeys(target))
            kept = tuple(block for block in appearing if block in source)
            if (source, kept) not in reduced:
                reduced[source, kept] = _reduced(x, source, kept, nodes)
            mixed = torch.einsum("oc,bc...->bo...", weight, reduced[source, kept])
            broadcast = [slice(None) if block in source else None for block in appearing]
            pattern = tuple(appearing.index(block) for block in target)
            totals[pattern] = totals[pattern] + mixed[(..., *broadcast)]
        result = x.new_zeros(len(x), self.outputs, *[nodes.width] * self.orders[1])
        for pattern, total in totals.items():
            # A view of the entries whose indices are equal within blocks, with one index for each block.
            torch.einsum(result, [..., *pattern], [..., *range(max(pattern) + 1)]).add_(total)
        return nodes.masked(result)


def _reduced(x: Tensor, source: tuple[int, ...], kept: tuple[int, ...], nodes: Nodes) -> Tensor:
    """Return the entries whose indices are equal within blocks, on the kept blocks; means over the others."""
    total = torch.einsum(x, [..., *source], [..., *kept])
    lost = max(source) + 1 - len(kept)
    return total / nodes.counts.to(total.dtype).pow(lost).view(-1, *[1] * (total.dim() - 1))
