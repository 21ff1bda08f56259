"""The lead says no more than the numbers do."""

from dataclasses import replace

from tammes.report import Comparison, Floor, Scores
from tammes.report.verdict import verdict as protected


def verdict(comparison: Comparison) -> tuple[str, str]:
    """The verdict with ordinary spaces."""
    lead, note = protected(comparison)
    return lead.replace("\xa0", " "), note.replace("\xa0", " ")


def with_scores(comparison: Comparison, make_outcome, **scores: Scores) -> Comparison:
    """The comparison with these objectives, trained once."""
    return replace(comparison, outcomes=tuple(make_outcome(name, each) for name, each in scores.items()))


def with_seeds(comparison: Comparison, make_outcome, **seeds: tuple[Scores, ...]) -> Comparison:
    """The comparison with these objectives, and a score of each for each seed."""
    outcomes = []
    for name, scores in seeds.items():
        known = {field: [vars(score)[field] for score in scores] for field in vars(scores[0])}
        means = {field: sum(values) / len(values) for field, values in known.items() if None not in values}
        outcomes.append(replace(make_outcome(name, Scores(**means)), seeds=scores))
    return replace(comparison, outcomes=tuple(outcomes))


def probes(*values: float, **others: float) -> tuple[Scores, ...]:
    return tuple(Scores(probe=value, **others) for value in values)


def test_one_seed_has_no_verdict(comparison, make_outcome):
    scores = {"a": Scores(probe=0.8), "b": Scores(probe=0.95)}
    lead, note = verdict(with_scores(comparison, make_outcome, **scores))
    assert lead == (
        "One seed, so no verdict on which objective is best: a linear probe gets from 80.0 % (a) to 95.0 % "
        "(b) of 400 test images right."
    )
    assert "Trained once" in note
    assert "above" not in note
    assert "The raw pixels: 70.0 [65.3, 74.3] %." in note


def test_equal_scores_of_one_seed_are_said_once(comparison, make_outcome):
    lead, _ = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.9), b=Scores(probe=0.9)))
    assert lead.endswith("a linear probe gets 90.0 % of 400 test images right on each of them.")


def test_a_difference_that_all_seeds_show_is_called_one(comparison, make_outcome):
    seeds = {"a": probes(0.80, 0.81, 0.79), "b": probes(0.95, 0.965, 0.935)}
    lead, note = verdict(with_seeds(comparison, make_outcome, **seeds))
    assert lead.startswith(
        "b is best: a linear probe on it gets 95.0 [91.3, 98.7] % of 400 test images right"
    )
    assert "+15.0 [+13.8, +16.2] points more than on a." in lead
    assert "Trained 3 times, with different seeds" in note
    assert "(1 in all), 0.05 would be resolved by chance." in note


def test_seeds_that_disagree_leave_a_difference_open(comparison, make_outcome):
    seeds = {"a": probes(0.6, 1.0, 0.6, 0.9), "b": probes(0.95, 0.95, 0.95, 0.95)}
    lead, _ = verdict(with_seeds(comparison, make_outcome, **seeds))
    assert lead.startswith("The difference between b and a is not resolved")
    assert "seeds would resolve it" in lead


def test_a_test_row_that_all_seeds_have_more_is_no_verdict(comparison, make_outcome):
    seeds = {"a": probes(0.9, 0.91), "b": probes(0.9025, 0.9125)}
    high = replace(comparison, floors=(Floor(name="oracle", scores=Scores(probe=0.9)),))
    lead, _ = verdict(with_seeds(high, make_outcome, **seeds))
    assert lead.startswith("The difference between b and a is not resolved")
    assert "[0.2, 0.2]" not in lead
    assert "seeds would resolve it" not in lead
    seeds = {"a": probes(0.9025, 0.9025), "b": probes(0.9025, 0.9025)}
    assert "None is above the oracle" in verdict(with_seeds(high, make_outcome, **seeds))[1]


def test_differences_are_taken_seed_by_seed(comparison, make_outcome):
    seeds = {"a": probes(0.6, 0.7, 0.8, 0.9), "b": probes(0.62, 0.721, 0.82, 0.919)}
    assert verdict(with_seeds(comparison, make_outcome, **seeds))[0].startswith("b is best")


def test_who_falls_behind_is_named(comparison, make_outcome):
    seeds = {"a": probes(0.95, 0.93), "b": probes(0.92, 0.94), "c": probes(0.7, 0.68)}
    lead, _ = verdict(with_seeds(comparison, make_outcome, **seeds))
    assert lead.startswith("The difference between a and b is not resolved")
    assert lead.endswith("; c is behind.")


