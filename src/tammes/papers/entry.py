"""An entry of `tammes reproduce`, and how the entries are found."""

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import tammes.papers


class Reproduction(Protocol):
    """Does the work of an entry and writes `table.csv`, `figure.svg` and `report.html` into a folder."""

    def __call__(self, out: Path, *, budget: float, seed: int) -> None:
        """Write the entry's files.

        Args:
            out: the folder, made where it is missing; files of these names are replaced.
            budget: the part of the full work to be done, in (0, 1]; 1 gives the numbers of the docs.
            seed: of everything that is drawn.

        Raises:
            ValueError: for a budget outside (0, 1].
        """


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Something a paper states, and the work that tries it.

    Args:
        name: as it is typed after `tammes reproduce`, in lower case with hyphens.
        statement: what the paper states, in a sentence or two.
        source: where it states it, to the number of the theorem, table or figure.
        run: tries it and writes what came of it.

    Raises:
        ValueError: for a name with other than lower-case letters, digits and hyphens, or an empty text.
    """

    name: str
    statement: str
    source: str
    run: Reproduction

    def __post_init__(self) -> None:
        letters = self.name.replace("-", "")
        if not letters.isalnum() or not letters.isascii() or letters != letters.lower():
            raise ValueError(f"Entry.name expected lower-case letters, digits and hyphens, got {self.name!r}")
        if not self.statement.strip() or not self.source.strip():
            raise ValueError(f"Entry {self.name!r} expected a statement and a source, got an empty one")


def entries() -> tuple[Entry, ...]:
    """All entries, by name: the ENTRY of every module beside this one that has one.

    >>> [entry.name for entry in entries()]
    ['transport-degeneracy']
    """
    modules = [
        importlib.import_module(f"tammes.papers.{found.name}")
        for found in pkgutil.iter_modules(tammes.papers.__path__)
    ]
    found = [vars(module)["ENTRY"] for module in modules if "ENTRY" in vars(module)]
    return tuple(sorted(found, key=lambda entry: entry.name))


def check_budget(budget: float) -> None:
    """Raise ValueError for a budget outside (0, 1].

    >>> check_budget(0.5)
    """
    if not 0 < budget <= 1:
        raise ValueError(f"budget expected a part of the full work, above 0 and at most 1, got {budget}")
