"""Options of `tammes reproduce`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tammes.checks import check_integer, check_seed
from tammes.cli.options.parsing import Options
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
        jobs: Measurements at a time, each in a process.
        no_learning: Train nothing: a control, on whose page no verdict about learning may be yes.
    """

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[NAME]")] = None
    list: bool = False
    out: Path | None = None
    budget: float = 1.0
    seed: int = 0
    seeds: int | None = None
    data: Path | None = None
    jobs: int = 1
    no_learning: bool = False

    def __post_init__(self) -> None:
        check_budget(self.budget)
        check_seed("--seed", self.seed, maximum=LARGEST_SEED)
        if self.seeds is not None:
            check_integer("--seeds", self.seeds)
        check_integer("--jobs", self.jobs)


def parse(words: Sequence[str]) -> Reproduce:
    """Return what the words after `tammes reproduce` choose."""
    choice: Reproduce = Options.of(Reproduce).parse("reproduce", words)
    return choice
