"""The experiments on positives: plans, numbers and pages; what they find is in the docs."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tammes.papers.entry import Entry, Request, entries
from tammes.papers.page import PaperPage, write_page
from tammes.papers.statistics import Interval
from tammes.papers.weber import figure_3, table_1, table_2
from tammes.papers.weber.settings import (
    ACTIVE,
    BASELINE,
    CLASS_PRESERVING,
    INFO_ACTIVE,
    PAPER,
    RANDOM,
    TABLE_1,
    TABLE_2,
)
from tammes.papers.weber.training import Runs, RunScore, StrategyRun, part_of, study

TINY = 1e-3


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


def made_up(work: Sequence[Runs], accuracy: Mapping[str, float]) -> dict[StrategyRun, RunScore]:
    """A table in which each strategy has its accuracy, a little different for every seed."""
    return {
        cell: RunScore(
            accuracy=accuracy[cell.strategy] + 0.001 * cell.seed * len(cell.strategy) % 0.003,
            last=0.5,
            ceiling=1.0,
            tries=1.0,
            missed=0.0,
        )
        for runs in work
        for cell in runs.cells()
    }


def measured_all(work: Sequence[Runs]) -> dict[StrategyRun, RunScore]:
    planned = study(work, lambda results: table_1.page(work, results))
    return {cell: planned.measure(cell) for cell in planned.cells}


def written(page: PaperPage, entry: Entry, out: Path) -> str:
    write_page(page, Request(entry=entry, out=out, budget=1.0, seed=0))
    return (out / "report.html").read_text()


def test_intervals_are_students() -> None:
    interval = Interval.of([1.0, 2.0, 3.0, 4.0])
    assert interval.mean == 2.5
    assert interval.error == pytest.approx(0.6454972)
    assert interval.half == pytest.approx(3.1824463 * 0.6454972)
    assert Interval.of_difference([2.0, 3.1], [1.0, 2.0]).mean == pytest.approx(1.05)
    assert Interval.of([0.5]).half == float("inf")
    assert not Interval.of([0.5]).above_zero
    assert Interval.of([-1.0, -1.1]).below_zero
    assert str(Interval.of([-0.25, -0.25])) == "\N{MINUS SIGN}0.250 ± 0.000"


def test_a_small_budget_takes_seeds_and_updates_away() -> None:
    assert [len(runs.seeds) for runs in table_2.plan(0.5, 7)] == [5] * 5
    assert (part_of(0.5, 1000), part_of(0.1, 1000)) == (1000, 500)
    assert table_2.plan(1.0, 7)[0].seeds == range(7, 17)
    assert [runs.updates for runs in table_1.plan(1.0, 0)] == [200, 200, 200, 500, 500]


def test_the_papers_rows_are_ours() -> None:
    assert {entry.name for entry in entries()} >= {
        "positives-table-1",
        "positives-table-2",
        "positives-figure-3",
    }
    assert [row.row for row in TABLE_2][3] == "8 classes, 2 + 6 latents"
    assert PAPER["8 classes, 2 + 6 latents"][CLASS_PRESERVING] == 0.687
    for row in TABLE_1:
        laboratory = row.laboratory(row.total_updates)
        assert laboratory.rounds * laboratory.updates == row.total_updates


def test_table_2_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table_2.ENTRY.reproduce(tmp_path, budget=TINY, seed=3, data=None)
    table = rows(tmp_path)
    assert len(table) == 5 * 4 * 2
    assert {row["seed"] for row in table} == {"3", "4"}
    assert all(0 <= float(row["accuracy"]) <= 1 for row in table)
    assert "Targeted perturbations of latents" in (tmp_path / "report.html").read_text()
    before = (tmp_path / "table.csv").read_bytes()
    # What is kept of a stopped run is not trained again.
    (tmp_path / "table.csv").write_bytes(before[: before.rindex(b"\n", 0, -1) + 1])
    trained: list[str] = []
    measured = Runs.measured
    monkeypatch.setattr(Runs, "measured", lambda runs: trained.append(runs.settings.row) or measured(runs))
    table_2.ENTRY.reproduce(tmp_path, budget=TINY, seed=3, data=None)
    assert trained == [list(TABLE_2)[-1].row]
    assert (tmp_path / "table.csv").read_bytes() == before


def test_table_1_counts_tries(tmp_path: Path) -> None:
    work = [
        dataclasses.replace(runs, settings=dataclasses.replace(runs.settings, pairs=16, batch=16, width=16))
        for runs in table_1.plan(TINY, 0)
    ]
    table = measured_all(work)
    for cell, measured in table.items():
        assert measured.last <= measured.accuracy
        assert measured.tries >= 1
        if cell.strategy == RANDOM:
            assert (measured.tries, measured.missed) == (1.0, 0.0)
        if cell.strategy == ACTIVE:
            assert measured.tries > 1.05
    assert "Positives near the boundary" in written(table_1.page(work, table), table_1.ENTRY, tmp_path)


def test_findings_agree_where_the_numbers_do_and_not_elsewhere() -> None:
    work = table_2.plan(1.0, 0)
    as_stated = {BASELINE: 0.5, ACTIVE: 0.6, INFO_ACTIVE: 0.7, CLASS_PRESERVING: 0.7}
    found = table_2.findings(made_up(work, as_stated), work)
    assert [finding.agrees for finding in found[:2]] == [True, True]
    assert "active over baseline: +0.099" in found[0].ours
    reversed_order = {BASELINE: 0.8, ACTIVE: 0.6, INFO_ACTIVE: 0.7, CLASS_PRESERVING: 0.3}
    found = table_2.findings(made_up(work, reversed_order), work)
    assert [finding.agrees for finding in found] == [False, True, False, False]

    first = table_1.plan(1.0, 0)
    level = dict.fromkeys(table_1.ORDER, 0.9)
    found = table_1.findings(made_up(first, level | {ACTIVE: 0.95}), first)
    assert found[0].agrees
    assert "better in 5, worse in 0 of 5 rows" in found[0].ours


def test_figure_3_shows_the_perturbation_and_every_setting(tmp_path: Path) -> None:
    perturbed, varied = figure_3.plans(TINY, 0)
    work = [*perturbed, *(runs for each in varied.values() for runs in each.values())]
    table = {
        cell: RunScore(accuracy=0.5 + 0.01 * cell.seed, last=0.5, ceiling=1.0, tries=1.0, missed=0.0)
        for runs in work
        for cell in runs.cells()
    }
    page = written(figure_3.page(table, perturbed, varied), figure_3.ENTRY, tmp_path)
    assert page.count("<svg") == 1 + len(varied)
    values = sum(len(by_value) for by_value in varied.values())
    others = f"beyond chance at 0 of {values} values; the panels and the table show the other {values}."
    assert f"info-active is ahead of the baseline {others}" in page
    for name, values in figure_3.VARIED.items():
        assert (getattr(figure_3.STUDIED, name) or 8) in values, name


def test_figure_3_is_trained_as_planned() -> None:
    perturbed, varied = figure_3.plans(TINY, 0)
    work = [perturbed[0], varied["scale"][1.0]]
    table = measured_all(work)
    assert len(table) == 2 * len(figure_3.SCALES) + 2 * 3
    assert len({cell.settings for cell in table}) == 2
