"""Combinatorial problems: objectives and scores of sets, with exact solvers."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.extensions.conflicts import largest_clique, largest_without
from tammes.extensions.functions.counts import Counts
from tammes.extensions.functions.coverage import Coverage, Covers
from tammes.extensions.functions.formulas import (
    CliqueDensity,
    Formula,
    GraphFunction,
    IndependenceDensity,
    clique_size,
    cut_size,
    independent_set_size,
)
from tammes.extensions.functions.set_function import SetFunction
from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import GroundSet, Members, Order
from tammes.extensions.integer_program import Answer, Program, SolutionCache, key_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Search for the set with the highest score in each input of a batch, by descending on an objective.

    A problem of yours needs `objective` and `score`, and `solver` and `key` if it has exact answers.

    Args:
        objective: set function that is minimized.
        score: set function, higher is better; minus infinity for sets that are not allowed.
        guide: set function that decides whether a set grows by an element; `score` unless given. It is of use
            where all small sets have the same score. Of two sets, the one with the higher guide must not have
            the lower score.
        solver: exact solver, from the index of an input and a time limit in seconds.
        key: name of the exact problem of an input, from its index; equal problems have equal names.

    Example:
        >>> from tammes.extensions import GraphFunction, Graphs, clique_penalty, clique_size
        >>> graphs = Graphs.of(torch.tensor([[0], [1]]), sizes=(3,))
        >>> problem = Problem(
        ...     objective=GraphFunction(graphs=graphs, formula=clique_penalty()),
        ...     score=GraphFunction(graphs=graphs, formula=clique_size),
        ... )
        >>> problem.score.values(torch.tensor([True, True, False])).item()
        2.0
    """

    objective: SetFunction
    score: SetFunction
    guide: SetFunction | None = None
    solver: Callable[[int, float], Answer] | None = None
    key: Callable[[int], str] | None = None

    @property
    def ground(self) -> GroundSet:
        """Ground sets of the inputs."""
        return self.score.ground

    def grow(self, order: Order, members: Members | None = None) -> Members:
        """Return sets grown greedily: each element in its turn is added if the guide is higher with it.

        Args:
            order: elements of each input in their order.
            members: sets to begin with, which must be allowed; the empty sets unless given.

        Source: Robinson (2023), F.6.3: how Erdős goes neural decodes, in order of falling probability.

        Example:
            >>> from tammes.extensions import Graphs, maximum_independent_set
            >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
            >>> maximum_independent_set(graph).grow(torch.tensor([2, 1, 0])).tolist()
            [True, False, True]
        """
        return (self.guide or self.score).grow(order, members)

    def exact(self, index: int, seconds: float = math.inf) -> Answer:
        """Return the best set of one input, with a bound if the seconds do not suffice for a proof.

        Raises:
            ValueError: if the problem has no exact solver.
        """
        if self.solver is None:
            raise ValueError("this problem has no exact answers: give it a solver and a key")
        return self.solver(index, seconds)


def exact_answers(
    problem: Problem, *, cache: SolutionCache | None = None, seconds: float = math.inf
) -> list[Answer]:
    """Return the exact answer of every input, with its time; answers in the cache are not solved again.

    Args:
        problem: problem with an exact solver and a key.
        cache: file of known answers, to which new ones are added; none unless given.
        seconds: time limit for each input, after which its best set so far and a bound are returned.

    Raises:
        ValueError: if the problem has no exact solver or no key.
    """
    if problem.solver is None or problem.key is None:
        raise ValueError("this problem has no exact answers: give it a solver and a key")
    cache = cache or SolutionCache()
    known = cache.load()
    new: dict[str, Answer] = {}
    keys = [problem.key(index) for index in range(problem.ground.inputs)]
    for index, key in enumerate(keys):
        if key not in known:
            started = time.perf_counter()
            answer = problem.exact(index, seconds)
            known[key] = new[key] = replace(answer, seconds=time.perf_counter() - started)
    cache.add(new)
    return [known[key] for key in keys]


def maximum_clique(graphs: Graphs, formula: Formula | None = None) -> Problem:
    """Return the search for the largest set of nodes that are all neighbors of each other.

    Args:
        graphs: the inputs.
        formula: objective; the paper's surrogate `CliqueDensity()` unless given. `clique_penalty()` is exact.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> maximum_clique(graph).exact(0).members
        (0, 1, 2)
    """
    return Problem(
        objective=GraphFunction(graphs=graphs, formula=formula or CliqueDensity()),
        score=GraphFunction(graphs=graphs, formula=clique_size),
        solver=lambda index, seconds: largest_clique(graphs.neighbors(index), seconds),
        key=lambda index: key_of("clique", graphs.ground.sizes[index], graphs.pairs(index)),
    )


