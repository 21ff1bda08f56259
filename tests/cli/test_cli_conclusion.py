"""The sentence at the end of a training."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tammes import recipes
from tammes.cli.conclusion import conclusion
from tammes.cli.scores import Measured, Trial
from tammes.positives import GivenPairs, Photographs, SameInstance
from tammes.report import Scores
from tammes.training import EpochMetrics


def trial(
    name: str,
    *knn: float | None,
    similarities: tuple[float, float] = (0.9, 0.2),
    first: float = 0.9,
    epochs: int = 2,
    **settings: Any,
) -> Trial:
    training = SimpleNamespace(
        objective=recipes.simclr(temperature=0.5),
        **{"positives": SameInstance(), "augmentation": Photographs(), **settings},
    )
    ends = ((first, first), similarities)[-epochs:]
    metrics = [
        EpochMetrics(
            epoch=epoch, step=epoch, last={"positive_similarity": positive, "negative_similarity": negative}
        )
        for epoch, (positive, negative) in enumerate(ends, start=1)
    ]
    run: Any = SimpleNamespace(metrics=metrics, config=SimpleNamespace(training=training))
    return Trial(name=name, measured=tuple(map(measured, knn)), runs=(run,) * len(knn))


def measured(knn: float | None, rows: int = 500) -> Measured:
    """Return outcomes of this accuracy, the first rows right: two classifiers agree as often as they can."""
    if knn is None:
        return Measured()
    right = round(knn * rows)
    return Measured(scores=Scores(knn=knn), right=(True,) * right + (False,) * (rows - right))


@pytest.mark.parametrize(
    ("ours", "untrained", "pixels", "start"),
    [
        (0.95, 0.80, 0.85, "Learned: neighbors name 95.0 % of the held-out rows (untrained encoder 80.0 %"),
        (0.80, 0.79, 0.60, "No better than untrained encoder, as far as 500 rows tell"),
        (0.70, 0.80, 0.60, "Below untrained encoder"),
        (0.90, 0.70, 0.96, "Below raw pixels"),
        (0.90, 0.70, 0.89, "Better than untrained, not clearly above raw pixels"),
    ],
)
def test_it_says_which_floor_was_passed(ours: float, untrained: float, pixels: float, start: str) -> None:
    floors = (trial("untrained encoder", untrained), trial("raw pixels", pixels))
    found = conclusion(trial("run", ours), floors)
    assert found.startswith(start)
    assert ("Try first" in found) is (not start.startswith("Learned"))


def test_it_advises_what_the_data_can_have() -> None:
    floors = (trial("untrained encoder", 0.70), trial("raw pixels", 0.89))
    assert conclusion(trial("run", 0.90), floors).endswith("a wider encoder or another augmentation.")
    assert conclusion(trial("run", 0.90, augmentation=None), floors).endswith("then a wider encoder.")
    floors = (trial("untrained encoder", 1.0), trial("raw pixels", 0.89))
    assert conclusion(trial("run", 1.0), floors).endswith("on these rows: measure on harder ones.")
    floors = (trial("untrained encoder", 0.998), trial("raw pixels", 1.0))
    assert conclusion(trial("run", 1.0), floors).endswith("on these rows: measure on harder ones.")
    assert "--tasks FOLDER" in conclusion(trial("run", None, positives=GivenPairs()), ())


def test_several_seeds_decide_by_their_differences() -> None:
    floors = (trial("untrained encoder", 0.80, 0.82, 0.81), trial("raw pixels", 0.82))
    assert conclusion(trial("run", 0.85, 0.87, 0.86), floors).startswith("Learned")
    wide = trial("run", 0.70, 0.99, 0.86)
    assert conclusion(wide, floors).startswith("No better than untrained encoder, as far as 3 seeds tell")
    close = (trial("untrained encoder", 0.80, 0.82, 0.81), trial("raw pixels", 0.86))
    assert conclusion(trial("run", 0.85, 0.87, 0.86), close).startswith("Better than untrained, not")


def test_seeds_that_agree_by_chance_do_not_hide_how_few_rows_differ() -> None:
    floors = (trial("untrained encoder", 0.90, 0.91, 0.90), trial("raw pixels", 0.972))
    equal = trial("run", 0.978, 0.978, 0.978)
    assert conclusion(equal, floors).startswith("Better than untrained, not clearly above raw pixels")


def test_collapse_is_named_with_its_sign_unless_the_accuracy_has_risen() -> None:
    floors = (trial("untrained encoder", 0.5),)
    collapsed = trial("run", 0.45, similarities=(0.999, 0.998))
    found = conclusion(collapsed, floors)
    assert found.startswith("Collapsed: a positive is as similar as a negative (cosines 0.999 and 0.998)")
    assert conclusion(trial("run", None, similarities=(0.999, 0.998)), ()).startswith("Collapsed")
    # A head may bring all rows close to each other, and the features in front of it still tell them apart.
    assert conclusion(trial("run", 0.95, similarities=(0.92, 0.926)), floors).startswith("Learned")


def test_embeddings_that_have_not_moved_have_not_collapsed() -> None:
    floors = (trial("untrained encoder", 0.5),)
    spread = trial("run", 0.5, similarities=(-0.051, -0.018))
    assert conclusion(spread, floors).startswith("No better than untrained encoder")
    short = trial("run", 0.45, similarities=(0.978, 0.975), epochs=1)
    assert conclusion(short, floors).startswith("Below untrained encoder")
    falling = trial("run", 0.45, similarities=(0.95, 0.945), first=0.99)
    assert conclusion(falling, floors).startswith("Below untrained encoder")


def test_without_a_measurement_it_says_how_to_get_one() -> None:
    assert conclusion(trial("run", None), ()).startswith("Not measured")
