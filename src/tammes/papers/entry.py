"""An entry of `tammes reproduce`, and how the entries are found."""

import importlib
import pkgutil
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import tammes.papers


class Reproduction(Protocol):
    """Does the work of an entry and writes `table.csv`, `figure.svg` and `report.html` into a folder.

    An entry calls it with what `Entry.expect_possible` has let through.
    """

    def __call__(self, out: Path, *, budget: float, seed: int, data: Path | None) -> None:
        """Write the entry's files.

        Args:
            out: the folder, made where it is missing; files of these names are replaced, or, where an entry
                says so, gone on with.
            budget: the part of the full work to be done, in (0, 1]; the docs say whose numbers they show.
            seed: of everything that is drawn.
            data: what the entry's `data` asks for; None where it asks for nothing.
        """


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Something a paper states, and the work that tries it.

    Args:
        name: as it is typed after `tammes reproduce`, in lower case with hyphens.
        statement: what the paper states, in a sentence or two.
        source: where it states it, to the number of the theorem, table or figure.
        run: tries it and writes what came of it.
        data: what must be given to work on, in a few words ("a folder of texts"); None where the entry has
            everything it needs.

    Raises:
        ValueError: for a name with other than lower-case letters, digits and hyphens, or an empty text.
    """

    name: str
    statement: str
    source: str
    run: Reproduction
    data: str | None = None

    def __post_init__(self) -> None:
        letters = self.name.replace("-", "")
        if not letters.isalnum() or not letters.isascii() or letters != letters.lower():
            raise ValueError(f"Entry.name expected lower-case letters, digits and hyphens, got {self.name!r}")
        if not self.statement.strip() or not self.source.strip():
            raise ValueError(f"Entry {self.name!r} expected a statement and a source, got an empty one")

    def expect_possible(self, *, budget: float, data: Path | None) -> None:
        """Refuse, before anything is written, what cannot be run.

        Raises:
            ValueError: for a budget outside (0, 1], and where data is missing, not there or not wanted.
        """
        check_budget(budget)
        if self.data is not None and data is None:
            raise ValueError(f"{self.name} needs --data: {self.data}")
        if self.data is None and data is not None:
            raise ValueError(f"{self.name} has all the data it needs: leave --data {data} out")
        if data is not None and not data.exists():
            raise ValueError(f"there is no {data}: --data of {self.name} is {self.data}")

    def command(self, *, budget: float, seed: int, data: Path | None = None) -> str:
        """What is typed to have it run so, for its page; of the data only the last part of the path.

        Example:
            >>> entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda *_, **__: None)
            >>> entry.command(budget=0.5, seed=0)
            'tammes reproduce a --budget 0.5 --seed 0'
        """
        given = "" if data is None else f" --data {shlex.quote(data.name)}"
        return f"tammes reproduce {self.name}{given} --budget {budget:g} --seed {seed}"

    def reproduce(self, out: Path, *, budget: float, seed: int, data: Path | None) -> None:
        """Run it; the arguments are those of `Reproduction`.

        Raises:
            ValueError: as `expect_possible` does, and for data that are others.
        """
        self.expect_possible(budget=budget, data=data)
        self.run(out, budget=budget, seed=seed, data=data)


def entries() -> tuple[Entry, ...]:
    """Return all entries by name: each module of `tammes.papers` that defines ENTRY offers one.

    >>> "transport-degeneracy" in [entry.name for entry in entries()]
    True
    """
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(tammes.papers.__path__, prefix="tammes.papers.")
    ]
    found = [vars(module)["ENTRY"] for module in modules if "ENTRY" in vars(module)]
    return tuple(sorted(found, key=lambda entry: entry.name))


def check_budget(budget: float) -> None:
    """Raise ValueError for a budget outside (0, 1].

    >>> check_budget(0.5)
    """
    if not 0 < budget <= 1:
        raise ValueError(f"budget expected a part of the full work, above 0 and at most 1, got {budget}")
