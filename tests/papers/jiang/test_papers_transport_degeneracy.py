"""The findings say what the numbers say, for every seed."""

from dataclasses import replace

import pytest

from tammes.papers.jiang.minmax import EncoderScore
from tammes.papers.jiang.transport_degeneracy import ADVERSARIES, ENTRY, UNTRAINED, findings

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


@pytest.fixture
def results() -> dict[str, list[EncoderScore]]:
    names = (UNTRAINED, *ADVERSARIES)
    seen = {name: [SPREAD] for name in names}
    seen[UNTRAINED] = [replace(SPREAD, cosine=0.8, knn=0.35)]
    return seen | {name: [POINT] for name in ("marginals only", "no self-coupling")}


def test_findings_agree_where_the_numbers_do(results):
    assert [finding.agrees for finding in findings(results)] == [True, True, True, True, None]
    assert findings(results)[4].ours.endswith("it collapses as well.")


def test_an_encoder_that_did_not_collapse_is_no_support(results):
    results["marginals only"] += [replace(POINT, cosine=0.7, loss=0.71, value=0.03)]
    assert [finding.agrees for finding in findings(results)][1:3] == [False, False]


def test_an_entropic_collapse_is_no_support(results):
    results["entropy, ε = 0.1"] = [replace(POINT)]
    assert findings(results)[3].agrees is False


def test_a_worst_case_below_zero_would_contradict_lemma_2(results):
    results["uniform"] = [replace(SPREAD, value_marginals=-0.1)]
    assert findings(results)[1].agrees is False


def test_budget_is_checked_before_any_work(tmp_path):
    with pytest.raises(ValueError, match="budget"):
        ENTRY.reproduce(tmp_path, budget=0.0, seed=0, data=None)
    assert not list(tmp_path.iterdir())
