"""Set functions as tables, and everything about them by going through all subsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from hypothesis import strategies as st
from torch import Tensor

from tammes.extensions import BlackBox, Distribution, Listed, Sweep


def subsets(n: int) -> Tensor:
    """`(2^n, n)`: all indicator vectors; the i-th has the binary digits of i."""
    return (torch.arange(2**n)[:, None] >> torch.arange(n)) % 2 == 1


def number_of(sets: Tensor) -> Tensor:
    """The row of each indicator vector in `subsets`."""
    return (sets.long() << torch.arange(sets.shape[-1])).sum(-1)


def table(values: Tensor) -> BlackBox:
    """The set function on one input whose value for the i-th subset is the i-th entry."""
    n = (len(values) - 1).bit_length()
    return BlackBox(functions=(lambda sets: values[number_of(sets)],), sizes=(n,))


def tables(*values: Tensor) -> BlackBox:
    """One such function for each input."""
    parts = [table(each) for each in values]
    return BlackBox(
        functions=tuple(part.functions[0] for part in parts), sizes=tuple(part.sizes[0] for part in parts)
    )


def probabilities_by_set(p: Distribution) -> dict[int, Tensor]:
    """The probability of every set in the support, for one row and one input, with gradient."""
    found: dict[int, Tensor] = {}
    for support, probabilities in zip(p.supports, p.probabilities, strict=True):
        sets = _sets(support)
        for number, probability in zip(number_of(sets).tolist(), probabilities.flatten(), strict=True):
            found[number] = found.get(number, 0.0) + probability
    return found


def _sets(support: Sweep | Listed) -> Tensor:
    if isinstance(support, Listed):
        return support.members[0]
    return support.members(torch.arange(support.ground.widest))[0]


def pairs_of(p: Distribution, values: Tensor) -> Tensor:
    """Sum over S, T of p(S) p(T) f(S and T), written out."""
    found = probabilities_by_set(p)
    total = torch.zeros((), dtype=torch.float64)
    for (s, chance_s), (t, chance_t) in itertools.product(found.items(), repeat=2):
        total = total + chance_s * chance_t * values[s & t]
    return total


def random_table(n: int, seed: int) -> Tensor:
    """Numbers for all subsets of n elements, 0 for the empty one."""
    values = torch.randn(2**n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    values[0] = 0.0
    return values


def random_submodular(n: int, seed: int) -> Tensor:
    """A cut of a weighted graph, plus a concave function of the size, plus a modular one."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.rand(n, n, dtype=torch.float64, generator=generator)
    slopes = torch.rand(n, dtype=torch.float64, generator=generator).sort(descending=True).values
    each = torch.randn(n, dtype=torch.float64, generator=generator)
    sets = subsets(n).double()
    cut = torch.einsum("si,ij,sj->s", sets, weight + weight.T, 1 - sets)
    concave = torch.cat([torch.zeros(1, dtype=torch.float64), slopes.cumsum(0)])
    return cut + concave[sets.sum(1).long()] + sets @ each


def is_submodular(values: Tensor) -> bool:
    """f(S) + f(T) >= f(S or T) + f(S and T) for all S and T."""
    numbers = torch.arange(len(values))
    s, t = numbers[:, None], numbers[None, :]
    return bool((values[s] + values[t] >= values[s | t] + values[s & t] - 1e-9).all())


def involutions(n: int) -> Iterator[tuple[int, ...]]:
    """All permutations of n elements that are their own inverse."""
    for order in itertools.permutations(range(n)):
        if all(order[order[i]] == i for i in range(n)):
            yield order


@st.composite
def vectors(draw: st.DrawFn, most: int = 8, ties: bool = True) -> Tensor:
    """X in [0, 1]^n of float64, at times with equal entries, zeros and ones."""
    n = draw(st.integers(1, most))
    seed = draw(st.integers(0, 2**31))
    x = torch.rand(n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    if ties and draw(st.booleans()):
        x = (x * 4).round() / 4
    return x


seeds = st.integers(0, 2**31)
