import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.evaluation import LabeledFeatures, LinearProbe, ProbeNotConvergedWarning, linear_probe
from tammes.evaluation.probe import draw_labels


def clusters(n: int, seed: int, spread: float = 0.3) -> LabeledFeatures:
    """Three classes around three corners, on features of very different size."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    features = (np.eye(3)[labels] + spread * generator.standard_normal((n, 3))) * [1e-3, 1, 1e3]
    return LabeledFeatures.of(features.astype(np.float32), labels)


def test_separate_classes_are_told_apart() -> None:
    assert LinearProbe().accuracy(clusters(300, 0), clusters(90, 1)) > 0.95


def test_labels_are_predicted_as_the_accuracy_counts_them() -> None:
    train, test = clusters(300, 0), clusters(90, 1, spread=1.0)
    found = LinearProbe().predict(train, test.features)
    assert set(found.tolist()) == {0, 1, 2}
    accuracy = LinearProbe().accuracy(train, test)
    assert accuracy == (found == test.labels).sum() / 90
    assert 0.5 < accuracy < 1


@pytest.mark.parametrize("classes", [2, 3])
def test_it_minimizes_the_objective_of_the_docstring(classes: int) -> None:
    """Of two classes W has one row: the softmax of two would penalize the same logit half as much."""
    points = clusters(300, 0, spread=1.0)
    points = LabeledFeatures(features=points.features.double(), labels=points.labels % classes)
    deviation, mean = torch.std_mean(points.features, dim=0, correction=0)
    x, readout = (points.features - mean) / deviation, LinearProbe(regularization=0.5).fit(points)
    bias = readout.bias + readout.weight @ mean
    weight = readout.weight * deviation
    if classes == 2:
        weight, bias = weight[1:] - weight[:1], bias[1:] - bias[:1]
    weight, bias = weight.requires_grad_(), bias.requires_grad_()
    logits = x @ weight.T + bias
    logits = logits if classes > 2 else torch.cat([torch.zeros_like(logits), logits], dim=1)
    losses = torch.nn.functional.cross_entropy(logits, points.labels, reduction="sum")
    gradients = torch.autograd.grad(weight.square().sum() / 2 + losses / 0.5, (weight, bias))
    assert all(float(each.abs().max()) < 0.1 for each in gradients)


def test_shuffled_labels_are_not() -> None:
    train = clusters(300, 0)
    shuffled = train.labels[torch.randperm(300, generator=torch.Generator().manual_seed(0))]
    accuracy = linear_probe(train.features, shuffled, clusters(300, 1).features, clusters(300, 1).labels)
    assert accuracy < 0.55


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    fraction=st.floats(0.001, 1),
    seed=st.integers(0, 2**32),
)
def test_labels_are_drawn_from_each_class_alike(sizes: list[int], fraction: float, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = draw_labels(labels, fraction, np.random.default_rng(seed))
    assert len(set(rows.tolist())) == len(rows)
    assert (rows == np.sort(rows)).all()
    drawn = np.bincount(labels[rows], minlength=len(sizes))
    assert drawn.tolist() == [max(1, round(fraction * size)) for size in sizes]
    assert np.array_equal(rows, draw_labels(labels, fraction, np.random.default_rng(seed)))


def test_every_row_is_drawn_equally_often() -> None:
    labels = np.repeat([0, 1], 10)
    generator = np.random.default_rng(0)
    counts = np.zeros(20)
    for _ in range(2000):
        counts[draw_labels(labels, 0.3, generator)] += 1
    # 600 expected, standard deviation 20.5.
    assert abs(counts - 600).max() < 5 * 20.5


def test_few_labels_do_worse_and_the_seed_says_which() -> None:
    train, test = clusters(300, 0, spread=0.6), clusters(300, 1, spread=0.6)
    few = [LinearProbe(fraction=0.01, seed=seed).accuracy(train, test) for seed in range(5)]
    assert np.mean(few) < LinearProbe().accuracy(train, test)
    assert len(set(few)) > 1
    assert few[0] == LinearProbe(fraction=0.01, seed=0).accuracy(train, test)


def test_one_label_of_each_class_is_enough() -> None:
    assert 0 < LinearProbe(fraction=1e-6).accuracy(clusters(300, 0), clusters(90, 1)) <= 1


def test_one_label_of_each_of_many_classes_gives_no_warning() -> None:
    # scikit-learn warns of more than 20 classes that make up more than half of the rows.
    many = LabeledFeatures(features=torch.eye(30), labels=torch.arange(30))
    assert LinearProbe().accuracy(many, many) == 1.0


def test_a_constant_feature_does_no_harm() -> None:
    train, test = clusters(300, 0), clusters(90, 1)

    def with_constant(points: LabeledFeatures) -> LabeledFeatures:
        constant = torch.full((len(points), 1), 7.0)
        return LabeledFeatures(features=torch.cat([points.features, constant], dim=1), labels=points.labels)

    assert LinearProbe().accuracy(with_constant(train), with_constant(test)) == pytest.approx(
        LinearProbe().accuracy(train, test), abs=0.02
    )


def test_a_probe_that_does_not_converge_says_so() -> None:
    train = clusters(300, 0)
    with pytest.warns(
        ProbeNotConvergedWarning, match=r"on 300 labels did not converge in 1 iterations"
    ) as caught:
        LinearProbe(iterations=1).accuracy(train, train)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_impossible_settings_are_refused() -> None:
    for fraction in (0, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"fraction must be a finite number above 0 and at most 1"):
            LinearProbe(fraction=fraction)
    with pytest.raises(ValueError, match="regularization must be a finite number above 0, got 0"):
        LinearProbe(regularization=0)
    with pytest.raises(ValueError, match="iterations must be an integer of at least 1, got 0"):
        LinearProbe(iterations=0)
    wide = LabeledFeatures(features=torch.eye(4), labels=torch.tensor([0, 1, 1, 0]))
    with pytest.raises(ValueError, match="same encoder"):
        LinearProbe().accuracy(clusters(9, 0), wide)
