"""The table of rotations: means over the seeds, and a dash for what is not defined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tammes.report import Comparison, write_comparison
from tammes.report.rotations import COLUMNS, rotation_table
from tammes.training.rotations import Rotations

MEASURED = Rotations(
    wahba=3.0, gamma=0.5, unexplained=0.25, invariance=0.4, cosine_variance=0.01, composition_error=4.0,
    composition_best=3.5, neighbors_kept=0.6, color_followed=-0.1, rows=50, dimension=8, augmentations=4,
)  # fmt: skip
COLORS = ("red", "blue")


def test_there_is_no_table_without_measurements(comparison: Comparison) -> None:
    assert rotation_table(comparison, COLORS) is None


def test_several_seeds_have_an_interval_and_one_has_none(comparison: Comparison, tmp_path: Path) -> None:
    first, second = comparison.outcomes
    still = replace(MEASURED, gamma=None, unexplained=None, color_followed=None, composition_error=None)
    seeds = (MEASURED, replace(MEASURED, wahba=5.0))
    shown = replace(
        comparison, outcomes=(replace(first, rotations=seeds), replace(second, rotations=(still,)))
    )
    table = rotation_table(shown, COLORS)
    assert table is not None
    assert table.leading == tuple(COLUMNS)
    one, other = table.rows
    assert (one.cells[0].text, other.cells[0].text) == ("4.00", "3.00")
    assert one.cells[0].interval
    assert not other.cells[0].interval
    assert [cell.text for cell in other.cells].count("–") == 4
    assert one.cells[-1].text == "\N{MINUS SIGN}0.10"
    assert "10.0 where no rotation helps" in table.note
    alone = rotation_table(replace(shown, outcomes=(first, shown.outcomes[1])), COLORS)
    assert alone is not None
    assert [row.name for row in alone.rows] == [second.name]
    write_comparison(tmp_path / "page.html", shown)
    assert "Augmentations as rotations" in (tmp_path / "page.html").read_text()
