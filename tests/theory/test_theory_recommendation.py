"""The recommendation says no more than was counted or measured."""

import pytest

from tammes.theory import ClassDistribution, Recommendation, Regime, collision_probability_in_batch


@pytest.mark.parametrize(
    ("classes", "regime"),
    [
        (2, Regime.EASY),
        (10, Regime.EASY),
        (20, Regime.EASY),
        (50, Regime.OPEN),
        (100, Regime.HARD),
        (10_000, Regime.HARD),
    ],
)
def test_the_number_of_classes_decides_what_is_known(classes: int, regime: Regime) -> None:
    assert Recommendation.of(ClassDistribution.uniform(classes)).regime is regime


def test_an_estimate_must_be_on_one_side_with_all_of_its_range() -> None:
    assert Recommendation(class_prior=0.2, between=(0.06, 0.4)).regime is Regime.EASY
    assert Recommendation(class_prior=0.1, between=(0.03, 0.2)).regime is Regime.OPEN
    assert Recommendation(class_prior=0.006, between=(0.001, 0.02)).regime is Regime.OPEN
    assert Recommendation(class_prior=0.003, between=(0.001, 0.009)).regime is Regime.HARD


def test_false_negatives_are_counted_over_the_batch() -> None:
    known = Recommendation.of(ClassDistribution.uniform(1000), pairs=512)
    assert known.false_negatives == pytest.approx(1022 / 1000)
    assert known.batch_collision == collision_probability_in_batch(
        1022, ClassDistribution.uniform(1000), pairs=512
    )
    assert known.sentences[0] == (
        "Negatives: with 1,000 classes, 0.10 % of random ones are false, of the anchor's class: 1.0 of the "
        "1,022 in a batch."
    )


def test_uneven_classes_collide_as_fewer() -> None:
    known = Recommendation.of(ClassDistribution.of_counts([80, 10, 10]))
    assert known.sentences[0] == (
        "Negatives: with 3 classes (as 1.5 equal ones), 66.0 % of random ones are false, of the anchor's "
        "class."
    )
    assert known.false_negatives is None
    assert known.batch_collision is None


def test_classes_that_are_almost_even_are_named_by_their_number_alone() -> None:
    known = Recommendation.of(ClassDistribution.of_counts([142, 145, 146, 144]))
    assert known.sentences[0].startswith("Negatives: with 4 classes, 25.0 % of random")


def test_an_estimate_is_named_with_its_range() -> None:
    known = Recommendation(class_prior=0.05, pairs=256, between=(0.017, 0.15))
    assert known.sentences[0] == (
        "Negatives: about 5.0 % (from 1.7 % to 15.0 %) are false, judged by this embedding: 26 of the 510 in "
        "a batch."
    )
    assert known.batch_collision is None
    assert "from 30.0 % to 100.0 %" in Recommendation(class_prior=0.9, between=(0.3, 1.0)).sentences[0]
    assert Recommendation(class_prior=0.00005).sentences[0].startswith("Negatives: 0.005 % of random")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "has none; that of the data is 0.0025."),
        (0.0, "has none; that of the data is 0.0025."),
        (0.0025, "has 0.0025, the data 0.0025."),
        (0.004, "has 0.004, the data 0.0025."),
        (0.1, "has 0.1, the data 0.0025: give it that."),
        (0.001, "has 0.001, the data 0.0025: give it that."),
    ],
)
def test_a_class_prior_far_from_that_of_the_data_is_named(given: float | None, said: str) -> None:
    known = Recommendation.of(ClassDistribution.uniform(400))
    assert known.of_prior(given) == f"Class prior: the objective {said}"


def test_an_estimated_prior_is_held_against_nobody_within_its_range() -> None:
    assert (
        Recommendation(class_prior=0.04, between=(0.01, 0.12))
        .of_prior(0.1)
        .endswith("has 0.1, the data 0.04.")
    )


def test_an_estimated_prior_is_no_count() -> None:
    said = Recommendation(class_prior=0.27, between=(0.0067, 0.81)).of_prior(None)
    assert said == (
        "Class prior: the objective has none; judged by this embedding, that of the data is about 0.27."
    )


def test_an_estimated_prior_does_not_replace_a_known_one() -> None:
    said = Recommendation(class_prior=0.28, between=(0.01, 0.84)).of_prior(0.0033)
    assert said == (
        "Class prior: the objective has 0.0033; judged by this embedding it is about 0.28. "
        "One over the number of classes is better, where you know it."
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"class_prior": 1.0}, "class_prior"),
        ({"class_prior": 0.0}, "class_prior"),
        ({"class_prior": 0.1, "between": (0.2, 0.3)}, "between"),
        ({"class_prior": 0.1, "between": (0.0, 0.3)}, "between"),
        ({"class_prior": 0.1, "between": (0.01, 1.5)}, "between"),
        ({"class_prior": 0.1, "pairs": 1}, "one pair has no negatives"),
    ],
)
def test_numbers_out_of_range_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Recommendation(**fields)  # type: ignore[arg-type]
