import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from tammes.evaluation import KNN, LabeledFeatures, knn_accuracy
from tammes.evaluation.knn import nearest_columns


def points(n: int, dim: int, classes: int, seed: int) -> LabeledFeatures:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (n,), generator=generator)
    labels[:2] = torch.tensor([0, 1])
    features = torch.randn(n, dim, generator=generator, dtype=torch.float64)
    return LabeledFeatures(features=features + torch.eye(classes, dim)[labels], labels=labels)


@given(n=st.integers(2, 60), classes=st.integers(2, 6), seed=st.integers(0, 2**32), data=st.data())
def test_votes_are_those_of_scikit_learn(n: int, classes: int, seed: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n))
    temperature = data.draw(st.sampled_from([None, 0.07, 0.5]))
    train, test = points(n, 5, classes, seed), points(20, 5, classes, seed + 1)
    reference = KNeighborsClassifier(
        k,
        metric="cosine",
        algorithm="brute",
        weights="uniform" if temperature is None else lambda distance: np.exp(-distance / temperature),
    ).fit(train.features.numpy(), train.labels.numpy())
    probability = np.sort(reference.predict_proba(test.features.numpy()), axis=1)
    decided = probability[:, -1] > probability[:, -2] + 1e-9
    expected = reference.predict(test.features.numpy())
    predicted = KNN(neighbors=k, temperature=temperature).predict(train, test.features).numpy()
    assert (predicted == expected)[decided].all()


@pytest.mark.equal_bits
@given(seed=st.integers(0, 2**32), block=st.sampled_from([1, 7, 100]))
def test_blocks_change_nothing(seed: int, block: int) -> None:
    train, test = points(30, 4, 3, seed), points(25, 4, 3, seed + 1)
    whole = KNN(neighbors=4).predict(train, test.features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tammes.evaluation.knn.BLOCK", block)
        assert torch.equal(KNN(neighbors=4).predict(train, test.features), whole)


@pytest.mark.equal_bits
@given(rows=st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1), k=st.integers(1, 6))
def test_of_equals_the_earlier_is_the_neighbor(rows: list[list[int]], k: int) -> None:
    similarity = torch.tensor(rows, dtype=torch.float32)
    expected = similarity.argsort(dim=1, descending=True, stable=True)[:, :k].sort(dim=1).values
    assert torch.equal(nearest_columns(similarity, k), expected)


def test_ties_between_classes_go_to_the_more_similar_then_the_smaller_label() -> None:
    def winner(*train: tuple[float, int]) -> int:
        """Training points at an angle from the query, with their labels; all of them vote."""
        angles = torch.tensor([angle for angle, _ in train], dtype=torch.float64)
        features = torch.stack([angles.cos(), angles.sin()], dim=1)
        bank = LabeledFeatures(features=features, labels=torch.tensor([label for _, label in train]))
        query = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
        return int(KNN(neighbors=len(train)).predict(bank, query))

    assert winner((0.1, 5), (0.2, 3)) == 5
    assert winner((0.2, 5), (0.1, 3)) == 3
    assert winner((0.1, 5), (0.1, 3)) == 3
    assert winner((0.0, 9), (0.4, 5), (0.3, 3), (0.1, 5), (0.1, 3)) == 3


def test_a_low_temperature_follows_the_nearest_and_overflows_nowhere() -> None:
    train = LabeledFeatures(
        features=torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]]), labels=torch.tensor([0, 1, 1])
    )
    query = torch.tensor([[1.0, 0.1]])
    assert KNN(neighbors=3).predict(train, query).tolist() == [1]
    for temperature in (1e-6, 1e-50, 1e-300):
        assert KNN(neighbors=3, temperature=temperature).predict(train, query.flip(1)).tolist() == [1]
        assert KNN(neighbors=3, temperature=temperature).predict(train, query).tolist() == [0]
    assert KNN(neighbors=3, temperature=1e6).predict(train, query).tolist() == [1]


@pytest.mark.equal_bits
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_only_directions_count(scale: float) -> None:
    train, test = points(30, 4, 3, seed=1), points(20, 4, 3, seed=2)
    scaled = LabeledFeatures(features=(train.features * scale).float(), labels=train.labels)
    knn = KNN(neighbors=5)
    assert torch.equal(knn.predict(scaled, test.features.float()), knn.predict(train, test.features))


def test_a_vector_of_length_zero_is_like_nothing() -> None:
    train = LabeledFeatures(
        features=torch.tensor([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]), labels=torch.tensor([4, 5, 6])
    )
    queries = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    assert KNN(neighbors=1).predict(train, queries).tolist() == [5, 4]


def test_points_of_two_precisions_are_compared() -> None:
    generator = torch.Generator().manual_seed(0)
    features, labels = torch.randn(30, 4, generator=generator), torch.arange(30) % 3
    single = LabeledFeatures(features=features, labels=labels)
    double = LabeledFeatures(features=features.double(), labels=labels)
    expected = KNN(neighbors=3).predict(single, single.features)
    for train, test in ((single, double), (double, single)):
        assert torch.equal(KNN(neighbors=3).predict(train, test.features), expected)


def test_half_precision_is_taken() -> None:
    train = points(30, 4, 3, seed=1)
    half = LabeledFeatures(features=train.features.bfloat16(), labels=train.labels)
    assert KNN(neighbors=1).accuracy(half, half) == 1.0


def test_memory_grows_with_the_points_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), keywords=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            result = function(*arguments, **(keywords or {}))
            if isinstance(result, torch.Tensor):
                largest = max(largest, result.numel())
            return result

    monkeypatch.setattr("tammes.evaluation.knn.BLOCK", 4000)
    train, test = points(400, 4, 3, seed=1), points(400, 4, 3, seed=2)
    with Watch():
        KNN(neighbors=5).predict(train, test.features)
    assert largest == 4000


def test_labels_may_be_any_integers() -> None:
    train = LabeledFeatures(features=torch.eye(2), labels=torch.tensor([-3, 1000]))
    assert KNN(neighbors=1).predict(train, torch.eye(2)).tolist() == [-3, 1000]


def test_accuracy_is_the_fraction_that_is_right() -> None:
    features = torch.eye(4)
    right, half_right = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 3, 2])
    assert knn_accuracy(features, right, features, half_right, KNN(neighbors=1)) == 0.5


def test_what_cannot_vote_is_refused() -> None:
    train = LabeledFeatures(features=torch.eye(3), labels=torch.tensor([0, 1, 1]))
    wide = LabeledFeatures(features=torch.eye(4), labels=torch.tensor([0, 1, 1, 0]))
    with pytest.raises(ValueError, match="4 neighbors and 3 points; choose fewer"):
        KNN(neighbors=4).accuracy(train, train)
    with pytest.raises(ValueError, match="same encoder, got width 3 for training and 4 for testing"):
        KNN(neighbors=1).accuracy(train, wide)
    with pytest.raises(ValueError, match="neighbors must be an integer of at least 1"):
        KNN(neighbors=0)
    with pytest.raises(ValueError, match="temperature must be a finite number above 0, got 0"):
        KNN(temperature=0)
    with pytest.raises(ValueError, match="NaN or infinity"):
        knn_accuracy(np.full((2, 2), np.nan), np.array([0, 1]), np.eye(2), np.array([0, 1]))
