"""The search over settings: which cells it measures, which setting it comes to, and what it writes."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.papers.robinson_sets import SETS_SEARCH as ENTRY
from tammes.papers.robinson_sets import search as module
from tammes.papers.robinson_sets.search import BATCHES, LAYERS, METHODS, WIDTHS, rounds, search
from tammes.papers.robinson_sets.training import CLIQUE, INDEPENDENT, GraphData, GraphScore, GraphTraining
from tammes.papers.study import Results
from tiny import write_graphs

TASK = ("MUTAG", CLIQUE, "Lovász")
SPACE = (BATCHES, LAYERS, WIDTHS)
NOTHING = GraphScore(
    graphs=1,
    ratio=0.0,
    deviation=0.0,
    f1=0.0,
    validation=0.0,
    best_epoch=1,
    seconds_per_epoch=0.0,
    largest=0.0,
    four_largest=0.0,
)


class Planted(GraphData):
    """Data on which the ratio is a function of width and batch size alone."""

    def __init__(self, widest: float) -> None:
        self.widest = widest
        self.asked: list[GraphTraining] = []

    def measure(self, cell: GraphTraining) -> GraphScore:
        self.asked.append(cell)
        ratio = 0.5 + self.widest * cell.width / 1000 - cell.batch_size / 1000
        return replace(NOTHING, validation=ratio, ratio=ratio, best_epoch=cell.epochs)


def table(folder: Path) -> Results[GraphTraining, GraphScore]:
    return Results(folder / "table.csv", GraphTraining, GraphScore)


@pytest.mark.parametrize(("widest", "width"), [(1.0, 256), (-1.0, 64)])
def test_the_best_setting_is_trained_for_all_epochs(tmp_path: Path, widest: float, width: int) -> None:
    graphs = Planted(widest)
    best = search(table(tmp_path), graphs, TASK, SPACE, epochs=200, seed=3)
    assert (best.width, best.batch_size, best.epochs, best.seed) == (width, 4, 200, 3)
    assert best.layers == 6  # no layers are better than others: the smaller ones were ahead before
    counts = [sum(cell.epochs == epochs for cell in graphs.asked) for epochs in (2, 8, 40, 200)]
    assert counts == [27, 9, 3, 1]
    assert len(graphs.asked) == len(set(graphs.asked)) == 40


def test_of_equal_settings_the_one_that_came_to_it_first_goes_on(tmp_path: Path) -> None:
    class Early(Planted):
        def measure(self, cell: GraphTraining) -> GraphScore:
            self.asked.append(cell)
            return replace(NOTHING, validation=1.0, best_epoch=1 if cell.layers == 16 else 2)

    best = search(table(tmp_path), Early(0.0), TASK, SPACE, epochs=200, seed=0)
    assert (best.layers, best.width, best.batch_size) == (16, 64, 4)


def test_a_search_that_was_stopped_goes_on(tmp_path: Path) -> None:
    class Stopped(Planted):
        def measure(self, cell: GraphTraining) -> GraphScore:
            if len(self.asked) == 30:
                raise KeyboardInterrupt
            return super().measure(cell)

    first, second = Stopped(1.0), Planted(1.0)
    with pytest.raises(KeyboardInterrupt, match="3 of 9 cells measured"):
        search(table(tmp_path), first, TASK, SPACE, epochs=200, seed=0)
    whole = search(table(tmp_path), second, TASK, SPACE, epochs=200, seed=0)
    assert not set(first.asked) & set(second.asked)
    assert len(first.asked) + len(second.asked) == 40
    assert whole.width == 256


@given(st.integers(1, 100), st.integers(1, 400))
def test_rounds_end_with_one_setting_and_all_epochs(count: int, epochs: int) -> None:
    made = rounds(count, epochs)
    assert (made[0][0], made[-1]) == (count, (1, epochs))
    for (more, shorter), (fewer, longer) in pairwise(made):
        assert fewer == max(1, more // 3)
        assert 1 <= shorter <= longer


def test_it_writes_a_table_a_figure_and_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCHES", (4, 8))
    monkeypatch.setattr(module, "LAYERS", (1, 2))
    monkeypatch.setattr(module, "WIDTHS", (4,))
    data, out = write_graphs(tmp_path / "graphs", "MUTAG", "ENZYMES"), tmp_path / "out"
    ENTRY.reproduce(out, budget=0.02, seed=0, data=data)
    known = table(out).known
    assert len(known) == 2 * 2 * (len(METHODS) * (4 + 1 + 1) + 1)  # with the untrained and the greedy one
    assert {cell.problem for cell in known} == {CLIQUE, INDEPENDENT}
    assert {cell.epochs for cell in known} == {0, 1, 4}
    page = (out / "report.html").read_text()
    assert "batch: 4, 8; layers: 1, 2; features: 4; chosen on validation graphs" in page
    assert "4 × 1, 1 × 4" in page
    assert "tammes reproduce sets-search --data graphs --budget 0.02 --seed 0" in page
    assert "<svg" in (out / "figure.svg").read_text()
    before = (out / "table.csv").read_bytes()
    ENTRY.reproduce(out, budget=0.02, seed=0, data=data)
    assert (out / "table.csv").read_bytes() == before


def test_there_is_a_page_from_the_first_task_on() -> None:
    cell = GraphTraining(data="ENZYMES", problem=CLIQUE, method="Lovász", epochs=200)
    page = module.page({cell: NOTHING}, SPACE)
    assert page.findings[0].verdict == "not measured yet"
    assert not any("MUTAG has" in remark for remark in page.remarks)
    page = module.page({replace(cell, data="MUTAG"): NOTHING}, SPACE)
    assert any("MUTAG has 18 validation graphs" in remark for remark in page.remarks)


def test_a_folder_of_another_search_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, values in (("BATCHES", (4,)), ("LAYERS", (1,)), ("WIDTHS", (4,))):
        monkeypatch.setattr(module, name, values)
    data, out = write_graphs(tmp_path / "graphs", "MUTAG"), tmp_path / "out"
    ENTRY.reproduce(out, budget=0.02, seed=0, data=data)
    monkeypatch.setattr(module, "WIDTHS", (8,))
    with pytest.raises(ValueError, match=r"searched: .*features: 4; .* there, .*features: 8; .* now"):
        ENTRY.reproduce(out, budget=0.02, seed=0, data=data)


def test_a_folder_without_the_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected in .* folders named .*; found none of them"):
        ENTRY.reproduce(tmp_path / "out", budget=0.01, seed=0, data=tmp_path)
    assert not (tmp_path / "out").exists()
