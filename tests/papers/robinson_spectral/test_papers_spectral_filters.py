"""Spectral filters on a small grid: what the entry writes, and what it says of its errors."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tammes.data.filter_images import FILTERS
from tammes.papers.figures import FLOOR, grouped_dots
from tammes.papers.robinson_spectral import SPECTRAL_FILTERS, filters
from tammes.papers.robinson_spectral.filter_findings import CONSTANT, UNTRAINED, findings
from tammes.papers.robinson_spectral.filter_rows import (
    ARMA,
    BASISNET,
    BERNNET,
    BUILD,
    FEW,
    GPR,
    OURS,
    PAPER,
    SIGNNET,
    TRANSFORMER_SIGNNET,
)
from tammes.papers.robinson_spectral.filters import FilterRun, FilterScore, cells, errors_by_method
from tammes.papers.study import Results

pytest.importorskip("torch_geometric")
KEPT = Path(__file__).parents[3] / "benchmarks/results/studies/spectral-filters"


@pytest.fixture
def data(image_folder: Path) -> Path:
    return image_folder


def test_the_entry_writes_a_table_a_figure_and_a_page(data: Path, tmp_path: Path) -> None:
    entry, out = SPECTRAL_FILTERS, tmp_path / "out"
    entry.reproduce(out, budget=0.0005, seed=0, data=data)
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    controls = [CONSTANT, UNTRAINED[SIGNNET], UNTRAINED[BASISNET]]
    assert [row["method"] for row in rows] == [*controls, SIGNNET, BASISNET] + 4 * [GPR] + 4 * [ARMA]
    assert [row["steps"] for row in rows] == 3 * ["0"] + 10 * ["20"]
    assert all(float(row[name]) > 0 for row in rows for name in FILTERS)
    page = (out / "report.html").read_text()
    assert "tammes reproduce spectral-filters --data images --budget 0.0005 --seed 0" in page
    assert "(0.369, deviation 0.460)" in page
    assert "one seed: no verdict" in page
    assert "Not measured: GCN, GAT, ChebNet, BernNet, Transformer," in page
    assert "8 in 10 comparisons; not of high, 0.086 (deviation 0.405) against 0.012 of GPR-GNN" in page
    before = (out / "table.csv").read_bytes()
    entry.reproduce(out, budget=0.0005, seed=0, data=data)
    assert (out / "table.csv").read_bytes() == before


def test_a_larger_budget_measures_all_rows(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters, "STEPS", 20)
    out = tmp_path / "out"
    SPECTRAL_FILTERS.reproduce(out, budget=filters.ALL_ROWS, seed=0, data=data)
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    settings = Counter(row["method"] for row in rows)
    assert settings.keys() == {CONSTANT, *UNTRAINED.values(), *PAPER}
    assert {settings[method] for method in PAPER if method not in OURS} == {4}
    assert {settings[method] for method in settings if method not in PAPER or method in OURS} == {1}
    assert {row["steps"] for row in rows} == {"0", "2"}
    assert all(float(row[name]) > 0 for row in rows for name in FILTERS)
    page = (out / "report.html").read_text()
    assert "Errors of all rows" in page
    assert "None is missing." in page
    # The table's numbers, and what of the text they do not bear out.
    assert "(3.092, deviation 5.110)" in page
    assert "7 in 8 comparisons; not of comb, 0.093 (deviation 0.641) of Transformer SignNet against" in page
    assert "with a Transformer, says so of 7 in 10 comparisons; not of low, 0.079 (deviation 0.471)" in page


def scored(
    error: Callable[[FilterRun], float], *, seeds: int, methods: Sequence[str] = FEW
) -> dict[FilterRun, FilterScore]:
    """Return scores whose errors are alike for all filters."""
    return {
        cell: FilterScore(**dict.fromkeys(FILTERS, error(cell)), parameters=1, seconds=1.0)
        for cell in cells(range(seeds), images=3, steps=5, methods=methods)
    }


def test_the_setting_that_is_best_on_the_other_images_counts() -> None:
    def error(cell: FilterRun) -> float:
        # On each image, one of the narrow settings is best; on the mean of any two others, the wide one is.
        if "32" in cell.setting:
            return 0.1 if cell.setting[0] == "2" and cell.seed == 0 else 0.9
        return 0.4 + cell.seed / 100

    found = errors_by_method(scored(error, seeds=3))
    assert found[GPR]["low"] == pytest.approx([0.4, 0.41, 0.42])
    assert errors_by_method(scored(error, seeds=1))[GPR]["low"] == [0.1]  # no other image: the first setting


@pytest.mark.parametrize(
    ("signnet", "untrained", "seeds", "verdict"),
    [
        (0.1, 2.0, 3, "yes"),
        (0.8, 2.0, 3, "no"),
        (0.1, 2.0, 1, "one seed: no verdict"),
        (0.1, 0.1, 3, "no verdict: not above the control"),
    ],
)
def test_verdicts_follow_from_images_and_controls(
    signnet: float, untrained: float, seeds: int, verdict: str
) -> None:
    errors = {SIGNNET: signnet, UNTRAINED[SIGNNET]: untrained, CONSTANT: 1.0}
    results = scored(lambda cell: errors.get(cell.method, 0.5) * (1 + 0.01 * cell.seed), seeds=seeds)
    assert findings(errors_by_method(results))[0].verdict.startswith(verdict)


@pytest.mark.parametrize(
    ("bernnet", "signnet", "verdict"),
    [(0.3, 0.1, "yes"), (0.01, 0.1, "no"), (0.3, 0.301, "not resolved"), (0.3, 2.0, "no verdict")],
)
def test_networks_on_eigenvectors_are_set_against_the_closest_of_all_others(
    bernnet: float, signnet: float, verdict: str
) -> None:
    def error(cell: FilterRun) -> float:
        if cell.method == CONSTANT or cell.method in UNTRAINED.values():
            return 1.0 + 0.01 * cell.seed
        ours = 0.1 if cell.method in OURS else 0.5
        return {BERNNET: bernnet, TRANSFORMER_SIGNNET: signnet}.get(cell.method, ours) * (
            1 + 0.01 * (cell.seed if cell.method in OURS else 2 - cell.seed)
        )

    found = findings(errors_by_method(scored(error, seeds=3, methods=tuple(BUILD))))
    assert len(found) == 6
    against_all = found[-2]
    assert against_all.verdict.startswith(verdict)
    assert [effect.name for effect in against_all.effects[:2]] == [
        "rejection, SignNet below BernNet, the closest",
        "rejection, BasisNet below BernNet, the closest",
    ]
    assert len(against_all.effects) == len(against_all.controls) == 8


def test_rows_that_are_not_measured_are_named() -> None:
    *stated, rows = findings(errors_by_method(scored(lambda cell: 0.5, seeds=3)))
    assert len(stated) == 2
    assert (
        "Measured: GPR-GNN, ARMA, DeepSets SignNet, DeepSets BasisNet. Not measured: GCN, GAT," in rows.ours
    )
    missing = rows.ours.partition("Not measured")[2]
    assert all(method in missing for method in PAPER if method not in FEW)
    assert rows.verdict == "–"


def test_the_kept_table_gives_the_kept_findings() -> None:
    known = Results(KEPT / "table.csv", FilterRun, FilterScore).known
    kept = json.loads((KEPT / "findings.json").read_text(encoding="utf-8"))
    found = findings(errors_by_method(known))
    assert [(each.paper, each.ours, each.verdict) for each in found] == [
        (each["paper"], each["ours"], each["verdict"]) for each in kept
    ]
    for mine, theirs in zip(found, kept, strict=True):
        for kind in ("effects", "controls"):
            effects = {each["name"]: each["text"] for each in theirs[kind]}
            assert {each.name: each.text for each in getattr(mine, kind)} == effects


def test_the_kept_study_is_the_one_that_its_budget_runs() -> None:
    kept = json.loads((KEPT / "study.json").read_text(encoding="utf-8"))
    assert float(kept["budget"]) < filters.ALL_ROWS
    cells_now = cells(range(4, 50), images=50, steps=100, methods=FEW)
    assert set(cells_now) == Results(KEPT / "table.csv", FilterRun, FilterScore).known.keys()
    searched = "; ".join(f"{method}: {', '.join(BUILD[method])}" for method in FEW)
    assert kept["searched"] == f"{searched}; chosen on images of the other seeds"


def test_more_seeds_than_images_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most 3 seeds, one for each image, got 4"):
        SPECTRAL_FILTERS.reproduce(tmp_path / "out", budget=0.001, seed=0, seeds=4, data=data)


def test_small_errors_are_drawn_at_the_floor() -> None:
    figure = grouped_dots({"a": {"low": 0.0, "high": 0.1}}, {"a": {"low": 0.2}}, label="error")
    ours, paper = figure.axes[0].lines
    assert ours.get_ydata().tolist() == [FLOOR, 0.1]
    assert paper.get_ydata().tolist() == [0.2]
    figure = grouped_dots({"a": {"low": 0.1}}, {"a": {"low": 0.0}}, label="error")  # a table's 0.000
    assert figure.axes[0].lines[1].get_ydata().tolist() == [FLOOR]


def test_many_methods_stay_within_their_group() -> None:
    errors = {"low": 0.1, "high": 0.2}
    figure = grouped_dots(dict.fromkeys("abcdefghijklm", errors), {}, label="error")
    places = [line.get_xdata().tolist() for line in figure.axes[0].lines if len(line.get_xdata())]
    assert max(low for low, _ in places) < min(high for _, high in places)
