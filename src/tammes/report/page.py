"""From a comparison or a run to one self-contained HTML file."""

from pathlib import Path

from tammes.report.comparison import Comparison, Run


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write the page of a comparison; it needs no network and no second file."""
    raise NotImplementedError


def write_run(path: Path, run: Run) -> None:
    """Write the page of a single run; it needs no network and no second file."""
    raise NotImplementedError
