import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.evaluation import LabeledFeatures, MeanClassifier
from tammes.evaluation import linear_classifier as module
from tammes.evaluation.linear_classifier import class_means


def points(n: int, classes: int, seed: int) -> LabeledFeatures:
    generator = torch.Generator().manual_seed(seed)
    labels = 3 * torch.randint(classes, (n,), generator=generator) - 1
    labels[:2] = torch.tensor([-1, 2])
    return LabeledFeatures(features=torch.randn(n, 4, generator=generator).double(), labels=labels)


@given(n=st.integers(2, 40), classes=st.integers(2, 6), seed=st.integers(0, 10**6))
def test_it_is_the_formula(n: int, classes: int, seed: int) -> None:
    train, test = points(n, classes, seed), points(n, classes, seed + 1)
    present = sorted(set(train.labels.tolist()))
    means = {label: train.features[train.labels == label].mean(dim=0) for label in present}
    expected = [max(present, key=lambda c: float(x @ means[c])) for x in test.features]
    assert MeanClassifier().predict(train, test.features).tolist() == expected
    right = sum(a == b for a, b in zip(expected, test.labels.tolist(), strict=True))
    assert MeanClassifier().accuracy(train, test) == pytest.approx(right / n)


def test_lengths_count() -> None:
    # The cosine would say class 0; the longer mean has the larger product.
    train = LabeledFeatures(features=torch.tensor([[1.0, 0], [3, 3]]), labels=torch.tensor([0, 1]))
    assert MeanClassifier().predict(train, torch.tensor([[1.0, 0.2]])).tolist() == [1]


@pytest.mark.equal_bits
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    train, test = points(50, 5, 0), points(33, 5, 1)
    whole = MeanClassifier().predict(train, test.features)
    monkeypatch.setattr(module, "BLOCK", 7)
    assert torch.equal(MeanClassifier().predict(train, test.features), whole)


def test_means_are_summed_in_full_precision() -> None:
    # 4,096 times 1 + 1/128 in bfloat16, whose own sum would stop at 256.
    features = torch.full((4097, 1), 1 + 1 / 128, dtype=torch.bfloat16)
    many = LabeledFeatures(features=features, labels=torch.arange(4097).clamp(max=1))
    assert class_means(many)[1].flatten().tolist() == pytest.approx([1 + 1 / 128] * 2)


def test_products_that_overflow_are_refused() -> None:
    points = LabeledFeatures(features=torch.tensor([[1.0, 2.0], [2.0, 1.0]]), labels=torch.tensor([0, 1]))
    assert MeanClassifier().accuracy(points, points) == 1.0
    huge = LabeledFeatures(features=1e20 * points.features, labels=points.labels)
    with pytest.raises(ValueError, match=r"inner products torch\.float32 can hold, got larger ones"):
        MeanClassifier().predict(huge, huge.features)
    assert MeanClassifier().predict(huge, points.features).tolist() == [0, 1]


def test_features_of_another_width_are_refused() -> None:
    wide = LabeledFeatures(features=torch.eye(5), labels=torch.arange(5))
    with pytest.raises(ValueError, match="same encoder"):
        MeanClassifier().accuracy(points(5, 2, 0), wide)
