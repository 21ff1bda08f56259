"""`tammes reproduce`: the experiments of the papers, done again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Column, Table

from tammes.papers import Entry, entries


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Redo an experiment of the papers, and set its numbers beside ours.

    tammes reproduce --list

    tammes reproduce transport-degeneracy

    Args:
        name: Which one, as --list names it.
        list: Show what there is.
        out: The folder for table.csv, figure.svg and report.html (by default reproductions/ and the name).
        budget: The part of the full work to do, above 0 and at most 1; less is quicker and noisier.
        seed: Of everything that is drawn.
        data: What to work on, for those that ask for it.
    """

    name: tyro.conf.Positional[str | None] = None
    list: bool = False
    out: Path | None = None
    budget: float = 1.0
    seed: int = 0
    data: Path | None = None


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes reproduce`."""
    choice = tyro.cli(
        Reproduce, prog="tammes reproduce", args=arguments, config=(tyro.conf.FlagCreatePairsOff,)
    )
    known = {entry.name: entry for entry in entries()}
    if choice.list:
        _show(known.values())
        return
    if choice.name is None:
        raise ValueError("name what to reproduce, or see what there is: tammes reproduce --list")
    if choice.name not in known:
        raise ValueError(f"there is no entry {choice.name}; there is {', '.join(known)}")
    entry = known[choice.name]
    out = choice.out or Path("reproductions") / entry.name
    entry.check(budget=choice.budget, data=choice.data)
    console = Console(markup=False)
    console.print(f"{entry.statement} ({entry.source})", highlight=False)
    entry.reproduce(out, budget=choice.budget, seed=choice.seed, data=choice.data)
    console.print(f"open {out / 'report.html'}", highlight=False)


def _show(found: Iterable[Entry]) -> None:
    table = Table(
        Column("name", no_wrap=True), Column("what a paper states", overflow="fold"), show_lines=True
    )
    for entry in found:
        words = f"{entry.statement}\n({entry.source})"
        table.add_row(entry.name, words if entry.data is None else f"{words}\n--data: {entry.data}")
    Console(markup=False).print(table)
