"""Planted faults are found and named, and a Gaussian has none; `benchmarks/diagnose.py` counts 20 seeds."""

import planted
import pytest

import tammes


@pytest.mark.parametrize("name", planted.PLANTED)
def test_a_planted_fault_is_found_and_named(name: str) -> None:
    fault, make = planted.PLANTED[name]
    points, arguments = make(0)
    found = tammes.diagnose(points, **arguments).faults
    assert fault in found


@pytest.mark.parametrize("name", planted.SOUND)
def test_where_nothing_is_wrong_no_fault_is_found(name: str) -> None:
    points, arguments = planted.SOUND[name](0)
    found = tammes.diagnose(points, **arguments)
    assert found.faults == ()
    assert found["faults"].value == 0
    assert found.verdict == "fine: no fault found"


def test_two_encoders_that_differ_by_a_rotation_are_called_so() -> None:
    points, arguments = planted.rotation(0)
    found = tammes.diagnose(points, **arguments)
    assert found["procrustes"].verdict.startswith("fine: rotation:")
    assert found["neighbor_overlap"].value == pytest.approx(1, abs=1e-3)
    other, arguments = planted.gaussian(0)
    assert "rotation" not in tammes.diagnose(other, against=arguments["against"])["procrustes"].verdict[:20]


def test_most_rows_nearly_equal_are_a_note_and_equal_ones_a_fault() -> None:
    points, arguments = planted.tight_classes(4)(0)
    found = tammes.diagnose(points, **arguments)
    assert found["near_duplicates"].verdict.startswith("note: near duplicates: ")
    assert found["near_duplicates"].verdict.endswith("as where classes have few rows and are tight")
    assert found["leaked"].verdict.startswith("note: leak: ")
    points[1] = points[0]  # rows 0 and 1 are of different splits
    assert {"exact duplicates", "leak"} <= set(tammes.diagnose(points, **arguments).faults)


def test_flagged_rows_are_the_planted_ones() -> None:
    points, _ = planted.exact_duplicates(1)
    points[7] = points[3]
    rows = tammes.diagnose(points).rows
    assert rows["exact_duplicate"][[3, 7]].all()
    assert rows["duplicate_group"][3] == rows["duplicate_group"][7]
    assert rows["duplicate_score"][3] == 1