def clique_of_size(graphs: Graphs, k: int, formula: Formula | None = None) -> Problem:
    """Return the search for a clique of k nodes or more: its score is 1, that of other sets 0.

    Args:
        graphs: the inputs.
        k: number of nodes, at least 1.
        formula: objective; the paper's surrogate `CliqueDensity()` unless given.

    Raises:
        ValueError: for a k that is no positive integer.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> clique_of_size(graph, k=4).exact(0).score
        0.0
    """
    check_integer("k", k)

    def is_large_clique(counts: Counts) -> Float[Tensor, "..."]:
        return (clique_size(counts) >= k).to(counts.size.dtype)

    clique = maximum_clique(graphs, formula)

    def solve(index: int, seconds: float) -> Answer:
        largest = clique.exact(index, seconds)
        return replace(largest, score=float(largest.score >= k), bound=float(largest.bound >= k))

    return Problem(
        objective=clique.objective,
        score=GraphFunction(graphs=graphs, formula=is_large_clique),
        guide=clique.score,
        solver=solve,
        key=lambda index: key_of(f"clique of {k}", graphs.ground.sizes[index], graphs.pairs(index)),
    )


def maximum_independent_set(graphs: Graphs, formula: Formula | None = None) -> Problem:
    """Return the search for the largest set of nodes no two of which are neighbors.

    Args:
        graphs: the inputs.
        formula: objective; the paper's surrogate `IndependenceDensity()` unless given.
            `independence_penalty()` is exact.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> maximum_independent_set(graph).exact(0).score
        2.0
    """
    return Problem(
        objective=GraphFunction(graphs=graphs, formula=formula or IndependenceDensity()),
        score=GraphFunction(graphs=graphs, formula=independent_set_size),
        solver=lambda index, seconds: largest_without(graphs.neighbors(index), seconds),
        key=lambda index: key_of("independent set", graphs.ground.sizes[index], graphs.pairs(index)),
    )


def maximum_cut(graphs: Graphs) -> Problem:
    """Return the search for the set with the most edges between it and the rest.

    Args:
        graphs: the inputs.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> maximum_cut(graph).exact(0).score
        3.0
    """

    def solve(index: int, seconds: float) -> Answer:
        pairs, nodes = graphs.pairs(index), graphs.ground.sizes[index]
        # An edge (u, v) is cut: z <= x_u + x_v and z <= 2 - x_u - x_v.
        rows = [
            [(nodes + edge, 1.0), (first, sign), (second, sign)]
            for edge, (first, second) in enumerate(pairs)
            for sign in (-1.0, 1.0)
        ]
        gain, limits = [0.0] * nodes + [1.0] * len(pairs), [0.0, 2.0] * len(pairs)
        return Program(gain=gain, rows=rows, limits=limits, elements=nodes).solve(seconds).rounded()

    return Problem(
        objective=GraphFunction(graphs=graphs, formula=cut_size(-1.0)),
        score=GraphFunction(graphs=graphs, formula=cut_size()),
        solver=solve,
        key=lambda index: key_of("cut", graphs.ground.sizes[index], graphs.pairs(index)),
    )


def maximum_coverage(covers: Covers, k: int) -> Problem:
    """Return the search for at most k elements that cover the most items.

    The objective is f(S) = -(items that S covers) + (1 + largest) * max(0, |S| - k), least exactly for the
    best choices: of too many elements, any one uncovers at most the `largest` number that one covers.

    Args:
        covers: which items each element covers.
        k: largest number of elements, at least 1.

    Raises:
        ValueError: for a k that is no positive integer.

    Example:
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> maximum_coverage(Covers.neighborhoods(graph), k=1).exact(0).members
        (2,)
    """
    check_integer("k", k)
    ground, price = covers.ground, 1 + covers.largest

    def loss(covered: Tensor, size: Tensor) -> Tensor:
        return price * (size - k).clamp(min=0) - covered

    def score(covered: Tensor, size: Tensor) -> Tensor:
        return covered.masked_fill(size > k, -torch.inf)

    def incidence(index: int) -> list[tuple[int, int]]:
        element, item = covers.incidence
        own = ground.owner[element] == index
        place = item[own].unique(return_inverse=True)[1]  # numbers that do not depend on the batch
        return list(zip((element[own] - ground.offsets[index]).tolist(), place.tolist(), strict=True))

    def solve(index: int, seconds: float) -> Answer:
        elements = ground.sizes[index]
        covering: dict[int, list[int]] = {}
        for element, item in incidence(index):
            covering.setdefault(item, []).append(element)
        # At most k elements, and for each item: z <= sum of x over the elements that cover it.
        rows = [[(element, 1.0) for element in range(elements)]]
        for place, members in enumerate(covering.values()):
            rows.append([(elements + place, 1.0), *((element, -1.0) for element in members)])
        limits = [float(k)] + [0.0] * len(covering)
        gain = [0.0] * elements + [1.0] * len(covering)
        return Program(gain=gain, rows=rows, limits=limits, elements=elements).solve(seconds).rounded()

    return Problem(
        objective=Coverage(covers=covers, score=loss),
        score=Coverage(covers=covers, score=score),
        solver=solve,
        key=lambda index: key_of(f"coverage by {k}", ground.sizes[index], incidence(index)),
    )
