"""The combinatorial problems that come with the package, on graphs and covers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tammes.extensions.conflicts import largest_clique, largest_without
from tammes.extensions.coverage import CoverageFunction, Covers
from tammes.extensions.formulas import CliqueDensity, CutSize, Formula, GraphFunction, IndependenceDensity
from tammes.extensions.graphs import Graphs
from tammes.extensions.integer_program import Answer, Program
from tammes.extensions.problem import Problem
from tammes.extensions.set_function import SetFunction
from tammes.extensions.solution_cache import key_of
from tammes.extensions.worths import CliqueWorth, CutWorth, IndependentWorth, LargeCliqueWorth


@dataclass(frozen=True, eq=False, kw_only=True)
class MaximumClique(Problem):
    """The largest set of nodes that are all neighbors of each other.

    Args:
        graphs: the inputs.
        formula: what is minimized: the paper's surrogate, or `CliquePenalty`, which is exact.

    Example:
        >>> import torch
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> MaximumClique(graphs=graph).exact(0).members
        (0, 1, 2)
    """

    graphs: Graphs
    formula: Formula = field(default_factory=CliqueDensity)

    @property
    def objective(self) -> SetFunction:
        """See `Problem.objective`."""
        return GraphFunction(graphs=self.graphs, formula=self.formula)

    @property
    def worth(self) -> SetFunction:
        """See `Problem.worth`."""
        return GraphFunction(graphs=self.graphs, formula=CliqueWorth())

    def key(self, number: int) -> str:
        """See `Problem.key`."""
        return key_of("clique", self.graphs.ground.sizes[number], self.graphs.pairs(number))

    def exact(self, number: int, seconds: float = math.inf) -> Answer:
        """See `Problem.exact`."""
        return largest_clique(self.graphs.neighbors(number), seconds)


@dataclass(frozen=True, eq=False, kw_only=True)
class CliqueOfSize(Problem):
    """Whether there is a clique of k nodes or more: worth 1 or 0.

    Args:
        graphs: the inputs.
        k: at least 1.
        formula: what is minimized.

    Raises:
        ValueError: for a k that is no positive integer.
    """

    graphs: Graphs
    k: int
    formula: Formula = field(default_factory=CliqueDensity)

    def __post_init__(self) -> None:
        _expect_count(self.k)

    @property
    def objective(self) -> SetFunction:
        """See `Problem.objective`."""
        return GraphFunction(graphs=self.graphs, formula=self.formula)

    @property
    def worth(self) -> SetFunction:
        """See `Problem.worth`."""
        return GraphFunction(graphs=self.graphs, formula=LargeCliqueWorth(k=self.k))

    @property
    def guide(self) -> SetFunction:
        """See `Problem.guide`: the size of a clique."""
        return GraphFunction(graphs=self.graphs, formula=CliqueWorth())

    def key(self, number: int) -> str:
        """See `Problem.key`."""
        return key_of(f"clique of {self.k}", self.graphs.ground.sizes[number], self.graphs.pairs(number))

    def exact(self, number: int, seconds: float = math.inf) -> Answer:
        """See `Problem.exact`."""
        largest = MaximumClique(graphs=self.graphs).exact(number, seconds)
        return Answer(
            worth=float(largest.worth >= self.k),
            bound=float(largest.bound >= self.k),
            members=largest.members,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MaximumIndependentSet(Problem):
    """The largest set of nodes no two of which are neighbors.

    Args:
        graphs: the inputs.
        formula: what is minimized: the paper's surrogate, or `IndependencePenalty`, which is exact.

    Example:
        >>> import torch
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> MaximumIndependentSet(graphs=graph).exact(0).worth
        2.0
    """

    graphs: Graphs
    formula: Formula = field(default_factory=IndependenceDensity)

    @property
    def objective(self) -> SetFunction:
        """See `Problem.objective`."""
        return GraphFunction(graphs=self.graphs, formula=self.formula)

    @property
    def worth(self) -> SetFunction:
        """See `Problem.worth`."""
        return GraphFunction(graphs=self.graphs, formula=IndependentWorth())

    def key(self, number: int) -> str:
        """See `Problem.key`."""
        return key_of("independent set", self.graphs.ground.sizes[number], self.graphs.pairs(number))

    def exact(self, number: int, seconds: float = math.inf) -> Answer:
        """See `Problem.exact`."""
        return largest_without(self.graphs.neighbors(number), seconds)


@dataclass(frozen=True, eq=False, kw_only=True)
class MaximumCut(Problem):
    """The set with the most edges between it and the rest.

    Args:
        graphs: the inputs.

    Example:
        >>> import torch
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> MaximumCut(graphs=graph).exact(0).worth
        3.0
    """

    graphs: Graphs

    @property
    def objective(self) -> SetFunction:
        """See `Problem.objective`."""
        return GraphFunction(graphs=self.graphs, formula=CutSize())

    @property
    def worth(self) -> SetFunction:
        """See `Problem.worth`."""
        return GraphFunction(graphs=self.graphs, formula=CutWorth())

    def key(self, number: int) -> str:
        """See `Problem.key`."""
        return key_of("cut", self.graphs.ground.sizes[number], self.graphs.pairs(number))

    def exact(self, number: int, seconds: float = math.inf) -> Answer:
        """See `Problem.exact`: an edge counts at most x_u + x_v and 2 - x_u - x_v."""
        pairs, nodes = self.graphs.pairs(number), self.graphs.ground.sizes[number]
        rows: list[list[tuple[int, float]]] = []
        limits = []
        for edge, (first, second) in enumerate(pairs):
            rows.append([(nodes + edge, 1.0), (first, -1.0), (second, -1.0)])
            rows.append([(nodes + edge, 1.0), (first, 1.0), (second, 1.0)])
            limits += [0.0, 2.0]
        gain = [0.0] * nodes + [1.0] * len(pairs)
        found = Program(gain=gain, rows=rows, limits=limits, elements=nodes).solve(seconds)
        if found is None:
            return Answer(worth=0.0, bound=float(len(pairs)), members=())
        return found.rounded()


@dataclass(frozen=True, eq=False, kw_only=True)
class MaximumCoverage(Problem):
    """At most k elements that cover the most.

    The objective is f(S) = -(things that S covers) + (1 + largest) * max(0, |S| - k), least exactly for the
    best choices: of too many elements, any one uncovers at most the `largest` number that one covers.

    Args:
        covers: who covers what.
        k: how many elements may be chosen, at least 1.

    Raises:
        ValueError: for a k that is no positive integer.

    Example:
        >>> import torch
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> MaximumCoverage(covers=Covers.neighborhoods(graph), k=1).exact(0).members
        (2,)
    """

    covers: Covers
    k: int

    def __post_init__(self) -> None:
        _expect_count(self.k)

    @property
    def objective(self) -> SetFunction:
        """See `Problem.objective`."""
        price = 1 + self.covers.largest

        def loss(covered: Tensor, size: Tensor) -> Tensor:
            return price * (size - self.k).clamp(min=0) - covered

        return CoverageFunction(covers=self.covers, score=loss)

    @property
    def worth(self) -> SetFunction:
        """See `Problem.worth`."""

        def allowed(covered: Tensor, size: Tensor) -> Tensor:
            return covered.masked_fill(size > self.k, -torch.inf)

        return CoverageFunction(covers=self.covers, score=allowed)

    def key(self, number: int) -> str:
        """See `Problem.key`."""
        return key_of(f"coverage by {self.k}", self.ground.sizes[number], self._incidence(number))

    def exact(self, number: int, seconds: float = math.inf) -> Answer:
        """See `Problem.exact`: a thing counts at most the number of those chosen that cover it."""
        elements = self.ground.sizes[number]
        by: dict[int, list[int]] = {}
        for element, thing in self._incidence(number):
            by.setdefault(thing, []).append(element)
        rows = [[(element, 1.0) for element in range(elements)]]
        for place, covering in enumerate(by.values()):
            rows.append([(elements + place, 1.0), *((element, -1.0) for element in covering)])
        limits = [float(self.k)] + [0.0] * len(by)
        gain = [0.0] * elements + [1.0] * len(by)
        found = Program(gain=gain, rows=rows, limits=limits, elements=elements).solve(seconds)
        if found is None:
            return Answer(worth=0.0, bound=float(len(by)), members=())
        return found.rounded()

    def _incidence(self, number: int) -> list[tuple[int, int]]:
        element, thing = self.covers.incidence
        own = self.ground.owner[element] == number
        start = int(self.ground.offsets[number])
        place = thing[own].unique(return_inverse=True)[1]  # the same number in whichever batch it comes
        return list(zip((element[own] - start).tolist(), place.tolist(), strict=True))


def _expect_count(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ValueError(f"k must be an integer of at least 1, got {k!r}")
