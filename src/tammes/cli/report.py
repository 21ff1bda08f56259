"""`tammes report`: a page of runs that were trained before, from what they have recorded."""

import shlex

from tammes.cli.console import plain_console
from tammes.cli.options.report import Report
from tammes.cli.output import counted, prepare_output
from tammes.report.runs import write_runs
from tammes.training.history import read_histories


def main(choice: Report) -> None:
    """Read the runs and write the page."""
    prepare_output(choice.out)
    histories = read_histories(choice.runs)
    words = (*map(str, choice.runs), "--out", str(choice.out))
    write_runs(choice.out, histories, shlex.join(["tammes", "report", *words]))
    plain_console().print(f"{counted(len(histories), 'run')}; open {choice.out}")
