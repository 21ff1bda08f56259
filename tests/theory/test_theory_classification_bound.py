"""The bound of Theorem 3.1: a representation that breaks it as printed, and one that does not break ours."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tammes.theory import ClassificationBound, margin_loss, margin_risk

BOUND = ClassificationBound(unsupervised_loss=0.5, collision=0.1, negatives=4, margin=0.5, samples=10_000)


def spread_classes(count: int, *, classes: int, tilt: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors at an angle to their class's axis, all around it, the classes in spaces of their own."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, count)
    around = generator.uniform(0, 2 * math.pi, count)
    own = [math.cos(tilt) * np.ones(count), math.sin(tilt) * np.cos(around), math.sin(tilt) * np.sin(around)]
    f = np.zeros((count, classes, 3))
    f[np.arange(count), labels] = np.stack(own, axis=1)
    return f.reshape(count, -1), labels


def measured(margin: float, negatives: int) -> tuple[float, float, float]:
    """Of such a representation: L_un with the loss A.13, with the convex one, and L_class of the means."""
    n, classes, tilt = 20_000, 4, math.pi / 5
    f, labels = spread_classes(n, classes=classes, tilt=tilt, seed=0)
    others, _ = spread_classes(n * negatives, classes=classes, tilt=tilt, seed=1)
    positive, of_positive = spread_classes(40 * n, classes=classes, tilt=tilt, seed=2)
    queue = [np.flatnonzero(of_positive == c) for c in range(classes)]
    chosen = np.array([queue[c][i % len(queue[c])] for i, c in enumerate(labels)])
    to_others = np.einsum("nd,nmd->nm", f, others.reshape(n, negatives, -1)).max(axis=1)
    v = (f * positive[chosen]).sum(axis=1) - to_others
    means = np.stack([f[labels == c].mean(axis=0) for c in range(classes)])
    convex = np.maximum(0, 1 - v / margin).mean()
    return (
        float(margin_loss(v, margin=margin).mean()),
        float(convex),
        margin_risk(f @ means.T, labels, margin=margin),
    )


@pytest.mark.parametrize("negatives", [1, 2])
def test_the_printed_bound_fails_where_images_of_a_class_differ(negatives: int) -> None:
    loss, convex, risk = measured(0.05, negatives)
    bound = ClassificationBound(
        unsupervised_loss=loss, collision=0.25, negatives=negatives, margin=0.05, samples=20_000
    )
    assert risk == 0
    assert bound.printed < -0.1, "no bound of a loss, which is never negative"
    assert replace(bound, unsupervised_loss=convex).corrected >= risk


def test_what_is_printed_by_hand() -> None:
    chance = math.sqrt(math.log(20) / 20_000)
    assert BOUND.printed == pytest.approx((0.5 - 0.4 + chance) / 0.6)
    assert BOUND.main_text == pytest.approx((0.5 - 0.1 + chance) / 0.9)
    assert BOUND.corrected == pytest.approx((0.5 - 1 + 0.9**4 + 5 * chance) / 0.9**4)
    noisy = replace(BOUND, alpha=0.25, complexity=0.01)
    assert noisy.printed - BOUND.printed == pytest.approx(4 * (4 * 0.5) * 0.01 / 0.6)
    assert noisy.corrected - BOUND.corrected == pytest.approx(4 * (4 / 0.5) * 0.01 / 0.9**4)


def test_with_one_negative_both_texts_agree() -> None:
    single = replace(BOUND, negatives=1)
    assert single.printed == single.main_text


@pytest.mark.parametrize(("collision", "negatives"), [(0.25, 4), (0.5, 2), (1.0, 1)])
def test_where_a_false_negative_is_certain_the_bound_is_infinite(collision: float, negatives: int) -> None:
    bound = replace(BOUND, collision=collision, negatives=negatives)
    assert bound.printed == math.inf
    assert math.isinf(bound.corrected) == (collision == 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"unsupervised_loss": -0.1}, "unsupervised_loss must be"),
        ({"complexity": math.nan}, "complexity must be"),
        ({"collision": 1.1}, "collision must be a finite number at least 0 and at most 1"),
        ({"margin": 0.0}, "margin must be a finite number above 0"),
        ({"alpha": 0.5}, "alpha must be a finite number at least 0 and below 0.5"),
        ({"delta": 0.0}, "delta must be a finite number above 0 and below 1"),
        ({"negatives": 0}, "negatives must be an integer"),
        ({"samples": 0}, "samples must be an integer"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(BOUND, **changes)  # type: ignore[arg-type]
