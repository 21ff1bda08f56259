import pytest

from tammes.diagnosis import Condition, Measure

MEASURES = {
    "rankme": Measure(value=12.0, low=11.0, high=13.0),
    "hubs": Measure(value=0.02),
    "faults": Measure(value=0.0),
    "alignment": Measure(verdict="not measured: it needs pairs"),
    "alpha_req": Measure(verdict="not measured: flat"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rankme < 50", True),
        ("rankme<50and hubs>1", False),
        ("rankme.low >= 11 and rankme.high <= 1.3e1", True),
        ("faults > 0 or rankme == 12 and hubs != 0.02", False),
        ("(faults > 0 or rankme == 12) and hubs != 0", True),
        ("faults > -1", True),
        ("faults < .5", True),
    ],
)
def test_a_condition_is_what_python_would_say(text: str, expected: bool) -> None:
    assert Condition.of(text).holds(MEASURES) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the name of a measure"),
        ("rankmee < 3", "there is no measure rankmee: did you mean rankme"),
        ("zzz < 3", "there is no measure zzz; there is rows, dimensions"),
        ("rankme.mean < 3", "expected rankme, rankme.low or rankme.high"),
        ("rankme 3", "one of < <= > >= == != after rankme"),
        ("rankme", "expected one of <"),
        ("rankme < hubs", "a number after rankme <"),
        ("rankme <", "expected a number"),
        ("rankme < nan", "a number after rankme <"),
        ("(rankme < 3", "a closing bracket"),
        ("rankme < 3 hubs > 1", "the end instead of hubs"),
        ("__import__('os')", "there is no measure __import__|comparisons of measures"),
        ("rankme < 3; 1", "comparisons of measures with numbers"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Condition.of(text)


def test_a_measure_without_a_value_decides_nothing() -> None:
    with pytest.raises(ValueError, match=r"alignment of the condition .* was not measured: it needs pairs"):
        Condition.of("alignment > 1").holds(MEASURES)
    with pytest.raises(ValueError, match="was not measured: not measured: flat"):
        Condition.of("alpha_req > 1").holds(MEASURES)
    with pytest.raises(ValueError, match="hubs has no low"):
        Condition.of("hubs.low > 1").holds(MEASURES)
