"""Integer programs, solved by HiGHS, and the exact answers that they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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

    def rounded(self) -> Answer:
        """With worth and bound as the integers that they are, which HiGHS gives up to rounding.

        >>> Answer(worth=2.9999999, bound=3.9, members=(0, 1, 2)).rounded()
        Answer(worth=3.0, bound=3.0, members=(0, 1, 2))
        """
        return Answer(
            worth=float(round(self.worth)), bound=float(math.floor(self.bound + PROVED)), members=self.members
        )


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
        bound = -found.fun if found.status == 0 else self._bound(found.mip_dual_bound)
        members = tuple(int(each) for each in np.flatnonzero(found.x[: self.elements] > 0.5))
        return Answer(worth=float(-found.fun), bound=float(bound), members=members)

    def _bound(self, dual: float | None) -> float:
        """That of HiGHS, which has none yet where its time ends early, or else the sum of all gains."""
        most = sum(max(0.0, gain) for gain in self.gain)
        return most if dual is None else min(most, -dual)

    def _constraints(self, count: int) -> list[LinearConstraint]:
        if not self.rows:
            return []
        entries = [(row, column, value) for row, each in enumerate(self.rows) for column, value in each]
        row, column, value = zip(*entries, strict=True)
        matrix = csr_array((value, (row, column)), shape=(len(self.rows), count))
        return [LinearConstraint(matrix, ub=np.asarray(self.limits, dtype=float))]
