"""The published evaluation of graphs: SVM, folds, the Weisfeiler-Lehman kernel and graphs that are equal."""

from collections import Counter

import numpy as np
import pytest
import torch

from tammes.data import GraphSet, graphs_of
from tammes.evaluation import (
    SVM,
    CrossValidation,
    LabeledFeatures,
    LinearProbe,
    degree_histograms,
    distinct,
    equal_graphs,
    leaked,
    svm,
    wl_features,
)
from tiny import random_graph_set


def two_clouds(n: int = 60, d: int = 3) -> LabeledFeatures:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(n) % 2
    return LabeledFeatures(
        features=torch.randn(n, d, generator=generator) + 1.5 * labels[:, None], labels=labels
    )


def test_the_machine_is_scikit_learns_with_its_grid() -> None:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    points = two_clouds()
    x, y = points.features.double().numpy(), points.labels.numpy()
    grid = {"C": [1e-3, 1e-2, 1e-1, 1, 10, 100, 1000]}
    expected = GridSearchCV(SVC(), grid, cv=5).fit(x[:40], y[:40]).predict(x[40:])
    train = LabeledFeatures(features=points.features[:40], labels=points.labels[:40])
    assert SVM().predict(train, points.features[40:]).tolist() == expected.tolist()
    best = GridSearchCV(SVC(), grid, cv=5).fit(x[:40], y[:40]).best_score_
    assert SVM().predict_scored(train, points.features[40:])[1] == pytest.approx(best)


