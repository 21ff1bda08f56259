"""The page says what is different about the negatives of an objective that lost, and no more than that."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from conftest import PAIRS
from tammes.report import Comparison, Outcome, Pictures, Scores
from tammes.report.comparison import Candidates
from tammes.report.reasons import NegativeWeights, Reasons, reasons

COLORS = ("red", "blue")


def explained(comparison: Comparison) -> Reasons:
    found = reasons(comparison, COLORS[: len(comparison.outcomes)])
    assert found is not None
    return found


def seeds(*accuracies: float) -> tuple[Scores, ...]:
    return tuple(Scores(knn=each) for each in accuracies)


def of_two(comparison: Comparison, first: Outcome, second: Outcome) -> Comparison:
    """Compare two outcomes by nearest neighbors alone."""
    outcomes = tuple(replace(each, scores=each.seeds[0], confusion=None) for each in (first, second))
    return replace(comparison, outcomes=outcomes, floors=())


def spread_over(outcome: Outcome, columns: list[int]) -> Outcome:
    """Put all weight of each anchor on some columns that are no positives of it."""
    weights = np.zeros_like(outcome.weights)
    allowed = outcome.weights > 0
    for row in range(2 * PAIRS):
        chosen = [column for column in columns if allowed[row, column]]
        weights[row, chosen] = 1 / len(chosen)
    return replace(outcome, weights=weights)


def test_weights_are_measured_as_they_are_defined(
    sample: Pictures, make_outcome: Callable[..., Outcome]
) -> None:
    outcome, labels = make_outcome(hard=3.0), np.arange(48) % 3
    measured = NegativeWeights.of(outcome, sample, labels)
    twice = np.tile(labels[:PAIRS], 2)
    same = twice[:, None] == twice
    assert measured.own_class == pytest.approx((outcome.weights * same).sum(axis=1).mean())
    assert measured.uniform == pytest.approx(3 / 11)
    assert measured.hardest == np.mean(twice[outcome.weights.argmax(axis=1)] == twice)
    assert measured.own_class > measured.uniform
    uniform = NegativeWeights.of(make_outcome(), sample, labels)
    assert uniform.own_class == pytest.approx(uniform.uniform)
    assert uniform.effective == pytest.approx(22)
    # Of equal weights the most similar counts, which is of the anchor's class more often than a random one.
    assert uniform.hardest > uniform.uniform
    assert not measured.is_like(uniform)
    assert measured.is_like(measured)


def test_candidates_of_other_rows_have_the_labels_of_these(
    sample: Pictures, make_outcome: Callable[..., Outcome]
) -> None:
    usual, labels = make_outcome(), np.arange(48) % 3
    rows = np.array([20, 21, 22, 3])  # classes 2, 0, 1, 0
    candidates = Candidates(embeddings=np.eye(5)[:4], rows=rows, negatives=3)
    weights = np.tile([0.7, 0.2, 0.1, 0.0], (PAIRS, 1))
    view_a = np.tile([0.0, 0.0, 1.0, 0.0, 0.0], (PAIRS, 1))
    outcome = replace(usual, view_a=view_a, candidates=candidates, weights=weights)
    measured = NegativeWeights.of(outcome, sample, labels)
    assert measured.own_class == pytest.approx(np.mean([0.2, 0.1, 0.7]))  # of anchors of classes 0, 1, 2
    assert measured.hardest == pytest.approx(1 / 3)  # the heaviest is of class 2
    assert measured.effective == pytest.approx(1 / 0.54)
    assert measured.similarity == pytest.approx(0.1)
    assert (outcome.batch, outcome.most_negatives) == (PAIRS, 3)
    beyond = replace(outcome, candidates=replace(candidates, rows=rows + 26))
    with pytest.raises(ValueError, match=r"candidates\.rows must be from 0 to 47, got 29 to 48"):
        Comparison(
            data="pets", settings={}, command="tammes", test_size=400, sample=sample, outcomes=(beyond,)
        )


def test_who_lost_by_false_negatives_is_told_so(
    comparison: Comparison, make_outcome: Callable[..., Outcome]
) -> None:
    simclr = replace(make_outcome(), seeds=seeds(0.90, 0.91, 0.92))
    hcl = replace(make_outcome("hcl", hard=8.0), seeds=seeds(0.80, 0.82, 0.81))
    (sentence,) = explained(of_two(comparison, simclr, hcl)).sentences
    assert sentence.startswith("hcl is behind simclr by nearest neighbors, by 10.0 [7.5, 12.5] points: ")
    assert "of the weight of its negatives lies on false ones, under simclr 27.3" in sentence
    assert "with uniform weights it would be 27.3" in sentence


def test_who_lost_by_easy_negatives_is_told_so(
    comparison: Comparison, make_outcome: Callable[..., Outcome]
) -> None:
    hard = spread_over(make_outcome("hard"), list(range(6)))
    simclr = replace(make_outcome(), seeds=seeds(0.80, 0.82, 0.81))
    hard = replace(hard, seeds=seeds(0.90, 0.91, 0.92))
    (sentence,) = explained(of_two(comparison, simclr, hard)).sentences
    assert "simclr is behind hard by nearest neighbors" in sentence
    assert "spread over 22 effective negatives, that of hard is concentrated on" in sentence
    assert "lie on false negatives" in sentence
    # The same two, the other way round.
    simclr, hard = replace(simclr, seeds=hard.seeds), replace(hard, seeds=simclr.seeds)
    (sentence,) = explained(of_two(comparison, simclr, hard)).sentences
    assert "hard is behind simclr" in sentence
    assert "effective negatives, that of simclr on 22; false ones have" in sentence


def test_equal_weights_do_not_say_why(comparison: Comparison, make_outcome: Callable[..., Outcome]) -> None:
    simclr = replace(make_outcome(), seeds=seeds(0.90, 0.91, 0.92))
    dcl = replace(make_outcome("dcl"), seeds=seeds(0.80, 0.82, 0.81))
    (sentence,) = explained(of_two(comparison, simclr, dcl)).sentences
    assert "the weights do not say why: 27.3" in sentence


@pytest.mark.parametrize("hard", [0.0, 3.0])
def test_what_is_not_told_apart_is_said_with_its_weights(
    comparison: Comparison, make_outcome: Callable[..., Outcome], hard: float
) -> None:
    simclr = replace(make_outcome(), seeds=seeds(0.90, 0.80, 0.92))
    other = replace(make_outcome("other", hard=hard), seeds=seeds(0.80, 0.90, 0.81))
    (sentence,) = explained(of_two(comparison, simclr, other)).sentences
    assert sentence.startswith("other and simclr are not told apart in any column (+3.7 [")
    assert ("their weights are alike" in sentence) == (hard == 0)
    assert ("although their weights differ" in sentence) == (hard > 0)


@pytest.mark.parametrize(
    "levels", [((0.90, 0.80, 0.92), (0.80, 0.90, 0.81)), ((0.80,) * 3, (0.85, 0.80, 0.81))]
)
def test_the_largest_lead_of_all_columns_is_explained(
    comparison: Comparison, make_outcome: Callable[..., Outcome], levels: tuple[tuple[float, ...], ...]
) -> None:
    """By nearest neighbors the two are level, whoever's mean is higher; with 1 % one is far behind."""
    few = (0.70, 0.71, 0.72), (0.50, 0.52, 0.51)
    outcomes = []
    for outcome, knn, one in zip((make_outcome(), make_outcome("hcl", hard=3.0)), levels, few, strict=True):
        scores = tuple(Scores(knn=a, probe_1_percent=b) for a, b in zip(knn, one, strict=True))
        outcomes.append(replace(outcome, seeds=scores))
    (sentence,) = explained(of_two(comparison, *outcomes)).sentences
    assert sentence.startswith("hcl is behind simclr with 1 % of the labels, by 20.0 [17.5, 22.5] points")


def test_one_seed_or_one_objective_has_numbers_and_no_reasons(comparison: Comparison) -> None:
    found = explained(comparison)
    assert found.sentences == ()
    assert [row.name for row in found.table.rows] == ["simclr", "hcl"]
    assert found.table.rows[0].cells[0].text == "27.3\N{NO-BREAK SPACE}%"
    alone = replace(comparison, outcomes=(replace(comparison.outcomes[0], seeds=seeds(0.9, 0.8)),))
    assert explained(alone).sentences == ()


def test_without_labels_or_accuracies_there_is_no_why(comparison: Comparison) -> None:
    unlabeled = replace(comparison.sample, labels=None)
    assert reasons(replace(comparison, sample=unlabeled), COLORS) is None
    bare = tuple(
        replace(each, scores=Scores(), seeds=(Scores(), Scores()), confusion=None)
        for each in comparison.outcomes
    )
    assert explained(replace(comparison, outcomes=bare, floors=())).sentences == ()
