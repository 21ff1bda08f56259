"""Figures in the documents are those that a benchmark has written into benchmarks/results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results"
CPU = "2026-11-26-cpu-avx512.md"
SIGNNET = "2026-11-27-signnet-avx2.md"
# Columns of the README's table: the section of the record, and the methods of which the quickest is meant.
COMPILED = ("compiled", "JAX")
COLUMNS = (
    ("NT-Xent", ("PyTorch, cross-entropy",)),
    ("NT-Xent", COMPILED),
    ("HCL with debiasing", ("dense formula",)),
    ("HCL with debiasing", COMPILED),
    ("InfoNCE of one view", COMPILED),
    ("A whole step", ("two passes by hand",)),
)


def rows_of(text: str) -> list[list[str]]:
    """Cells of the lines of all tables."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not set(line) <= set("|:- ")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def section_of(text: str, heading: str) -> str:
    """What stands under the heading that begins so."""
    found = re.search(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def test_the_table_of_signnet_is_the_recorded_one() -> None:
    recorded = rows_of((RESULTS / SIGNNET).read_text())[1:]
    document = (ROOT / "docs/benchmarks.md").read_text()
    assert SIGNNET in document
    shown = [row for row in rows_of(section_of(document, "Networks on eigenvectors")) if len(row) == 7][1:]
    assert shown == recorded
    assert len(shown) == 9


def ratios_of(section: str) -> dict[str, dict[str, str]]:
    """Times ours by number of pairs and method."""
    found: dict[str, dict[str, str]] = {}
    pairs = ""
    for first, method, _, ratio, *_ in rows_of(section)[1:]:
        pairs = first or pairs
        found.setdefault(pairs, {})[method] = ratio
    return found


@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_the_speeds_of_the_readme_are_the_recorded_ones(column: int) -> None:
    heading, methods = COLUMNS[column]
    readme = (ROOT / "README.md").read_text()
    assert CPU in readme
    recorded = ratios_of(section_of((RESULTS / CPU).read_text(), heading))
    rows = [row for row in rows_of(section_of(readme, "Speed and memory")) if len(row) == 7][1:]
    assert len(rows) == 7
    for row in rows:
        ratios = [float(ratio) for name, ratio in recorded[row[0]].items() if name.startswith(methods)]
        shown = row[1 + column]
        decimals = len(shown.partition(".")[2])
        assert abs(float(shown) - min(ratios)) <= 0.5 * 10**-decimals + 1e-9, (row[0], shown, min(ratios))
