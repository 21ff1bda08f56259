"""Entries of `tammes reproduce`, requests to run them, and the search for all entries."""

import importlib
import os
import pkgutil
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tammes.papers
from tammes.checks import check_seed, check_seeds
from tammes.papers.sharing import ALONE, Sharing

LARGEST_SEED = 2**32 - 1
"""Largest seed of a study: NumPy takes no larger ones."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Statement of a paper, and the experiment that tries it.

    Args:
        name: name after `tammes reproduce`, in lower case with hyphens.
        statement: claim of the paper, in a sentence or two.
        source: place of the claim, with the number of the theorem, table or figure.
        run: function that does the experiment and writes `table.csv`, `figure.svg` and `report.html`.
        data: description of the data that the user must give, in a few words ("a folder of texts"); None for
            an entry that needs none.
        optional: whether the entry also runs without its data, and then shows less.
        drawn: names of data that need no file, as "digits"; a colon and more may follow a name.

    Raises:
        ValueError: a name with anything but lower-case letters, digits and hyphens, or an empty text.
    """

    name: str
    statement: str
    source: str
    run: "Callable[[Request], None]"
    data: str | None = None
    optional: bool = False
    drawn: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        letters = self.name.replace("-", "")
        if not letters.isalnum() or not letters.isascii() or letters != letters.lower():
            raise ValueError(f"expected lower-case letters, digits and hyphens in a name, got {self.name!r}")
        if not self.statement.strip() or not self.source.strip():
            raise ValueError(f"Entry {self.name!r} must have a statement and a source, got an empty one")

    def check(self, *, budget: float, data: Path | None) -> None:
        """Refuse a request that cannot be run, before anything is written.

        Raises:
            ValueError: a budget outside (0, 1], or data that are missing, not there or not needed.
        """
        check_budget(budget)
        if self.data is not None and data is None and not self.optional:
            raise ValueError(f"{self.name} needs data: {self.data}")
        if self.data is None and data is not None:
            raise ValueError(f"{self.name} has all the data it needs: leave the data {data} out")
        if data is not None and not data.exists() and str(data).partition(":")[0] not in self.drawn:
            raise ValueError(f"there is no {data}: the data of {self.name} are {self.data}")

    def reproduce(
        self,
        out: Path,
        *,
        budget: float,
        seed: int,
        seeds: int | None = None,
        data: Path | None = None,
        learning: bool = True,
        sharing: Sharing = ALONE,
    ) -> None:
        """Run the experiment; `Request` describes the arguments.

        Raises:
            ValueError: a request that `check` refuses, seeds out of range, or data that the experiment cannot
                read.
        """
        self.check(budget=budget, data=data)
        check_seed("seed", seed, maximum=LARGEST_SEED)
        if seeds is not None:
            check_seeds(seed, seeds, maximum=LARGEST_SEED)
        self.run(
            Request(
                entry=self,
                out=out,
                budget=budget,
                seed=seed,
                seeds=seeds,
                data=data,
                learning=learning,
                sharing=sharing,
            )
        )


@dataclass(frozen=True, kw_only=True)
class Request:
    """Arguments of one run of an entry.

    Args:
        entry: entry to be run.
        out: folder for the results, made if missing. A study resumes from the table in it.
        budget: fraction of the full work to be done, in (0, 1]; docs/papers.md says what the tables there
            were made with.
        seed: first random seed.
        seeds: number of seeds; None for as many as the budget has.
        data: file or folder given by the user; None for an entry that needs none.
        learning: whether networks learn; without, learning rates are zero or there are no steps, and no
            verdict about what training brings may be yes.
        sharing: how the measurements are shared between processes.
    """

    entry: Entry
    out: Path
    budget: float
    seed: int
    seeds: int | None = None
    data: Path | None = None
    learning: bool = True
    sharing: Sharing = ALONE

    def seed_range(self, full: int, *, fewest: int = 1) -> range:
        """Return the random seeds: as many as asked for, or the budget's part of the full number.

        Args:
            full: number of seeds of the full work.
            fewest: smallest number that a small budget has.

        Example:
            >>> entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda request: None)
            >>> Request(entry=entry, out=Path("out"), budget=0.1, seed=7).seed_range(30)
            range(7, 10)
        """
        count = max(fewest, round(full * self.budget)) if self.seeds is None else self.seeds
        return check_seeds(self.seed, count, maximum=LARGEST_SEED)

    def rate(self, learning_rate: float) -> float:
        """Return the learning rate, or zero if nothing is to be learned."""
        return learning_rate if self.learning else 0.0

    def required_data(self) -> Path:
        """Return the data of an entry that needs some."""
        assert self.data is not None, "Entry.check has refused this request"
        return self.data

    @property
    def data_name(self) -> str:
        """Last part of the data's path, also where they were given as `.` or `..`; empty without data."""
        return "" if self.data is None else Path(os.path.abspath(self.data)).name

    @property
    def command(self) -> str:
        """Command line that repeats the run, with the last part of the data's path only.

        Example:
            >>> entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda request: None)
            >>> Request(entry=entry, out=Path("out"), budget=0.5, seed=0, data=Path("texts/wiki")).command
            'tammes reproduce a --data wiki --budget 0.5 --seed 0'
        """
        given = "" if self.data is None else f" --data {shlex.quote(self.data_name)}"
        count = "" if self.seeds is None else f" --seeds {self.seeds}"
        control = "" if self.learning else " --no-learning"
        return (
            f"tammes reproduce {self.entry.name}{given} --budget {self.budget:g} --seed {self.seed}"
            f"{count}{control}"
        )


def run_of(module: str) -> Callable[[Request], None]:
    """Return the function `run` of a module, which is imported at the first call.

    So the list of entries imports none of the experiments, which bring torch.

    Args:
        module: name of the module of the experiment.
    """

    def run(request: Request) -> None:
        vars(importlib.import_module(module))["run"](request)

    run.__module__ = module
    return run


def entries() -> tuple[Entry, ...]:
    """Return all entries by name: each folder of `tammes.papers` has those of its document.

    Example:
        >>> "transport-degeneracy" in [entry.name for entry in entries()]
        True
    """
    documents = [
        importlib.import_module(found.name)
        for found in pkgutil.iter_modules(tammes.papers.__path__, prefix="tammes.papers.")
        if found.ispkg
    ]
    found = [each for document in documents for each in vars(document).values() if isinstance(each, Entry)]
    return tuple(sorted(found, key=lambda entry: entry.name))


def check_budget(budget: float) -> None:
    """Raise ValueError for a budget outside (0, 1].

    Example:
        >>> check_budget(0.5)
    """
    if not 0 < budget <= 1:
        raise ValueError(f"budget must be a fraction of the full work, above 0 and at most 1, got {budget}")
