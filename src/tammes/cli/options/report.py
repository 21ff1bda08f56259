"""Options of `tammes report`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tammes.cli.options.parsing import Options


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

    runs: Annotated[
        tuple[Path, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="RUN [RUN ...]", help_behavior_hint="(required)"),
    ]
    out: Path = Path("report.html")

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("name the folder of at least one run, as in: tammes report runs/one runs/other")


def parse(words: Sequence[str]) -> Report:
    """Return what the words after `tammes report` choose."""
    choice: Report = Options.of(Report).parse("report", words)
    return choice
