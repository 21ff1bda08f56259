"""The entries on graphs: small, without learning, and what is refused."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tammes import Hard, NodesToGraphs, Objective, Softplus
from tammes.evaluation import SVM, CrossValidation, LabeledFeatures
from tammes.papers import entries
from tammes.papers.entry import Request
from tammes.papers.jiang import GRAPHS_TRANSPORT, graphs_transport
from tammes.papers.robinson_negatives import (
    GRAPHS_AUGMENTED,
    GRAPHS_HARD,
    GRAPHS_NODES,
    graph_tables,
    graph_training,
    graphs_augmented,
    graphs_hard,
    graphs_nodes,
)
from tammes.papers.robinson_negatives.easy import Easy
from tammes.papers.robinson_negatives.graph_scores import GraphScore, GraphTest
from tammes.papers.robinson_negatives.graph_tables import CLEAN, INNER, TESTS, GraphResults
from tammes.papers.robinson_negatives.graph_training import (
    FLOORS,
    GraphRun,
    GraphScale,
    cells_of,
    load_sets,
    measurer,
)
from tammes.papers.study import Results
from tammes.positives import OneChange, OwnGraph, SameInstance
from tiny import random_graph_set, write_tu_set

pytest.importorskip("torch_geometric")
pytestmark = pytest.mark.filterwarnings("ignore:.*:tammes.evaluation.ProbeNotConvergedWarning")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tu")
    write_tu_set(root, "MUTAG", random_graph_set(24))
    write_tu_set(root, "IMDB-MULTI", random_graph_set(70, classes=3, seed=1))
    return root


@pytest.mark.parametrize(
    ("entry", "methods"),
    [
        (GRAPHS_HARD, len(graphs_hard.OBJECTIVES)),
        (GRAPHS_TRANSPORT, len(graphs_transport.OBJECTIVES)),
        (GRAPHS_AUGMENTED, len(graphs_augmented.OBJECTIVES)),
    ],
    ids=["hard", "transport", "augmented"],
)
def test_a_small_entry_has_its_page_and_is_resumed(
    data: Path, tmp_path: Path, entry: type, methods: int
) -> None:
    entry.reproduce(tmp_path, budget=0.001, seed=0, data=data)  # type: ignore[attr-defined]
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * (len(FLOORS) + methods)
    found = json.loads((tmp_path / "findings.json").read_text())
    assert {finding["verdict"] for finding in found} == {"one seed: no verdict", "–"}
    page = (tmp_path / "report.html").read_text()
    assert "MUTAG" in page
    assert "Weisfeiler-Lehman kernel" in page
    (tmp_path / "table.csv").write_text("\n".join(lines[:-1]) + "\n")
    entry.reproduce(tmp_path, budget=0.001, seed=0, data=data)  # type: ignore[attr-defined]
    again = (tmp_path / "table.csv").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in again] == [line.rpartition(",")[0] for line in lines]


@pytest.mark.parametrize(
    "entry", [GRAPHS_HARD, GRAPHS_TRANSPORT, GRAPHS_AUGMENTED], ids=["hard", "transport", "augmented"]
)
def test_without_learning_no_verdict_is_yes(data: Path, tmp_path: Path, entry: type) -> None:
    if entry is GRAPHS_AUGMENTED:  # which has twice as many methods: one set is enough
        data = data / "MUTAG"
    entry.reproduce(tmp_path, budget=0.001, seed=0, seeds=2, data=data, learning=False)  # type: ignore[attr-defined]
    found = json.loads((tmp_path / "findings.json").read_text())
    verdicts = [finding["verdict"] for finding in found]
    assert "yes" not in verdicts
    assert "no verdict: not above the control" in verdicts


def test_nodes_of_a_drawn_graph_have_their_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs_nodes, "SMALL", 70)
    GRAPHS_NODES.reproduce(tmp_path / "a", budget=0.001, seed=0)
    lines = (tmp_path / "a" / "table.csv").read_text().splitlines()
    assert len(lines) == 1 + len(graphs_nodes.FLOORS) + len(graphs_augmented.SEARCHED)
    found = json.loads((tmp_path / "a" / "findings.json").read_text())
    assert [finding["verdict"] for finding in found] == ["one seed: no verdict"] * 2 + ["–"] * 2
    assert "features averaged over two hops" in (tmp_path / "a" / "report.html").read_text()
    GRAPHS_NODES.reproduce(tmp_path / "b", budget=0.001, seed=0, seeds=2, learning=False)
    found = json.loads((tmp_path / "b" / "findings.json").read_text())
    assert "yes" not in {finding["verdict"] for finding in found}
    with pytest.raises(ValueError, match="graphs-nodes has all the data it needs"):
        GRAPHS_NODES.reproduce(tmp_path / "c", budget=0.1, seed=0, data=tmp_path)


def test_the_graph_is_large_from_a_hundredth_of_the_budget_on(tmp_path: Path) -> None:
    def scale(budget: float) -> graphs_nodes.NodeScale:
        return graphs_nodes.scale_of(Request(entry=GRAPHS_NODES, out=tmp_path, budget=budget, seed=0))

    assert (scale(1.0).nodes, len(scale(1.0).seeds), scale(1.0).epochs) == (20_000, 10, 20)
    assert (scale(0.05).nodes, len(scale(0.05).seeds), scale(0.05).epochs) == (20_000, 1, 10)
    assert scale(0.001).nodes < 1000


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["0"] * 24, r"PTC_MR: expected at least two classes, got 24 graphs of '0' alone"),
        (["0"] * 15 + ["1"] * 9, r"PTC_MR: expected at least 10 points of each class, .* got 9 of class 1"),
        (None, r"PTC_MR: expected graphs with labels"),
    ],
)
def test_a_set_that_cannot_be_measured_is_refused_before_another_is_trained_on(
    tmp_path: Path, labels: list[str] | None, message: str
) -> None:
    for name in ("MUTAG", "PTC_MR"):
        folder = write_tu_set(tmp_path / "tu", name, random_graph_set(24))
    file = folder / "PTC_MR_graph_labels.txt"
    file.unlink()
    if labels is not None:
        file.write_text("".join(f"{label}\n" for label in labels))
    for entry in (GRAPHS_HARD, GRAPHS_TRANSPORT, GRAPHS_AUGMENTED):
        with pytest.raises(ValueError, match=message):
            entry.reproduce(tmp_path / "out", budget=0.02, seed=0, data=tmp_path / "tu")
        assert not (tmp_path / "out" / "table.csv").exists()


def test_sets_that_are_not_named_are_not_measured(data: Path, tmp_path: Path) -> None:
    assert list(load_sets(data, ("IMDB-MULTI", "DD"), GraphScale())) == ["IMDB-MULTI"]
    part = load_sets(data, ("IMDB-MULTI",), GraphScale(graphs=30))["IMDB-MULTI"]
    assert part.required_labels().bincount().tolist() == [10, 10, 10]
    with pytest.raises(ValueError, match=r"expected data sets of the TU collection in .* \(DD\), found none"):
        load_sets(data, ("DD",), GraphScale())
    with pytest.raises(
        ValueError, match="graphs-hard needs data: a folder of data sets of the TU collection"
    ):
        GRAPHS_HARD.reproduce(tmp_path, budget=0.1, seed=0)
    assert {"graphs-augmented", "graphs-hard", "graphs-nodes", "graphs-transport"} <= {
        entry.name for entry in entries()
    }


def test_without_sets_that_the_thesis_names_the_statement_is_not_tried() -> None:
    scores = {
        GraphRun(data="PROTEINS", method=method, seed=seed, graphs=9, epochs=1, folds=3): a_score(
            0.5 + seed / 10
        )
        for method in (*FLOORS, *graphs_hard.OBJECTIVES)
        for seed in range(2)
    }
    found = graphs_hard.findings(GraphResults(scores=scores))
    assert [finding.verdict for finding in found] == ["–"] * 3


def a_score(svm: float) -> GraphScore:
    return GraphScore(
        published=svm,
        svm=svm,
        tests=(svm, svm),
        inner=(svm, svm),
        logistic=svm,
        distinct=0.0,
        blocks=svm,
        different=9,
        leaked=0.0,
        loss=1.0,
        seconds=1.0,
    )


def test_the_best_method_is_chosen_by_the_inner_folds_alone() -> None:
    scores = {}
    for method, svm, inner in (("a", 0.9, 0.1), ("b", 0.2, 0.8), ("less", 0.1, 0.0)):
        run = GraphRun(data="MUTAG", method=method, seed=0, graphs=9, epochs=1, folds=3)
        scores[run] = replace(a_score(svm), inner=(inner, inner))
    results = GraphResults(scores=scores)
    assert results.best("MUTAG", ("a", "b"), TESTS, INNER) == [0.2]
    assert results.best_over("MUTAG", ("a", "b"), ("less",), TESTS, INNER).mean == pytest.approx(0.1)
    assert results.best_mean_over("MUTAG", ("a", "b"), "less", CLEAN).mean == pytest.approx(0.8)


def test_the_best_method_is_chosen_for_each_test_fold() -> None:
    scores = {}
    for seed in range(2):
        for method, tests, inner in (("a", (0.9, 0.5), (0.8, 0.1)), ("b", (0.4, 0.3), (0.7, 0.9))):
            run = GraphRun(data="MUTAG", method=method, seed=seed, graphs=9, epochs=1, folds=2)
            scores[run] = replace(a_score(0.0), tests=tests if seed == 0 else tests[::-1], inner=inner)
    results = GraphResults(scores=scores)
    assert results.best("MUTAG", ("a", "b"), TESTS, INNER) == pytest.approx([0.6, 0.45])


def test_a_choice_by_all_inner_folds_takes_one_method_for_all_test_folds() -> None:
    scores = {}
    for method, svm, inner in (("a", 0.7, (0.8, 0.1)), ("b", 0.4, (0.7, 0.9)), ("less", 0.1, (0.5, 0.5))):
        run = GraphRun(data="MUTAG", method=method, seed=0, graphs=9, epochs=1, folds=2)
        scores[run] = replace(a_score(svm), inner=inner)
    found = GraphResults(scores=scores).best_by_all_over("MUTAG", ("a", "b"), ("less",))
    assert found.mean == pytest.approx(0.4 - 0.1)  # b, by 0.8 over 0.45


def test_what_inner_folds_say_of_a_test_fold_does_not_depend_on_its_labels() -> None:
    labels, features = torch.arange(24) % 2, torch.randn(24, 3, generator=torch.Generator().manual_seed(0))
    validation, machine = CrossValidation(folds=3), SVM(costs=(0.1, 10.0))
    numbers = torch.arange(24)
    test = GraphTest(labels=labels, numbers=numbers, validation=validation, machine=machine)
    score = test.score([features], loss=0.0, seconds=0.0)
    for (train, tested), inner, right in zip(
        validation.splits(labels), score.inner, score.tests, strict=True
    ):
        known = LabeledFeatures(features=features[train], labels=labels[train])
        found, alone = machine.predict_scored(known, features[tested])
        assert (alone, float((found == labels[tested]).double().mean())) == (inner, right)
    assert score.svm == pytest.approx(sum(score.tests) / 3)


def test_stages_do_not_change_the_training() -> None:
    sets = {"MUTAG": random_graph_set(24)}
    found = []
    for stages in (1, 3):
        scale = GraphScale(seeds=[0], epochs=3, folds=3, stages=stages, costs=(1.0,))
        (cell,) = (
            run
            for run in cells_of(sets, tuple(graphs_hard.OBJECTIVES), scale)
            if run.method == graphs_hard.EASY
        )
        assert cell.epochs == 3
        found.append(measurer(sets, graphs_hard.OBJECTIVES, scale)(cell))
    assert (found[0].svm, found[0].loss) == (found[1].svm, found[1].loss)
    assert found[1].published >= found[1].svm


def test_as_many_steps_as_with_partial_batches() -> None:
    sets = {"MUTAG": random_graph_set(188), "PTC_MR": random_graph_set(344)}
    scale = GraphScale(seeds=[0])
    epochs = {run.data: run.epochs for run in cells_of(sets, ("a",), scale) if run.epochs}
    assert epochs == {"MUTAG": 200, "PTC_MR": 300}


def test_every_kind_of_negatives_between_views_is_searched_over_equally_many_settings() -> None:
    families = graphs_augmented.FAMILIES
    assert {len(names) for names in families.values()} == {4}
    assert {name for names in families.values() for name in names} == set(graphs_augmented.SEARCHED)
    assert set(graphs_augmented.OBJECTIVES) - set(graphs_augmented.VIEWS) == {graphs_augmented.INFO_GRAPH}


def test_a_view_makes_graphs_the_pairs() -> None:
    run = GraphRun(data="MUTAG", method="a", seed=0, graphs=24, epochs=1, folds=3)
    objective = graphs_hard.OBJECTIVES[graphs_hard.INFO_GRAPH]
    nodes = graph_training.config_of(objective, run, GraphScale())
    graphs = graph_training.config_of(objective, run, GraphScale(), OneChange())
    assert (nodes.positives, nodes.augmentation) == (OwnGraph(), None)
    assert (graphs.positives, graphs.augmentation) == (SameInstance(), OneChange())


def test_easy_negatives_have_the_weights_of_hard_ones_reversed() -> None:
    nodes, graphs = torch.randn(6, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    owner = torch.tensor([0, 0, 1, 1, 2, 2])
    parts = {"temperature": 1.0, "contrast": Softplus(), "normalize": False}
    easy = Objective(coupling=Easy(beta=1.5), **parts).weights(NodesToGraphs()(nodes, graphs, owner=owner))  # type: ignore[arg-type]
    hard = Objective(coupling=Hard(beta=1.5, clip=2.0), **parts)  # type: ignore[arg-type]
    reversed_ = hard.weights(NodesToGraphs()(nodes, -graphs, owner=owner))
    torch.testing.assert_close(easy, reversed_)
    for wrong in ({"beta": 0.0}, {"beta": 1.0, "clip": 0.0}):
        with pytest.raises(ValueError, match="must be a finite number above 0"):
            Easy(**wrong)


def test_too_few_different_graphs_have_no_number(tmp_path: Path) -> None:
    graphs = random_graph_set(8)
    test = GraphTest(
        labels=graphs.required_labels(),
        numbers=torch.tensor([0, 1, 0, 1, 0, 1, 2, 3]),
        validation=CrossValidation(folds=4),
        machine=SVM(costs=(1.0,)),
    )
    score = test.score([torch.randn(8, 2)], loss=0.0, seconds=0.0)
    assert math.isnan(score.distinct)
    assert score.different == 4
    assert score.leaked > 0
    results = Results(tmp_path / "table.csv", GraphRun, GraphScore)
    run = GraphRun(data="MUTAG", method="a", seed=0, graphs=8, epochs=0, folds=4)
    results.append(run, score)
    read = Results(tmp_path / "table.csv", GraphRun, GraphScore).known
    assert math.isnan(read[run].distinct)
    for known in (read, {run: replace(score, distinct=0.0)}):  # 0 in tables of earlier versions
        shown = graph_tables.numbers(GraphResults(scores=known), {}, "a")
        assert shown.rows[0][shown.header.index("different graphs")] == "–"
