import numpy as np
import pytest
import torch

from tammes.evaluation import KNN, LabeledFeatures, LinearClassifier, MeanClassifier


def test_arrays_and_tensors_are_the_same() -> None:
    features, labels = np.eye(3), np.array([0, 1, 1])
    of_arrays = LabeledFeatures.of(features, labels)
    of_tensors = LabeledFeatures.of(torch.from_numpy(features), torch.from_numpy(labels))
    assert torch.equal(of_arrays.features, of_tensors.features)
    assert torch.equal(of_arrays.labels, of_tensors.labels)
    assert len(of_arrays) == 3


def test_arrays_may_be_views_in_any_order_of_rows_and_bytes() -> None:
    features, labels = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1])
    for view in (features[::-1], features.astype(">f8")[::-1], np.asfortranarray(features)[::-1]):
        found = LabeledFeatures.of(view, labels[::-1])
        assert found.features.tolist() == [[4.0, 5.0], [2.0, 3.0], [0.0, 1.0]]
        assert found.labels.tolist() == [1, 1, 0]


def test_words_are_no_labels() -> None:
    for words in (np.array(["cat", "dog"]), np.array(["cat", 2], dtype=object)):
        with pytest.raises(ValueError, match="expected numbers as labels, got an array of"):
            LabeledFeatures.of(np.eye(2), words)


@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (torch.ones(3), torch.tensor([0, 1, 1]), r"\(n, features\), got torch.float32 \(3,\)"),
        (torch.ones(3, 2, dtype=torch.int64), torch.tensor([0, 1, 1]), "floating-point features"),
        (torch.ones(0, 2), torch.zeros(0, dtype=torch.int64), r"got torch.float32 \(0, 2\)"),
        (torch.ones(3, 2), torch.tensor([0.0, 1, 1]), "integer labels"),
        (torch.ones(3, 2), torch.tensor([[0, 1, 1]]), r"integer labels \(n,\), got torch.int64 \(1, 3\)"),
        (torch.ones(3, 2), torch.tensor([0, 1]), r"must have shape \(3,\), got \(2,\)"),
        (torch.ones(3, 2), torch.tensor([7, 7, 7]), "two different labels, got label 7 3 times"),
        (
            torch.tensor([[0.0, 1], [torch.nan, 1], [1, torch.inf]]),
            torch.tensor([0, 1, 1]),
            "NaN or infinity in 2 of 3 rows, the first of them row 1",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_refused(
    features: torch.Tensor, labels: torch.Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        LabeledFeatures(features=features, labels=labels)


@pytest.mark.parametrize("classifier", [KNN(neighbors=1), MeanClassifier(), LinearClassifier(epochs=1)])
def test_no_class_is_named_of_what_is_no_feature_vector(
    classifier: KNN | MeanClassifier | LinearClassifier,
) -> None:
    train = LabeledFeatures(features=torch.eye(2), labels=torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 2 rows, the first of them row 1"):
        classifier.predict(train, torch.tensor([[1.0, 0.0], [torch.nan, 1.0]]))
    with pytest.raises(ValueError, match=r"test points must have shape \(any, 2\), got \(1, 3\)"):
        classifier.predict(train, torch.ones(1, 3))
