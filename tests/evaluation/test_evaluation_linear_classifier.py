import pytest
import torch
from torch import nn

from tammes.evaluation import LabeledFeatures, LinearClassifier
from tammes.evaluation import linear_classifier as module


def corners(n: int, seed: int, spread: float = 0.3) -> LabeledFeatures:
    """Three classes around three corners, far from a line through the origin."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    noise = spread * torch.randn(n, 3, generator=generator, dtype=torch.float64)
    return LabeledFeatures(features=torch.eye(3, dtype=torch.float64)[labels] + noise, labels=5 * labels)


def test_separate_classes_are_told_apart() -> None:
    assert LinearClassifier(batch_size=50).accuracy(corners(300, 0), corners(90, 1)) > 0.95


def test_shuffled_labels_are_not() -> None:
    train = corners(300, 0)
    shuffled = train.labels[torch.randperm(300, generator=torch.Generator().manual_seed(0))]
    unlearned = LabeledFeatures(features=train.features, labels=shuffled)
    assert LinearClassifier(batch_size=50).accuracy(unlearned, corners(300, 1)) < 0.55


def test_it_is_a_linear_layer_under_cross_entropy_and_adam() -> None:
    points, classifier = corners(64, 0), LinearClassifier(epochs=3, batch_size=24, learning_rate=0.03)
    targets = points.labels // 5
    generator = torch.Generator().manual_seed(0)
    layer = nn.Linear(3, 3, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.uniform_(-(3**-0.5), 3**-0.5, generator=generator)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.03)
    totals, weights = [], []
    for _ in range(3):
        order, total = torch.randperm(64, generator=generator), 0.0
        for rows in order.split(24):
            losses = -torch.log_softmax(layer(points.features[rows]), dim=1)
            loss = losses[torch.arange(len(rows)), targets[rows]]
            total += loss.sum().item()
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
        totals.append(total)
        weights.append(layer.weight.detach().clone())
    expected = weights[min(range(3), key=totals.__getitem__)]
    torch.testing.assert_close(classifier.weight(points.features, targets, 3), expected)


@pytest.mark.equal_bits
def test_the_epoch_with_the_smallest_loss_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    points = corners(60, 0)
    real, calls = module.cross_entropy, []

    def worse_from_the_third_epoch_on(*arguments: torch.Tensor, **options: str) -> torch.Tensor:
        calls.append(1)
        return real(*arguments, **options) + (1e6 if len(calls) > 2 else 0.0)

    monkeypatch.setattr(module, "cross_entropy", worse_from_the_third_epoch_on)
    kept = LinearClassifier(epochs=5, batch_size=60).weight(points.features, points.labels // 5, 3)
    monkeypatch.setattr(module, "cross_entropy", real)
    two = LinearClassifier(epochs=2, batch_size=60).weight(points.features, points.labels // 5, 3)
    assert torch.equal(kept, two)


@pytest.mark.equal_bits
def test_the_seed_decides() -> None:
    points = corners(60, 0)
    weights = [
        LinearClassifier(epochs=1, seed=seed).weight(points.features, points.labels // 5, 3)
        for seed in (0, 0, 1)
    ]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_narrow_features_are_widened(kind: torch.dtype) -> None:
    points = corners(60, 0, spread=0.1)
    narrow = LabeledFeatures(features=points.features.to(kind), labels=points.labels)
    assert LinearClassifier(batch_size=20).accuracy(narrow, narrow) == 1.0


def test_impossible_settings_are_refused() -> None:
    for name in ("epochs", "batch_size"):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1, got 0"):
            LinearClassifier(**{name: 0})
    for rate in (0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="learning_rate must be a finite number above 0"):
            LinearClassifier(learning_rate=rate)
    wide = LabeledFeatures(features=torch.eye(4), labels=torch.tensor([0, 1, 1, 0]))
    with pytest.raises(ValueError, match="same encoder"):
        LinearClassifier().accuracy(corners(9, 0), wide)
