"""Exact answers: integer programs, solved by HiGHS, and kept."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

PROVED = 1e-6
"""Of an optimum that is an integer, how far its bound may be above it."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The best set known of one input, and how good any set can be at most.

    Args:
        worth: of that set.
        bound: no set is worth more.
        members: the set's elements, counted from 0 in the input.
    """

    worth: float
    bound: float
    members: tuple[int, ...]

    @property
    def proved(self) -> bool:
        """Whether there is nothing better; worths are integers.

        >>> Answer(worth=3.0, bound=3.9, members=(0, 1, 2)).proved
        True
        """
        return self.bound < self.worth + 1 - PROVED


@dataclass(frozen=True, kw_only=True)
class Program:
    """Maximize gain . z over z in {0, 1}^m (or [0, 1] where not integral) with rows . z <= limits.

    Args:
        gain: `(m,)`.
        rows: the constraints, each a list of pairs of a column and its coefficient.
        limits: of the constraints.
        elements: the first so many variables say which elements are in the set; these are integral.
    """

    gain: Sequence[float]
    rows: Sequence[Sequence[tuple[int, float]]]
    limits: Sequence[float]
    elements: int

    def solve(self, seconds: float = math.inf) -> Answer | None:
        """The best set found in so many seconds, with a bound; None if none was found.

        Raises:
            ValueError: if HiGHS reports anything but success or the end of its time.

        Example:
            >>> Program(gain=[2.0, 1.0], rows=[[(0, 1.0), (1, 1.0)]], limits=[1.0], elements=2).solve()
            Answer(worth=2.0, bound=2.0, members=(0,))
        """
        count = len(self.gain)
        integral = np.zeros(count)
        integral[: self.elements] = 1
        options = {} if math.isinf(seconds) else {"time_limit": seconds}
        found = milp(
            -np.asarray(self.gain, dtype=float),
            integrality=integral,
            bounds=Bounds(0, 1),
            constraints=self._constraints(count),
            options=options,
        )
        if found.status not in (0, 1):
            raise ValueError(f"HiGHS could not solve an integer program: {found.message}")
        if found.x is None:
            return None
        bound = -found.fun if found.status == 0 else -(found.mip_dual_bound or -math.inf)
        members = tuple(int(each) for each in np.flatnonzero(found.x[: self.elements] > 0.5))
        return Answer(worth=float(-found.fun), bound=float(bound), members=members)

    def _constraints(self, count: int) -> list[LinearConstraint]:
        if not self.rows:
            return []
        entries = [(row, column, value) for row, each in enumerate(self.rows) for column, value in each]
        row, column, value = zip(*entries, strict=True)
        matrix = csr_array((value, (row, column)), shape=(len(self.rows), count))
        return [LinearConstraint(matrix, ub=np.asarray(self.limits, dtype=float))]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Answers in a file, a line of JSON each, so that what was proved once is not solved again.

    Several processes may add to one file. A line that is broken (by a full disk, say) is skipped.

    Args:
        path: the file; made, with its folder, when the first answer comes. None keeps nothing.
    """

    path: Path | None = None

    def look_up(self, key: str) -> Answer | None:
        """The answer that was kept under a key."""
        return self._all().get(key)

    def keep(self, answers: dict[str, Answer]) -> None:
        """Add those that are proved; the others may be better next time.

        Raises:
            OSError: if the file cannot be written.
        """
        proved = {key: answer for key, answer in answers.items() if answer.proved}
        if self.path is None or not proved:
            return
        lines = [
            json.dumps({"key": key, "worth": each.worth, "bound": each.bound, "members": each.members})
            for key, each in proved.items()
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def known(self) -> dict[str, Answer]:
        """All answers by their keys."""
        return self._all()

    def _all(self) -> dict[str, Answer]:
        if self.path is None or not self.path.exists():
            return {}
        found = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                found[str(entry["key"])] = Answer(
                    worth=float(entry["worth"]),
                    bound=float(entry["bound"]),
                    members=tuple(int(each) for each in entry["members"]),
                )
            except (ValueError, KeyError, TypeError):
                continue
        return found


def key_of(problem: str, size: int, pairs: Sequence[tuple[int, int]]) -> str:
    """A name for one input of a problem, the same whenever the input is.

    >>> key_of("clique", 3, [(0, 1)]) == key_of("clique", 3, [(0, 1)]) != key_of("clique", 4, [(0, 1)])
    True
    """
    text = json.dumps([problem, size, sorted(pairs)])
    return hashlib.sha256(text.encode()).hexdigest()
