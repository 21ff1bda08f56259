"""`tammes reproduce`: experiments of the papers, with their numbers beside ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from tammes.checks import check_integer, check_seed
from tammes.papers import Entry, entries
from tammes.papers.entry import LARGEST_SEED, check_budget


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Redo an experiment of the papers, and set the paper's numbers beside ours.

    tammes reproduce --list

    tammes reproduce transport-degeneracy

    Args:
        name: Name of the experiment, as --list shows it.
        list: Show all experiments.
        out: Folder for table.csv, figure.svg and report.html (by default reproductions/NAME). A stopped
            experiment resumes from the table.
        budget: Fraction of the full work, above 0 and at most 1; less is quicker and noisier.
        seed: First random seed.
        seeds: Number of random seeds (by default the budget decides).
        data: File or folder of the data, for experiments that need some.
        no_learning: Train nothing: a control, on whose page no verdict about learning may be yes.
    """

    name: tyro.conf.Positional[str | None] = None
    list: bool = False
    out: Path | None = None
    budget: float = 1.0
    seed: int = 0
    seeds: int | None = None
    data: Path | None = None
    no_learning: bool = False

    def __post_init__(self) -> None:
        check_budget(self.budget)
        check_seed("--seed", self.seed, maximum=LARGEST_SEED)
        if self.seeds is not None:
            check_integer("--seeds", self.seeds)


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes reproduce`."""
    choice = tyro.cli(
        Reproduce, prog="tammes reproduce", args=arguments, config=(tyro.conf.FlagCreatePairsOff,)
    )
    known = {entry.name: entry for entry in entries()}
    if choice.list:
        _show(list(known.values()))
        return
    if choice.name is None:
        raise ValueError("name an experiment, or list all: tammes reproduce --list")
    if choice.name not in known:
        raise ValueError(f"there is no entry {choice.name}; there is {', '.join(known)}")
    entry = known[choice.name]
    if entry.data is not None and choice.data is None:
        raise ValueError(f"{entry.name} needs --data: {entry.data}")
    out = choice.out or Path("reproductions") / entry.name
    entry.check(budget=choice.budget, data=choice.data)
    console = Console(markup=False)
    console.print(f"{entry.statement} ({entry.source})", highlight=False)
    entry.reproduce(
        out,
        budget=choice.budget,
        seed=choice.seed,
        seeds=choice.seeds,
        data=choice.data,
        learning=not choice.no_learning,
    )
    console.print(f"open {out / 'report.html'}", highlight=False)


def _show(found: Sequence[Entry]) -> None:
    """Print a line for each entry; running one prints its whole statement and its source."""
    console = Console(markup=False)
    widest = max(len(entry.name) for entry in found)
    for entry in found:
        needs = "" if entry.data is None else "--data"
        line = f"{entry.name:<{widest}}  {needs:<6}  {entry.statement}"
        console.print(line, highlight=False, no_wrap=True, overflow="ellipsis")
