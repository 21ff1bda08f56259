"""Who measures the cells of a study: one process, or several, of which the first alone writes."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Protocol


class Sharing(Protocol):
    """How the measurements of a study are shared between processes."""

    @property
    def writes(self) -> bool:
        """Whether this process writes the table and the page."""

    def measured(
        self, cells: int, measure: Callable[[int], Any], name: Callable[[int], str]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the score of each cell as it is measured, here or in another process.

        Args:
            cells: number of cells.
            measure: function that measures the cell with a number.
            name: function that names the cell with a number.
        """


class Alone:
    """One process measures one cell after the other.

    Example:
        >>> list(Alone().measured(2, lambda number: 10 * number, str))
        [(0, 0), (1, 10)]
    """

    writes = True

    def measured(
        self, cells: int, measure: Callable[[int], Any], name: Callable[[int], str]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the score of each cell."""
        for number in range(cells):
            yield number, measure(number)


_ALONE = Alone()
SHARING: ContextVar[Sharing] = ContextVar("SHARING", default=_ALONE)
"""How the study that runs in this context is shared."""