@pytest.mark.parametrize("offset", [0.1, 1e8])
def test_features_far_from_zero_keep_their_distances(offset: float) -> None:
    points, tested = two_clouds(), two_clouds(40).features.double()
    far = LabeledFeatures(features=points.features.double() + offset, labels=points.labels)
    expected, score = SVM().predict_scored(points, tested)
    found, other = SVM().predict_scored(far, tested + offset)
    assert found.tolist() == expected.tolist()
    assert other == score
    alike = LabeledFeatures(features=torch.full((60, 40), offset, dtype=torch.float64), labels=points.labels)
    assert SVM().predict_scored(alike, alike.features)[1] == 0.5


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("costs", [(0.1,), (1e-3, 0.1, 1.0, 100.0)])
def test_many_points_are_learned_from_without_their_kernel(
    linear: bool, costs: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    points, machine = two_clouds(), SVM(linear=linear, costs=costs)
    expected, score = machine.predict_scored(points, points.features)
    monkeypatch.setattr(svm, "MOST_OF_KERNEL", 59)
    monkeypatch.setattr(SVM, "_between", None)  # not even called
    found, other = machine.predict_scored(points, points.features)
    assert found.tolist() == expected.tolist()
    assert other == pytest.approx(score)


def test_features_of_a_network_in_training_are_taken() -> None:
    points = LabeledFeatures(features=torch.eye(4).repeat(3, 1), labels=torch.arange(12) % 4 // 2)
    traced = LabeledFeatures(features=points.features.clone().requires_grad_(), labels=points.labels)
    for linear in (True, False):
        found = SVM(linear=linear).predict(traced, traced.features)
        assert torch.equal(found, SVM(linear=linear).predict(points, points.features))


def test_no_label_of_a_test_fold_reaches_the_choice_of_c() -> None:
    points = two_clouds()
    seen = []

    def predict(train: LabeledFeatures, features: torch.Tensor) -> torch.Tensor:
        seen.append((len(train), len(features)))
        return SVM(costs=(0.1, 1.0)).predict(train, features)

    validation = CrossValidation(folds=5, repeats=2)
    accuracy = validation.accuracy(predict, points)
    assert seen == [(48, 12)] * 10
    assert 0.6 < accuracy <= 1
    for train, test in validation.splits(points.labels):
        assert not set(train.tolist()) & set(test.tolist())
        assert points.labels[test].sum() == 6
    tested = [row for _, test in validation.splits(points.labels) for row in test.tolist()]
    assert set(Counter(tested).values()) == {2}


def test_labels_that_mean_nothing_are_not_learned() -> None:
    generator = torch.Generator().manual_seed(1)
    points = LabeledFeatures(
        features=torch.randn(200, 4, generator=generator),
        labels=torch.randint(2, (200,), generator=generator),
    )
    for predict in (SVM(costs=(0.1, 10.0)).predict, LinearProbe().predict):
        assert abs(CrossValidation().accuracy(predict, points) - 0.5) < 0.12


def test_few_points_have_no_inner_folds() -> None:
    points = LabeledFeatures(features=torch.eye(3), labels=torch.tensor([0, 1, 1]))
    assert SVM(linear=True).predict(points, torch.eye(3)).tolist() == [0, 1, 1]
    assert SVM(costs=(1.0,)).accuracy(two_clouds(), two_clouds()) > 0.8


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: SVM(costs=()), "costs must be positive values of C"),
        (lambda: SVM(costs=(0.0,)), "costs must be positive values of C"),
        (lambda: SVM(inner=1), "inner must be an integer of at least 2"),
        (lambda: CrossValidation(folds=1), "folds must be an integer of at least 2"),
        (lambda: CrossValidation(repeats=0), "repeats must be an integer"),
        (lambda: CrossValidation(folds=40).accuracy(SVM().predict, two_clouds()), "got 30 of class 0"),
        (
            lambda: CrossValidation(folds=5).check(torch.tensor([0] * 9 + [1] * 4), ("ring", "star")),
            "at least 5 points of each class, one for each fold, got 4 of class star",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(made: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        made()  # type: ignore[operator]


def subtree_kernel(graphs: GraphSet, iterations: int) -> np.ndarray:
    """The kernel by sorted words, one node at a time."""
    counts = []
    for row in range(len(graphs)):
        batch = graphs.batch([row])
        neighbors = [batch.edges[1][batch.edges[0] == node].tolist() for node in range(len(batch.owner))]
        words = [str(features) for features in batch.features.tolist()]
        found = Counter(words)
        for _ in range(iterations):
            words = [
                str((word, sorted(words[other] for other in others)))
                for word, others in zip(words, neighbors, strict=True)
            ]
            found += Counter(words)
        counts.append(found)
    kernel = np.array([[sum(a[word] * b[word] for word in a) for b in counts] for a in counts], float)
    return kernel / np.sqrt(np.outer(np.diag(kernel), np.diag(kernel)))


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_the_kernel_counts_subtrees(iterations: int) -> None:
    graphs = random_graph_set(12)
    features = wl_features(graphs, iterations=iterations)
    np.testing.assert_allclose(features @ features.T, subtree_kernel(graphs, iterations), atol=1e-7)


def test_isomorphic_graphs_are_equal_and_others_are_not() -> None:
    graphs = random_graph_set(10)
    rows = []
    for row in range(10):
        batch = graphs.batch([row])
        order = torch.randperm(len(batch.owner), generator=torch.Generator().manual_seed(row))
        place = torch.argsort(order)
        rows += [
            {"edge_index": batch.edges, "x": batch.features, "y": row % 2},
            {"edge_index": place[batch.edges], "x": batch.features[order], "y": row % 2},
        ]
    doubled = graphs_of(rows)
    numbers = equal_graphs(doubled)
    assert torch.equal(numbers[0::2], numbers[1::2])
    assert len(distinct(doubled)) == len(numbers.unique()) == len(equal_graphs(graphs).unique())
    triangles = {"edge_index": [[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]], "num_nodes": 6}
    ring = {"edge_index": [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]], "num_nodes": 6}
    path = {"edge_index": [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], "num_nodes": 6}
    # Color refinement cannot tell a ring from two triangles: neither can message passing.
    assert equal_graphs(graphs_of([triangles, ring, path])).tolist().count(0) in (1, 2)
    first, second, third = equal_graphs(graphs_of([triangles, ring, path])).tolist()
    assert first == second != third
    train, test = torch.arange(0, 20, 2), torch.arange(1, 20, 2)
    assert leaked(numbers, train, test) == 10


def test_degrees_are_counted() -> None:
    graphs = random_graph_set(6)
    found = degree_histograms(graphs)
    assert found.shape == (6, 66)
    torch.testing.assert_close(found[:, :64].sum(1), graphs.sizes.float())
    star = graphs_of([{"edge_index": [[0] * 80, list(range(1, 81))], "num_nodes": 81}])
    assert degree_histograms(star)[0, [1, 63]].tolist() == [80, 1]


def test_relatives_side_by_side_are_in_one_fold() -> None:
    """Each graph has a relative beside it in the file, whose label is drawn: random folds learn it."""
    generator = torch.Generator().manual_seed(0)
    families = torch.randn(40, 3, generator=generator).repeat_interleave(3, 0)
    labels = torch.randint(2, (40,), generator=generator).repeat_interleave(3)
    points = LabeledFeatures(features=10 * families, labels=labels)
    machine = SVM(costs=(10.0,))
    drawn, blocks = (
        CrossValidation(folds=10, in_order=in_order).accuracy(machine.predict, points)
        for in_order in (False, True)
    )
    assert drawn > 0.75
    assert blocks < 0.65
