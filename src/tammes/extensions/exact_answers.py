"""The exact answers of a whole batch, solved once."""

from __future__ import annotations

import math

from tammes.extensions.integer_program import Answer
from tammes.extensions.problem import Problem
from tammes.extensions.solution_cache import SolutionCache


def exact_answers(
    problem: Problem, *, kept: SolutionCache | None = None, seconds: float = math.inf
) -> list[Answer]:
    """The exact answer of every input; what was kept is not solved again.

    Args:
        problem: its inputs.
        kept: where answers are kept.
        seconds: for each input; afterwards its best set so far and a bound are given.
    """
    kept = kept or SolutionCache()
    known = kept.known()
    answers: list[Answer] = []
    new: dict[str, Answer] = {}
    for number in range(problem.ground.inputs):
        key = problem.key(number)
        if key not in known:
            known[key] = new[key] = problem.exact(number, seconds)
        answers.append(known[key])
    kept.keep(new)
    return answers
