"""Where runs come from, in sentences at the foot of a page."""

from dataclasses import replace

from tammes.report.origin import origin
from tammes.training.environment import Environment

PART = Environment(
    began="2026-01-31T12:00:30+00:00",
    seconds=41.25,
    processor="Xeon",
    cores=8,
    threads=1,
    device="CPU",
    python_version="3.12.1",
    torch_version="2.13.0",
    tammes_version="0.1.0",
)
HERE = "Xeon (8 cores, 1 thread) with Python 3.12.1, torch 2.13.0 and tammes 0.1.0"
LATER = replace(PART, began="2026-02-01T09:00:00+00:00", seconds=50.0, first_step=7)


def test_one_run():
    assert origin([[PART]]) == (f"Trained on 2026-01-31 at 12:00 UTC in 41.2 seconds, on {HERE}.",)
    unfinished = replace(PART, seconds=None)
    assert origin([[unfinished]]) == (f"Trained on 2026-01-31 at 12:00 UTC, on {HERE}.",)


def test_dates_are_those_of_one_time_zone():
    part = replace(PART, began="2026-01-31T23:30:00-02:00")
    assert origin([[part]])[0].startswith("Trained on 2026-02-01 at 01:30 UTC")


def test_a_resumed_run():
    (sentence,) = origin([[PART, LATER]])
    between = "between 2026-01-31 at 12:00 UTC and 2026-02-01 at 09:00 UTC"
    assert sentence == f"Trained {between} in 50.0 seconds, on {HERE}."


def test_a_run_resumed_on_another_machine():
    moved = replace(LATER, processor="Abacus")
    first, second, third = origin([[PART, moved]])
    assert first == f"Trained on 2026-01-31 at 12:00 UTC, on {HERE}."
    assert second.startswith("And on 2026-02-01 at 09:00 UTC from step 7 on, on Abacus (8 cores")
    assert third == "The training took 50.0 seconds in all."


def test_several_runs():
    (sentence,) = origin([[PART], [replace(PART, seconds=10.0)]])
    assert sentence.startswith("2 runs, trained on 2026-01-31 at 12:00 UTC in 51.2 seconds in all, on Xeon")


def test_runs_that_recorded_nothing():
    assert origin([[]]) == ()
    assert origin([[PART], []])[-1] == "1 of the 2 runs did not record where."
