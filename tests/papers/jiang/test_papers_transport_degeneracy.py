"""The findings say what the numbers say, for every seed."""

import json
from dataclasses import replace

import pytest

from tammes.papers.jiang import TRANSPORT_DEGENERACY as ENTRY
from tammes.papers.jiang.minmax import EncoderScore
from tammes.papers.jiang.transport_degeneracy import ADVERSARIES, UNTRAINED, findings

SPREAD = EncoderScore(
    loss=0.65,
    value=-0.1,
    value_marginals=0.15,
    value_no_self=0.12,
    self_matched=1.0,
    cosine=0.05,
    rank=2.9,
    knn=0.75,
)
POINT = replace(
    SPREAD, loss=0.6932, value=0.0, value_marginals=0.0, value_no_self=0.0, cosine=1.0, rank=1.0, knn=0.2
)


SEEDS = 3


def repeated(score: EncoderScore) -> list[EncoderScore]:
    """Return the scores of three seeds that differ a little."""
    return [
        replace(score, **{name: value * (1 + 1e-3 * seed) for name, value in vars(score).items()})
        for seed in range(-1, SEEDS - 1)
    ]


@pytest.fixture
def results() -> dict[str, list[EncoderScore]]:
    names = (UNTRAINED, *ADVERSARIES)
    seen = {name: repeated(SPREAD) for name in names}
    seen[UNTRAINED] = repeated(replace(SPREAD, loss=0.74, value=0.09, cosine=0.8, knn=0.35))
    point = replace(POINT, cosine=0.999)
    return seen | {name: repeated(point) for name in ("marginals only", "no self-coupling")}


def verdicts(results: dict[str, list[EncoderScore]]) -> list[str]:
    return [finding.verdict for finding in findings(results)]


def test_findings_agree_where_the_numbers_do(results):
    assert verdicts(results) == ["check: passed", "check: passed", "yes", "yes", "yes", "–"]
    assert findings(results)[5].ours.endswith("it collapses as well.")


def test_one_seed_has_no_verdict(results):
    one = {name: scores[:1] for name, scores in results.items()}
    assert verdicts(one)[2:] == ["one seed: no verdict"] * 3 + ["–"]


def test_encoders_that_learn_nothing_are_no_support(results):
    untrained = dict.fromkeys(results, results[UNTRAINED])
    assert all(
        verdict.startswith("no verdict: not above the control") for verdict in verdicts(untrained)[2:5]
    )


def test_encoders_that_did_not_collapse_are_no_support(results):
    results["marginals only"] = repeated(replace(POINT, cosine=0.7, loss=0.72, value=0.03))
    assert verdicts(results)[2:4] == ["no", "no"]


def test_an_entropic_collapse_is_no_support(results):
    results["entropy, ε = 0.1"] = repeated(replace(POINT, knn=0.5))
    assert verdicts(results)[4] == "no"


def test_a_worst_case_below_zero_would_contradict_lemma_2(results):
    results["uniform"] = repeated(replace(SPREAD, value_marginals=-0.1))
    assert verdicts(results)[1] == "check: failed"


def test_budget_is_checked_before_any_work(tmp_path):
    with pytest.raises(ValueError, match="budget"):
        ENTRY.reproduce(tmp_path, budget=0.0, seed=0, data=None)
    assert not list(tmp_path.iterdir())


def test_no_verdict_is_yes_without_learning(tmp_path):
    ENTRY.reproduce(tmp_path, budget=0.005, seed=0, seeds=3, data=None, learning=False)
    found = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in found[2:5]] == ["no verdict: not above the control"] * 3
