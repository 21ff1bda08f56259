"""`tammes report`: a page of runs that were trained before, from what they have recorded."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console

from tammes.cli.output import counted, prepare_output
from tammes.report.runs import write_runs
from tammes.training.history import read_histories


@dataclass(frozen=True, kw_only=True)
class Report:
    """Lay the curves of several runs over each other, and show where their settings differ.

    tammes report runs/first runs/second

    Only what the runs have recorded is read, so neither data nor weights are needed, and a run may still go
    on. Runs that differ in their seed alone are drawn as their mean with its 95 % interval.

    Args:
        runs: Folders of runs, or folders with runs somewhere below.
        out: Page to write.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    out: Path = Path("report.html")

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("name the folder of at least one run, as in: tammes report runs/one runs/other")


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes report`."""
    choice = tyro.cli(Report, prog="tammes report", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))
    prepare_output(choice.out)
    histories = read_histories(choice.runs)
    write_runs(choice.out, histories, shlex.join(["tammes", "report", *arguments]))
    Console(markup=False).print(f"{counted(len(histories), 'run')}; open {choice.out}", highlight=False)