def test_without_a_probe_the_vote_counts(comparison, make_outcome):
    lead, _ = verdict(with_scores(comparison, make_outcome, a=Scores(knn=0.8), b=Scores(knn=0.95)))
    assert "the vote of nearest neighbors" in lead


def test_what_another_column_tells_apart_is_said_too(comparison, make_outcome):
    seeds = {
        "a": tuple(Scores(probe=0.95 + e, probe_1_percent=0.87 + e) for e in (0.0, 0.01, -0.01)),
        "b": tuple(Scores(probe=0.95 - e, probe_1_percent=0.75 + e) for e in (0.0, 0.01, -0.01)),
        "c": tuple(Scores(probe=0.94 - e, probe_1_percent=0.74 + e) for e in (0.0, 0.01, -0.01)),
    }
    lead, note = verdict(with_seeds(comparison, make_outcome, **seeds))
    assert "is not resolved" in lead
    assert lead.endswith(
        "Differences in other columns: with 1 % of the labels, a (87.0 %) is above b (75.0 %) and c (74.0 %)."
    )
    assert "(6 in all), 0.3 would be resolved by chance." in note


def test_another_column_that_contradicts_the_lead_is_heard(comparison, make_outcome):
    seeds = {"a": probes(0.80, 0.81, knn=0.95), "b": probes(0.95, 0.96, knn=0.8)}
    lead, _ = verdict(with_seeds(comparison, make_outcome, **seeds))
    assert lead.startswith("b is best")
    assert lead.endswith("by nearest neighbors, a (95.0 %) is above b (80.0 %).")


def test_other_columns_that_agree_or_are_not_complete_are_not_mentioned(comparison, make_outcome):
    agree = {"a": probes(0.8, 0.8, knn=0.7), "b": probes(0.95, 0.95, knn=0.9)}
    assert "other columns" not in verdict(with_seeds(comparison, make_outcome, **agree))[0]
    partly = {"a": probes(0.95, 0.94), "b": probes(0.95, 0.94, knn=0.1), "c": probes(0.95, 0.94, knn=0.9)}
    assert "other columns" not in verdict(with_seeds(comparison, make_outcome, **partly))[0]


def test_floors_are_set_beside(comparison, make_outcome):
    seeds = {"a": probes(0.95, 0.951), "b": probes(0.7, 0.6)}
    _, note = verdict(with_seeds(comparison, make_outcome, **seeds))
    assert "Only a is above the raw pixels (70.0 %) beyond the intervals." in note
    high = replace(comparison, floors=(Floor(name="oracle", scores=Scores(probe=0.99)),))
    _, note = verdict(with_seeds(high, make_outcome, **seeds))
    assert "None is above the oracle (99.0 %) beyond the intervals." in note
    low = replace(comparison, floors=(Floor(name="coin", scores=Scores(probe=0.01)),))
    assert "Both are above the coin (1.0 %)." in verdict(with_seeds(low, make_outcome, **seeds))[1]


def test_a_floor_with_seeds_is_compared_seed_by_seed(comparison, make_outcome):
    seeds = {"a": probes(0.60, 0.70, 0.803), "b": probes(0.61, 0.71, 0.815)}
    floor = Floor(name="untrained encoder", scores=Scores(probe=0.69), seeds=probes(0.59, 0.69, 0.79))
    _, note = verdict(with_seeds(replace(comparison, floors=(floor,)), make_outcome, **seeds))
    assert "Both are above the untrained encoder (69.0 %)." in note


def test_one_objective_is_compared_with_nobody(comparison, make_outcome):
    lead, note = verdict(with_scores(comparison, make_outcome, a=Scores(probe=0.95)))
    assert lead == "A linear probe on a gets 95.0 [92.4, 96.7] % of 400 test images right."
    assert note.startswith("The raw pixels: 70.0 [65.3, 74.3] %.")
    assert "best" not in lead
    _, note = verdict(with_seeds(comparison, make_outcome, a=probes(0.95, 0.94)))
    assert "It is above the raw pixels (70.0 %)." in note


def test_without_accuracies_nothing_is_claimed(comparison, make_outcome):
    lead, note = verdict(with_scores(comparison, make_outcome, a=Scores()))
    assert "from 5 to 4.25 for a" in lead
    assert "which does not tell how good the features are" in lead
    assert "no test labels" in note
    assert "compared" not in note
