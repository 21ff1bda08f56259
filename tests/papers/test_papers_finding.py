"""Verdicts: each answer can come out, and only intervals and controls bring it about."""

from __future__ import annotations

import pytest

from tammes.estimate import Estimate
from tammes.papers.finding import Check, Effect, Finding, within
from tammes.papers.protocol import Protocol

ABOVE, BELOW, OPEN, ONE = (1.0, 1.1, 1.2), (-1.0, -1.1, -1.2), (1.0, -0.7, 0.2), (1.0,)


def effect(values: tuple[float, ...] | None, name: str = "a") -> Effect:
    return Effect(name=name, difference=None if values is None else Estimate.over_seeds(values))


def verdict(
    *effects: tuple[float, ...] | None, control: tuple[float, ...] = ABOVE, required: int | None = None
) -> str:
    return Finding(
        paper="It is so.",
        effects=tuple(map(effect, effects)),
        controls=(effect(control, "untrained"),),
        required=required,
    ).verdict


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (verdict(ABOVE, ABOVE), "yes"),
        (verdict(ABOVE, BELOW), "no"),
        (verdict(ABOVE, ABOVE, BELOW, required=2), "yes"),
        (verdict(ABOVE, BELOW, BELOW, required=2), "no"),
        (verdict(ABOVE, ONE), "one seed: no verdict"),
        (verdict(ABOVE, control=ONE), "one seed: no verdict"),
        (verdict(ABOVE, None), "not measured yet"),
        (verdict(ABOVE, control=OPEN), "no verdict: not above the control"),
        (verdict(BELOW, control=(0.0, 0.0)), "no verdict: not above the control"),
    ],
)
def test_each_verdict_comes_out(found: str, expected: str) -> None:
    assert found == expected


def test_an_open_verdict_says_how_many_seeds_would_decide_it() -> None:
    needed = Estimate.over_seeds(OPEN).seeds_needed
    assert verdict(ABOVE, OPEN) == f"not resolved: at this size about {needed} seeds would be needed"
    assert verdict((1.0, -1.0)) == "not resolved: more than 1,000 seeds would be needed at this size"


def test_an_open_share_needs_trials_and_no_seeds() -> None:
    """A share has no values of seeds, of which a number would follow."""
    share = Effect(name="a", difference=Estimate.of_share(0.5, 10) - 0.4)
    finding = Finding(paper="It is so.", effects=(share, effect(OPEN)), controls=(effect(ABOVE),))
    assert finding.verdict == "not resolved: more trials would be needed"


def test_several_comparisons_are_counted_beside_chance() -> None:
    finding = Finding(
        paper="It is so.", effects=(effect(ABOVE), effect(BELOW), effect(OPEN)), controls=(effect(ABOVE),)
    )
    assert finding.count == "Above zero in 1 of 3, below in 1; by chance 0.075 each."
    once = Effect(name="a", difference=Estimate.over_seeds([0.1]))
    finding = Finding(paper="It is so.", effects=(once, once), controls=(effect(ABOVE),))
    assert finding.count == "", "an effect without an interval is neither above nor below"


def test_what_the_paper_does_not_state_has_no_verdict() -> None:
    finding = Finding(paper="(No statement.)", ours="It is 3.")
    assert (finding.verdict, finding.agrees, finding.count) == ("–", None, "")


def test_a_check_is_no_finding() -> None:
    assert Check(paper="1 = 1.", ours="1.", passed=True).verdict == "check: passed"
    assert Check(paper="1 = 1.", ours="2.", passed=False).verdict == "check: failed"


def test_agreement_needs_the_whole_interval_near_the_number() -> None:
    def agrees(values: tuple[float, ...]) -> bool | None:
        effect_ = within("ratio", Estimate.over_seeds(values), 0.5, 0.05)
        return Finding(paper="0.5.", effects=(effect_,), controls=(effect(ABOVE),)).agrees

    assert agrees((0.50, 0.505, 0.495)) is True
    assert agrees((0.60, 0.605, 0.595)) is False
    assert agrees((0.40, 0.60, 0.50)) is None
    assert agrees((0.50,)) is None


def test_a_finding_without_a_control_is_refused() -> None:
    with pytest.raises(ValueError, match="has no control"):
        Finding(paper="It is so.", effects=(effect(ABOVE),))
    with pytest.raises(ValueError, match="from 1 to the 1 effects, got 2"):
        Finding(paper="It is so.", effects=(effect(ABOVE),), controls=(effect(ABOVE),), required=2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seeds": []}, "different seeds"),
        ({"seeds": [1, 1]}, "different seeds"),
        ({"controls": []}, "needs a control"),
        ({"search": {"learning rate": [0.1]}}, "part of the data by which it chooses"),
        ({"searched_on": "validation images"}, "only a search has one"),
        ({"search": {"k": [1]}, "searched_on": "Test images"}, "touches the data"),
        ({"search": {"k": [1]}, "searched_on": "images"}, "touches the data"),
    ],
)
def test_a_protocol_that_proves_nothing_is_refused(changed: dict[str, object], message: str) -> None:
    plain: dict[str, object] = {"seeds": [0, 1], "controls": ["chance"], "measured_on": "images"}
    Protocol(**plain)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        Protocol(**(plain | changed))  # type: ignore[arg-type]
