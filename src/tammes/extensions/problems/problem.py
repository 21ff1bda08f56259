"""Combinatorial problems: an objective to descend on, the score of a set, and an exact solver."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tammes.extensions.exact.integer_program import Answer, SolutionCache
from tammes.extensions.functions.set_function import SetFunction
from tammes.extensions.ground_set import GroundSet


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

    def grow(
        self, order: Int[Tensor, " total"], members: Bool[Tensor, " total"] | None = None
    ) -> Bool[Tensor, " total"]:
        """Return sets grown greedily: each element in its turn is added if the guide is higher with it.

        Args:
            order: elements of each input in their order, as indices into all elements.
            members: sets to begin with, which must be allowed; the empty sets unless given.

        Source: Robinson (2023), F.6.3: how Erdős goes neural decodes, in order of falling probability.

        Example:
            >>> from tammes.extensions import Graphs, maximum_independent_set
            >>> graph = Graphs.of(torch.tensor([[0, 1], [1, 2]]), sizes=(3,))
            >>> maximum_independent_set(graph).grow(torch.tensor([2, 1, 0])).tolist()
            [True, False, True]
        """
        guide, ground = self.guide or self.score, self.ground
        if members is None:
            members = torch.zeros(ground.total, dtype=torch.bool, device=order.device)
        best = guide.values(members)
        for place in range(ground.widest):
            has = ground.size > place
            element = order[(ground.offsets + place).where(has, ground.offsets)]
            candidate = members.clone()
            candidate[element] = members[element] | has
            found = guide.values(candidate)
            better = found > best
            members = candidate.where(better[ground.owner], members)
            best = found.where(better, best)
        return members

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
    """Return the exact answer of every input; answers in the cache are not solved again.

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
    answers: list[Answer] = []
    new: dict[str, Answer] = {}
    for index in range(problem.ground.inputs):
        key = problem.key(index)
        if key not in known:
            known[key] = new[key] = problem.exact(index, seconds)
        answers.append(known[key])
    cache.add(new)
    return answers
