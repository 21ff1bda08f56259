"""Integer programs, solved by HiGHS, their answers, and the file that caches the answers."""

import hashlib
import json
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tammes.checks import check_file

TOLERANCE = 1e-6
"""Rounding error of HiGHS that is allowed in the score and bound of an integer optimum."""
BEGINNING = b'{"key": "'
"""Beginning of every line in a file of answers."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Best known set of one input, and a bound on the score of any set.

    Args:
        score: score of the set.
        bound: upper bound of all scores.
        members: elements of the set, counted from 0 in the input.
        seconds: time that the solver took, perhaps in an earlier process; None if it was not measured.
    """

    score: float
    bound: float
    members: tuple[int, ...]
    seconds: float | None = field(default=None, compare=False, repr=False)

    @property
    def proved(self) -> bool:
        """Whether the set is proved to be optimal; scores are integers.

        >>> Answer(score=3.0, bound=3.9, members=(0, 1, 2)).proved
        True
        """
        return self.bound < self.score + 1 - TOLERANCE

    def rounded(self) -> "Answer":
        """Return the answer with score and bound rounded to integers, the bound downwards.

        >>> Answer(score=2.9999999, bound=3.9, members=(0, 1, 2)).rounded()
        Answer(score=3.0, bound=3.0, members=(0, 1, 2))
        """
        return replace(self, score=float(round(self.score)), bound=float(math.floor(self.bound + TOLERANCE)))


@dataclass(frozen=True, kw_only=True)
class Program:
    """Integer program: maximize gain . z with rows . z <= limits, z in {0, 1}^m, or [0, 1] where continuous.

    Args:
        gain: `(m,)`, coefficients of the objective.
        rows: constraints, each a list of pairs of a column and its coefficient.
        limits: right-hand sides of the constraints.
        elements: number of the first variables that are integral: whether each element is in the set.
    """

    gain: Sequence[float]
    rows: Sequence[Sequence[tuple[int, float]]]
    limits: Sequence[float]
    elements: int

    def solve(self, seconds: float = math.inf) -> Answer:
        """Return the best set found within the time limit, with a bound; the empty set if none was found.

        Raises:
            ValueError: if HiGHS reports anything but success or the end of its time.

        Example:
            >>> Program(gain=[2.0, 1.0], rows=[[(0, 1.0), (1, 1.0)]], limits=[1.0], elements=2).solve()
            Answer(score=2.0, bound=2.0, members=(0,))
        """
        columns = [column for row in self.rows for column, _ in row]
        values = [value for row in self.rows for _, value in row]
        starts = np.cumsum([0, *map(len, self.rows)])
        matrix = csr_array((values, columns, starts), shape=(len(self.rows), len(self.gain)))
        found = milp(
            -np.asarray(self.gain, dtype=float),
            integrality=np.arange(len(self.gain)) < self.elements,
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(matrix, ub=np.asarray(self.limits, dtype=float)),
            options={"time_limit": seconds},
        )
        if found.status not in (0, 1):
            raise ValueError(f"HiGHS could not solve an integer program: {found.message}")
        # Out of time, HiGHS may have no bound yet: then it is the sum of all positive gains.
        bound = sum(max(0.0, gain) for gain in self.gain)
        dual = found.fun if found.status == 0 else found.mip_dual_bound
        if dual is not None:
            bound = min(bound, -float(dual))
        if found.x is None:
            return Answer(score=0.0, bound=bound, members=())
        members = tuple(np.flatnonzero(found.x[: self.elements] > 0.5).tolist())
        return Answer(score=-float(found.fun), bound=bound, members=members)


@dataclass(frozen=True, kw_only=True)
class SolutionCache:
    """Proved answers in a file, one line of JSON each, so that no problem is solved twice.

    Several processes may add to one file. A broken line (after a full disk, say) is skipped.

    Args:
        path: the file, created with its folder when the first answer is added; None keeps nothing.
    """

    path: Path | None = None

    def load(self) -> dict[str, Answer]:
        """Return all answers in the file by their keys.

        Raises:
            ValueError: if the file holds something else, which an answer appended to it would damage.
            OSError: if the file cannot be read.
        """
        if self.path is None or not self.path.exists():
            return {}
        content = check_file(self.path).read_bytes()
        # A disk that was full may have cut the first line off, with the next one behind it.
        if BEGINNING not in content and not BEGINNING.startswith(content):
            raise ValueError(
                f"expected a file of exact answers at {self.path}, got other content: name another file"
            )
        known = {}
        for line in content.decode(errors="replace").splitlines():
            with suppress(ValueError, KeyError, TypeError, OverflowError, RecursionError):
                entry = json.loads(line)
                known[str(entry["key"])] = Answer(
                    score=float(entry["worth"]),
                    bound=float(entry["bound"]),
                    members=tuple(int(each) for each in entry["members"]),
                    seconds=_time(entry.get("seconds")),
                )
        return known

    def add(self, answers: dict[str, Answer]) -> None:
        """Append the proved answers; a later attempt may improve the others.

        Raises:
            OSError: if the file cannot be written.
        """
        lines = [json.dumps(_entry(key, each)) for key, each in answers.items() if each.proved]
        if self.path is None or not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _entry(key: str, answer: Answer) -> dict[str, object]:
    """Return an answer as an entry of the file."""
    # The score is the entry "worth": files that exist keep their format.
    entry = {"key": key, "worth": answer.score, "bound": answer.bound, "members": answer.members}
    return entry if answer.seconds is None else {**entry, "seconds": answer.seconds}


def _time(seconds: object) -> float | None:
    """Return the seconds in a line of the file, which older lines do not have."""
    return float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < math.inf else None


def key_of(problem: str, size: int, pairs: Sequence[tuple[int, int]]) -> str:
    """Return the key of one input of a problem, a hash of its size and pairs in any order.

    >>> key_of("clique", 3, [(0, 1)]) == key_of("clique", 3, [(0, 1)]) != key_of("clique", 4, [(0, 1)])
    True
    """
    text = json.dumps([problem, size, sorted(pairs)])
    return hashlib.sha256(text.encode()).hexdigest()
