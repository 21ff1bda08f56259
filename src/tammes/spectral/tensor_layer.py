"""All linear equivariant maps between tensors of any order, made from set partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.equivariant import weights
from tammes.spectral.nodes import Nodes
from tammes.spectral.set_partitions import bell, set_partitions


@dataclass(frozen=True, kw_only=True)
class Term:
    """One linear map: indices in one block of a partition are equal.

    Args:
        source: the block of each index of the input, numbered as they appear.
        kept: the blocks of the input that the output has, in the order of the output's; over the others
            the mean is taken.
        target: the block of each index of the output, numbered as they appear.
        filled: for each block of the output, whether it is one of those kept; the others are broadcast to.
    """

    source: tuple[int, ...]
    kept: tuple[int, ...]
    target: tuple[int, ...]
    filled: tuple[bool, ...]

    @classmethod
    def of(cls, blocks: Sequence[int], inputs: int) -> Term:
        """From a partition of the indices of the input followed by those of the output."""
        source, behind = tuple(blocks[:inputs]), blocks[inputs:]
        appearing = list(dict.fromkeys(behind))
        return cls(
            source=source,
            kept=tuple(block for block in appearing if block in source),
            target=tuple(appearing.index(block) for block in behind),
            filled=tuple(block in source for block in appearing),
        )


def terms_between(inputs: int, outputs: int) -> tuple[Term, ...]:
    """The basis of the linear equivariant maps of tensors of order `inputs` to order `outputs`.

    There are Bell(inputs + outputs) of them, and they are independent wherever there are at least as many
    nodes as indices.

    Source: Maron et al. (2019), Proposition 2.

    Example:
        >>> len(terms_between(2, 2)), len(terms_between(2, 1)), len(terms_between(3, 3))
        (15, 5, 203)
    """
    return tuple(Term.of(blocks, inputs) for blocks in set_partitions(inputs + outputs))


class TensorToTensor(nn.Module):
    """All linear equivariant maps between tensors of given orders, and all constant ones as biases.

    Each map is taken where it is smallest: the input is first reduced to the blocks that the output has,
    channels are mixed there, and results with equal indices are added up before they become a tensor.

    Args:
        orders: indices of the input and of the output.
        inputs: channels of the input.
        outputs: channels of the output.
        constants: numbers given with each tensor, which enter as the biases do.

    Raises:
        ValueError: for orders below 1, fewer than one channel, or fewer than no constants.

    Source: Maron et al. (2019). Differs: means over a graph's own nodes, not sums.

    Example:
        >>> from tammes.spectral import Nodes
        >>> layer = TensorToTensor((3, 1), 2, 5)
        >>> layer(torch.ones(1, 2, 4, 4, 4), Nodes(sizes=(4,))).shape
        torch.Size([1, 5, 4])
    """

    def __init__(self, orders: tuple[int, int], inputs: int, outputs: int, constants: int = 0) -> None:
        super().__init__()
        for name, count in (
            ("each order", orders[0]),
            ("each order", orders[1]),
            ("inputs", inputs),
            ("outputs", outputs),
        ):
            check_integer(name, count)
        check_integer("constants", constants, minimum=0)
        self.orders, self.outputs = orders, outputs
        self.terms = terms_between(*orders)
        self.patterns = tuple(set_partitions(orders[1]))
        number = len(self.terms) * inputs + bell(orders[1]) * constants
        self.weight = weights(len(self.terms), outputs, inputs, terms=number)
        self.constants = weights(len(self.patterns), outputs, constants, terms=number)
        self.bias = weights(len(self.patterns), outputs, terms=number)

    def forward(
        self,
        x: Float[Tensor, "batch inputs *widths"],
        nodes: Nodes,
        constants: Float[Tensor, "batch constants"] | None = None,
    ) -> Float[Tensor, "batch outputs *widths"]:
        """The sum of all maps; zeros where an index is no node. The input must have zeros there, too."""
        shape = (len(x), self.outputs, *[nodes.width] * self.orders[1])
        result = x.new_zeros(shape)
        reduced: dict[tuple[tuple[int, ...], tuple[int, ...]], Tensor] = {}
        for place, pattern in enumerate(self.patterns):
            bias = self.bias[place].expand(len(x), -1)
            if constants is not None:
                bias = bias + constants @ self.constants[place].T
            total = bias.reshape(*bias.shape, *[1] * (max(pattern) + 1))
            for weight, term in zip(self.weight, self.terms, strict=True):
                if term.target != pattern:
                    continue
                key = (term.source, term.kept)
                if key not in reduced:
                    reduced[key] = _reduced(x, term, nodes)
                mixed = torch.einsum("oc,bc...->bo...", weight, reduced[key])
                total = total + mixed[(..., *(slice(None) if each else None for each in term.filled))]
            _diagonal(result, pattern).add_(total)
        return nodes.masked(result)


def _diagonal(x: Tensor, blocks: tuple[int, ...]) -> Tensor:
    """The entries whose indices are equal within blocks, an index for each block, as a view."""
    labels = list(blocks)
    while len(set(labels)) < len(labels):
        first = next(place for place, label in enumerate(labels) if labels.count(label) > 1)
        label = labels.pop(first)
        second = labels.index(label)
        x = x.diagonal(dim1=2 + first, dim2=3 + second)
        labels.append(labels.pop(second))
    return x.permute(0, 1, *(2 + labels.index(label) for label in range(len(labels))))


def _reduced(x: Tensor, term: Term, nodes: Nodes) -> Tensor:
    """The input on the blocks that are kept, in their order; means over the others."""
    x = _diagonal(x, term.source)
    labels = list(range(x.dim() - 2))
    for label in labels[::-1]:
        if label not in term.kept:
            x = nodes.mean(x, dim=2 + label)
            labels.remove(label)
    return x.permute(0, 1, *(2 + labels.index(label) for label in term.kept))
