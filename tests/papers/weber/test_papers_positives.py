"""The experiments on positives: plans, numbers and pages; what they find is in the docs."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from tammes.papers.entry import Entry, Request, entries
from tammes.papers.page import PaperPage, write_page
from tammes.papers.weber import (
    POSITIVES_FIGURE_3,
    POSITIVES_TABLE_1,
    POSITIVES_TABLE_2,
    figure_3,
    table_1,
    table_2,
)
from tammes.papers.weber.settings import (
    ACTIVE,
    BASELINE,
    CLASS_PRESERVING,
    DOUBLE_ACTIVE,
    INFO_ACTIVE,
    PAPER,
    RANDOM,
    SIGNED,
    SQUARED,
    TABLE_1,
    TABLE_2,
    UNTRAINED,
    UNTRAINED_NEAR,
)
from tammes.papers.weber.training import Runs, RunScore, StrategyRun, part_of, study

TINY = 1e-3


def requested(budget: float, seed: int = 0, *, seeds: int | None = None, learning: bool = True) -> Request:
    return Request(
        entry=POSITIVES_TABLE_1, out=Path("out"), budget=budget, seed=seed, seeds=seeds, learning=learning
    )


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
    protocol = study(table_1.plan(requested(1.0)), lambda results: page).protocol
    write_page(page, Request(entry=entry, out=out, budget=1.0, seed=0), protocol)
    return (out / "report.html").read_text()


def test_a_small_budget_takes_seeds_and_updates_away() -> None:
    assert [len(runs.seeds) for runs in table_2.plan(requested(0.5, 7))] == [5] * 5
    assert [len(runs.seeds) for runs in table_2.plan(requested(TINY))] == [2] * 5
    assert (part_of(0.5, 1000), part_of(0.1, 1000)) == (1000, 500)
    assert table_2.plan(requested(1.0, 7))[0].seeds == range(7, 17)
    assert [runs.updates for runs in table_1.plan(requested(1.0))] == [200, 200, 200, 500, 500]


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
    POSITIVES_TABLE_2.reproduce(tmp_path, budget=TINY, seed=3, data=None)
    table = rows(tmp_path)
    assert len(table) == 5 * (1 + 4) * 2
    assert {row["updates"] for row in table if row["strategy"] == UNTRAINED} == {"0"}
    assert {row["seed"] for row in table} == {"3", "4"}
    assert all(0 <= float(row["accuracy"]) <= 1 for row in table)
    assert "Targeted perturbations of latents" in (tmp_path / "report.html").read_text()
    before = (tmp_path / "table.csv").read_bytes()
    # What is kept of a stopped run is not trained again.
    (tmp_path / "table.csv").write_bytes(before[: before.rindex(b"\n", 0, -1) + 1])
    trained: list[str] = []
    measured = Runs.measured
    monkeypatch.setattr(
        Runs,
        "measured",
        lambda runs, *, training: trained.append(runs.settings.row) or measured(runs, training=training),
    )
    POSITIVES_TABLE_2.reproduce(tmp_path, budget=TINY, seed=3, data=None)
    assert trained == [list(TABLE_2)[-1].row]
    assert (tmp_path / "table.csv").read_bytes() == before


def test_table_1_counts_tries(tmp_path: Path) -> None:
    work = [
        dataclasses.replace(runs, settings=dataclasses.replace(runs.settings, pairs=16, batch=16, width=16))
        for runs in table_1.plan(requested(TINY))
    ]
    table = measured_all(work)
    for cell, measured in table.items():
        assert measured.last <= measured.accuracy
        assert measured.tries >= 1
        if cell.strategy == RANDOM:
            assert (measured.tries, measured.missed) == (1.0, 0.0)
        if cell.strategy == ACTIVE:
            assert measured.tries > 1.05
        if cell.strategy == SQUARED:
            assert 0.2 < measured.missed < 0.8
        if cell.strategy == SIGNED:
            assert measured.missed < 0.05
    assert "Positives near the boundary" in written(table_1.page(work, table), POSITIVES_TABLE_1, tmp_path)


def verdicts(module: ModuleType, accuracy: Mapping[str, float], *, seeds: int = 10) -> list[str]:
    work = module.plan(requested(1.0, seeds=seeds))
    return [finding.verdict for finding in module.findings(made_up(work, accuracy), work)]


AS_STATED = {UNTRAINED: 0.2, BASELINE: 0.5, ACTIVE: 0.6, INFO_ACTIVE: 0.7, CLASS_PRESERVING: 0.8}
AHEAD = {
    UNTRAINED: 0.8,
    UNTRAINED_NEAR: 0.82,
    RANDOM: 0.85,
    ACTIVE: 0.9,
    DOUBLE_ACTIVE: 0.9,
    SQUARED: 0.84,
    SIGNED: 0.8,
}


def test_verdicts_of_table_2_follow_the_order_of_the_accuracies() -> None:
    assert verdicts(table_2, AS_STATED) == ["yes", "yes", "yes", "yes", "no"]
    assert verdicts(table_2, AS_STATED | {ACTIVE: 0.4}) == ["yes", "no", "yes", "yes", "no"]
    assert verdicts(table_2, AS_STATED | {CLASS_PRESERVING: 0.69})[3] == "no"
    assert verdicts(table_2, AS_STATED, seeds=1) == ["one seed: no verdict"] * 5
    untrained = verdicts(table_2, AS_STATED | {UNTRAINED: 0.9})
    assert all(each.startswith("no verdict: not above the control") for each in untrained)


def test_the_accuracies_of_table_2_agree_if_all_are_near() -> None:
    work = table_2.plan(requested(1.0))
    results = made_up(work, AS_STATED)
    exact = {
        cell: dataclasses.replace(score, accuracy=PAPER[cell.row].get(cell.strategy, 0.2) + 1e-4 * cell.seed)
        for cell, score in results.items()
    }
    assert table_2.findings(exact, work)[-1].verdict == "yes"
    far = work[1].cell(BASELINE, 0)
    wrong = exact | {
        cell: dataclasses.replace(score, accuracy=score.accuracy - 0.1)
        for cell, score in exact.items()
        if (cell.row, cell.strategy) == (far.row, far.strategy)
    }
    assert table_2.findings(wrong, work)[-1].verdict == "no"


def test_verdicts_of_table_1_allow_the_row_in_which_the_paper_is_behind() -> None:
    assert verdicts(table_1, AHEAD) == ["yes", "yes", "–"]
    assert verdicts(table_1, AHEAD | {DOUBLE_ACTIVE: 0.84}) == ["yes", "no", "–"]
    # Ahead of random by no more than the untrained encoder with its anchors is.
    assert verdicts(table_1, AHEAD | {UNTRAINED_NEAR: 0.86}) == ["yes", "no", "–"]
    assert verdicts(table_1, AHEAD, seeds=1) == ["one seed: no verdict"] * 2 + ["–"]
    assert verdicts(table_1, AHEAD | {UNTRAINED: 0.95})[0].startswith("no verdict: not above the control")
    work = table_1.plan(requested(1.0))
    results = made_up(work, AHEAD)
    for less, verdict in ((0.08, "yes"), (0.12, "no verdict")):  # behind random, behind the untrained encoder
        behind = {
            cell: dataclasses.replace(score, accuracy=score.accuracy - less)
            for cell, score in results.items()
            if (cell.row, cell.strategy) == (work[4].settings.row, ACTIVE)
        }
        assert table_1.findings(results | behind, work)[0].verdict.startswith(verdict)


def test_figure_3_shows_the_perturbation_and_every_setting(tmp_path: Path) -> None:
    perturbed, varied = figure_3.plans(requested(TINY))
    work = [*perturbed, *(runs for each in varied.values() for runs in each.values())]
    table = {
        cell: RunScore(accuracy=0.5 + 0.01 * cell.seed, last=0.5, ceiling=1.0, tries=1.0, missed=0.0)
        for runs in work
        for cell in runs.cells()
    }
    page = written(figure_3.page(table, perturbed, varied), POSITIVES_FIGURE_3, tmp_path)
    assert page.count("<svg") == 1 + len(varied)
    values = sum(len(by_value) for by_value in varied.values())
    others = "(by chance 0.65); the panels and the table show the other"
    assert f"lies above zero at 0 of {values} values {others} {values}." in page
    once, varied_once = figure_3.plans(dataclasses.replace(requested(TINY), seeds=1))
    _, finding = figure_3.findings(table, once, varied_once)
    assert finding.ours.startswith("One seed has no interval")
    for name, values in figure_3.VARIED.items():
        assert (getattr(figure_3.STUDIED, name) or 8) in values, name


def test_figure_3_is_trained_as_planned() -> None:
    perturbed, varied = figure_3.plans(requested(TINY))
    work = [perturbed[0], varied["scale"][1.0]]
    table = measured_all(work)
    assert len(table) == 2 * (1 + len(figure_3.SCALES)) + 2 * (1 + 3)
    assert len({cell.settings for cell in table}) == 2
