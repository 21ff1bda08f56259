"""The set-function experiments on a few small graphs: what they measure, keep and write."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tammes.papers.entry import Entry
from tammes.papers.robinson_sets import (
    SETS_COMBINATORIAL,
    SETS_EIGENVECTORS,
    SETS_K_CLIQUE,
    combinatorial,
)
from tammes.papers.robinson_sets.combinatorial import EXACT, METHODS, cells
from tammes.papers.robinson_sets.training import (
    CLIQUE,
    GREEDY,
    INDEPENDENT,
    OF_SIZE,
    RANDOM,
    GraphData,
    GraphTraining,
)
from tiny import write_graphs

ON_GRAPHS = [SETS_COMBINATORIAL, SETS_K_CLIQUE, SETS_EIGENVECTORS]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Ten small graphs under the names of two data sets of the collection."""
    return write_graphs(tmp_path / "graphs", "ENZYMES", "PROTEINS")


@pytest.mark.parametrize("entry", ON_GRAPHS, ids=lambda entry: entry.name)
def test_an_entry_writes_a_table_a_figure_and_a_page(entry: Entry, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    entry.reproduce(out, budget=0.005, seed=0, data=data)
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["data"] for row in rows} == {"ENZYMES", "PROTEINS"}
    assert {row["epochs"] for row in rows} == {"0", "1"}
    assert all(0 <= float(row["ratio"]) <= 1 for row in rows)
    assert "<svg" in (out / "figure.svg").read_text()
    page = (out / "report.html").read_text()
    assert f"tammes reproduce {entry.name} --data graphs --budget 0.005" in page
    # Once more, it has nothing to measure and writes the same.
    before = (out / "table.csv").read_bytes()
    entry.reproduce(out, budget=0.005, seed=0, data=data)
    assert (out / "table.csv").read_bytes() == before


@pytest.mark.parametrize("entry", ON_GRAPHS, ids=lambda entry: entry.name)
def test_a_folder_without_the_sets_is_refused(entry: Entry, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected in .* folders named .*; found none of them"):
        entry.reproduce(tmp_path / "out", budget=0.01, seed=0, data=tmp_path)
    assert not (tmp_path / "out").exists()


def test_all_methods_meet_all_problems() -> None:
    made = cells(["MUTAG", "COLLAB"], epochs=3, seeds=[1, 2])
    needs_no_training = [cell for cell in made if cell.epochs == 0]
    assert len(made) == len(set(made))
    assert len(made) - len(needs_no_training) == 2 * 2 * 2 * (len(METHODS) - 1)
    assert {cell.method for cell in needs_no_training} == {GREEDY, *METHODS} - set(EXACT)
    assert {cell.problem for cell in made} == {CLIQUE, INDEPENDENT}
    assert {cell.seed for cell in made} == {1, 2}
    assert made[0].method == "Lovász"


def test_a_table_may_have_other_epochs_for_each_data_set(data: Path, tmp_path: Path) -> None:
    graphs = GraphData(data, tmp_path / "answers.jsonl")
    wanted = [
        GraphTraining(data=name, problem=problem, method=GREEDY, epochs=epochs)
        for name, epochs in (("ENZYMES", 200), ("PROTEINS", 50))
        for problem in (CLIQUE, INDEPENDENT)
    ]
    results = {cell: graphs.measure(cell) for cell in wanted}
    assert combinatorial.page(results).settings["epochs"].startswith("ENZYMES 200, PROTEINS 50 (the paper")


def test_a_cell_is_measured_the_same_again(data: Path, tmp_path: Path) -> None:
    graphs = GraphData(data, tmp_path / "answers.jsonl")
    cell = GraphTraining(data="ENZYMES", problem=CLIQUE, method="neural Lovász", epochs=2, width=8, layers=1)
    first, again = graphs.measure(cell), graphs.measure(cell)
    assert first.ratio == again.ratio
    assert first.validation == again.validation
    assert first.graphs == 3
    assert 0 < first.largest <= first.four_largest <= 1 + 1e-9
    greedy = graphs.measure(GraphTraining(data="ENZYMES", problem=CLIQUE, method=GREEDY, epochs=2))
    assert greedy.four_largest == greedy.seconds_per_epoch == 0
    assert greedy.ratio > 0.5


def test_a_network_without_training_is_that_of_a_training_without_learning(
    data: Path, tmp_path: Path
) -> None:
    graphs = GraphData(data, tmp_path / "answers.jsonl")
    for method in ("Lovász", "neural Lovász", "Lovász of columns", "Erdős"):
        cell = GraphTraining(
            data="ENZYMES", problem=CLIQUE, method=method, epochs=2, learning_rate=0.0, width=8, layers=1
        )
        assert graphs.measure(cell).ratio == graphs.measure(cell.untrained).ratio
    assert (cell.label, cell.untrained.label) == ("Erdős", "Erdős, untrained")


def test_a_small_budget_takes_a_part_of_the_graphs(tmp_path: Path) -> None:
    data = write_graphs(tmp_path / "graphs", "ENZYMES", count=40)
    counts = {}
    for most in (None, 20):
        graphs = GraphData(data, tmp_path / "answers.jsonl", most)
        cell = GraphTraining(data="ENZYMES", problem=CLIQUE, method=RANDOM, epochs=0)
        counts[most] = graphs.measure(cell).graphs
    assert counts == {None: 12, 20: 6}


def test_f1_counts_cliques_that_are_there(data: Path, tmp_path: Path) -> None:
    graphs = GraphData(data, tmp_path / "answers.jsonl")
    cell = GraphTraining(data="ENZYMES", problem=OF_SIZE, method=GREEDY, epochs=1, k=2)
    assert graphs.measure(cell).f1 == 1.0
    none = GraphTraining(data="ENZYMES", problem=OF_SIZE, method=GREEDY, epochs=1, k=9)
    assert graphs.measure(none).f1 == 0.0
    assert graphs.measure(none).ratio == 1.0
