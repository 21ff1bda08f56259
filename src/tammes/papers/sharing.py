"""Who measures the cells of a study: one process, or several, of which the first alone writes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


def one_after_another(
    cells: int, measure: Callable[[int], Any], name: Callable[[int], str]
) -> Iterator[tuple[int, Any]]:
    """Yield the number and the score of each cell, all measured by this process.

    Args:
        cells: number of cells.
        measure: function that measures the cell with a number.
        name: function that names the cell with a number, for processes that report on it.

    Example:
        >>> list(one_after_another(2, lambda number: 10 * number, str))
        [(0, 0), (1, 10)]
    """
    for number in range(cells):
        yield number, measure(number)


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """How the measurements of a study are shared between processes.

    Args:
        writes: whether this process writes the table and the page.
        measured: function like `one_after_another`, which may yield scores that other processes measured.

    Example:
        >>> Sharing().writes
        True
    """

    writes: bool = True
    measured: Callable[[int, Callable[[int], Any], Callable[[int], str]], Iterator[tuple[int, Any]]] = (
        one_after_another
    )


ALONE = Sharing()
"""One process measures all cells."""
