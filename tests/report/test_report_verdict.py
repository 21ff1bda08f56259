"""The lead says no more than the numbers do."""

from dataclasses import replace

from tammes.report import Comparison, Floor, Scores
from tammes.report.verdict import verdict as protected


def verdict(comparison: Comparison) -> tuple[str, str]:
    """The verdict with ordinary spaces."""
    lead, note = protected(comparison)
    return lead.replace("\xa0", " "), note.replace("\xa0", " ")


def with_scores(comparison: Comparison, make_outcome, **scores: Scores) -> Comparison:
    return replace(comparison, outcomes=tuple(make_outcome(name, each) for name, each in scores.items()))


def test_a_large_difference_is_called_one(comparison, make_outcome):
    lead, _ = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.8), b=Scores(probe=0.95)))
    assert lead.startswith("b is clearly best: a linear probe on it gets 95.0 % of 400 test images right")
    assert "15.0 points more than on a" in lead


def test_a_small_difference_is_not(comparison, make_outcome):
    lead, _ = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.95), b=Scores(probe=0.955)))
    assert lead.startswith("No clear difference between b and a")
    assert "0.5 points more than on a, but the standard error of that difference is 1.5" in lead


def test_who_falls_behind_is_named(comparison, make_outcome):
    scores = {"a": Scores(probe=0.95), "b": Scores(probe=0.94), "c": Scores(probe=0.7)}
    lead, _ = verdict(with_scores(comparison, make_outcome, **scores))
    assert lead.startswith("No clear difference between a and b")
    assert lead.endswith("; c is clearly behind.")


def test_equal_scores_have_no_best(comparison, make_outcome):
    lead, _ = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.9), b=Scores(probe=0.9)))
    assert "gets 90.0 % of 400 test images right on a and on b" in lead
    assert "more than" not in lead


def test_without_a_probe_the_vote_counts(comparison, make_outcome):
    lead, _ = verdict(with_scores(comparison, make_outcome, a=Scores(knn=0.8), b=Scores(knn=0.95)))
    assert "the vote of nearest neighbors" in lead


def test_what_another_column_tells_apart_is_said_too(comparison, make_outcome):
    scores = {
        "a": Scores(probe=0.95, knn=0.95, probe_10_percent=0.9, probe_1_percent=0.87),
        "b": Scores(probe=0.96, knn=0.95, probe_10_percent=0.92, probe_1_percent=0.75),
        "c": Scores(probe=0.95, knn=0.94, probe_10_percent=0.8, probe_1_percent=0.74),
    }
    lead, _ = verdict(with_scores(comparison, make_outcome, **scores))
    assert lead.startswith("No clear difference between b, a and c")
    assert lead.endswith(
        ". Clear differences in other columns: with 10 % of the labels, b (92.0 %) is above c (80.0 %); "
        "with 1 % of the labels, a (87.0 %) is above b (75.0 %) and c (74.0 %)."
    )


def test_another_column_that_contradicts_the_lead_is_heard(comparison, make_outcome):
    scores = {"a": Scores(probe=0.8, knn=0.95), "b": Scores(probe=0.95, knn=0.8)}
    lead, _ = verdict(with_scores(comparison, make_outcome, **scores))
    assert lead.startswith("b is clearly best")
    assert lead.endswith("by nearest neighbors, a (95.0 %) is above b (80.0 %).")


def test_other_columns_that_agree_or_are_not_complete_are_not_mentioned(comparison, make_outcome):
    agree = {"a": Scores(probe=0.8, knn=0.7), "b": Scores(probe=0.95, knn=0.9)}
    assert "other columns" not in verdict(with_scores(comparison, make_outcome, **agree))[0]
    partly = {"a": Scores(probe=0.95), "b": Scores(probe=0.95, knn=0.1), "c": Scores(probe=0.95, knn=0.9)}
    assert "other columns" not in verdict(with_scores(comparison, make_outcome, **partly))[0]


def test_floors_are_set_beside(comparison, make_outcome):
    scores = {"a": Scores(probe=0.95), "b": Scores(probe=0.7)}
    _, note = verdict(with_scores(comparison, make_outcome, **scores))
    assert "Only a is clearly above the raw pixels (70.0 %)." in note
    high = replace(comparison, floors=(Floor(name="oracle", scores=Scores(probe=0.99)),))
    assert (
        "None is clearly above the oracle (99.0 %)." in verdict(with_scores(high, make_outcome, **scores))[1]
    )
    low = replace(comparison, floors=(Floor(name="coin", scores=Scores(probe=0.3)),))
    assert "Both are clearly above the coin (30.0 %)." in verdict(with_scores(low, make_outcome, **scores))[1]


def test_one_objective_is_compared_with_nobody(comparison, make_outcome):
    lead, note = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.95)))
    assert lead == "A linear probe on a gets 95.0 % of 400 test images right."
    assert note == "That is clearly above the raw pixels (70.0 %)."
    assert "best" not in lead
    assert "seed" not in note


def test_one_objective_is_set_beside_all_floors_at_once(comparison, make_outcome):
    names = {"coin": 0.3, "oracle": 0.99, "die": 0.2, "twin": 0.96}
    floors = tuple(Floor(name=name, scores=Scores(probe=probe)) for name, probe in names.items())
    _, note = verdict(with_scores(replace(comparison, floors=floors), make_outcome, a=Scores(probe=0.95)))
    assert note == (
        "That is clearly above the coin (30.0 %) and the die (20.0 %). "
        "That is not clearly above the twin (96.0 %). That is clearly below the oracle (99.0 %)."
    )


def test_without_accuracies_nothing_is_claimed(comparison, make_outcome):
    lead, note = verdict(with_scores(comparison, make_outcome, a=Scores()))
    assert "from 5 to 4.25 for a" in lead
    assert "which does not tell how good the features are" in lead
    assert "no test labels" in note
    assert "compared" not in note


def test_seeds_that_disagree_take_the_difference_back(comparison, make_outcome):
    clear = with_scores(comparison, make_outcome, a=Scores(probe=0.8), b=Scores(probe=0.95))
    assert "trained once, with the same seed" in verdict(clear)[1]
    seeds = tuple(Scores(probe=probe) for probe in (0.6, 1.0, 0.6, 1.0))
    unsteady = replace(clear, outcomes=(replace(clear.outcomes[0], seeds=seeds), clear.outcomes[1]))
    assert verdict(unsteady)[0].startswith("No clear difference")
    every = replace(clear, outcomes=tuple(replace(outcome, seeds=seeds) for outcome in clear.outcomes))
    assert "trained 4 times, with different seeds" in verdict(every)[1]
