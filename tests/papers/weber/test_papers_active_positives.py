"""The study of active positives: paired by seed, gone on with, and honest about noise."""

import math
from pathlib import Path

import pytest

from tammes.data import digits
from tammes.papers import entries
from tammes.papers.ash.vision_training import Parts, balanced
from tammes.papers.entry import Request
from tammes.papers.statistics import Interval
from tammes.papers.study import Results
from tammes.papers.weber import active
from tammes.papers.weber.active import PROBE, arms_of, findings, page, study
from tammes.papers.weber.active_training import (
    SETTINGS,
    ActiveRun,
    ActiveScale,
    ActiveScore,
    arms,
    augmentation_for,
    measurer,
    scale_of,
    wanted_cells,
)
from tammes.positives import Active, SameInstance, Targeted

SMALL = ActiveScale(images=60, test_images=60, width=8, batch_size=20, part=0.1, seeds=2)


def small_sets() -> dict[str, Parts]:
    return {
        "digits": (balanced(digits("train"), 60, seed=0), balanced(digits("test"), 60, seed=0)),
    }


def fake(cell: ActiveRun, gain: float) -> ActiveScore:
    base = 0.8 + 0.01 * cell.seed + (0 if cell.positives == "random" else gain)
    late = base + (0.05 if cell.positives == "random" else 0)
    return ActiveScore(
        probe=base,
        few=base,
        knn=base,
        probe_as_long=late,
        few_as_long=late,
        knn_as_long=late,
        loss=4.0,
        steps=10,
        steps_as_long=20,
        seconds=1.0,
        seconds_as_long=2.0,
    )


def cells() -> list[ActiveRun]:
    return wanted_cells(small_sets(), ActiveScale(seeds=3), seed=0)


def test_it_is_an_entry() -> None:
    assert "positives-real-data" in [entry.name for entry in entries()]


def test_the_cells_of_the_first_seed_come_first_and_have_every_arm() -> None:
    wanted = cells()
    assert [cell.seed for cell in wanted] == [0] * 5 + [1] * 5 + [2] * 5
    assert [cell.positives for cell in wanted[:5]] == list(arms("digits", steps=10))
    assert all(cell.images == 60 for cell in wanted)


@pytest.mark.parametrize("data", SETTINGS)
def test_the_arms_are_what_they_are_called_and_go_with_the_views(data: str) -> None:
    several = arms(data, steps=100)
    assert isinstance(several.pop("random"), SameInstance)
    targeted = several.pop("targeted")
    assert isinstance(targeted, Targeted)
    images = digits("train")
    if SETTINGS[data].free[0] == "noise":
        targeted.augmentations(augmentation_for(data, images))
    assert all(isinstance(each, Active) and each.warm_up == 20 for each in several.values())
    assert len({repr(each) for each in several.values()}) == 3


def test_a_smaller_budget_has_fewer_seeds_then_fewer_epochs() -> None:
    assert (scale_of(1).seeds, scale_of(0.6).seeds, scale_of(0.01).seeds) == (5, 3, 2)
    assert (scale_of(0.4).part, scale_of(0.2).part) == (1.0, 0.5)


def test_random_positives_are_trained_on_for_as_long_as_active_ones_take() -> None:
    measure = measurer(small_sets(), SMALL)
    cell = wanted_cells(small_sets(), SMALL, seed=0)[0]
    measured = measure(cell)
    assert (measured.steps, measured.steps_as_long) == (2 * 3, 3 * 3)
    assert measured.seconds_as_long > measured.seconds
    again = measure(cell)
    assert (again.probe, again.probe_as_long, again.loss) == (
        measured.probe,
        measured.probe_as_long,
        measured.loss,
    )


def test_the_study_goes_on_and_writes_its_page(tmp_path: Path) -> None:
    scale = ActiveScale(images=60, test_images=60, width=8, batch_size=30, part=0.01, seeds=1)
    request = Request(entry=active.ENTRY, out=tmp_path, budget=0.1, seed=0, data=Path("x"))
    study(small_sets(), scale, seed=0).run(request)
    known = Results(tmp_path / "table.csv", ActiveRun, ActiveScore).known
    assert len(known) == 5
    before = (tmp_path / "table.csv").read_bytes()
    study(small_sets(), scale, seed=0).run(request)
    assert (tmp_path / "table.csv").read_bytes() == before
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("digits, random, for longer", "one seed", "Table II", "The stand-ins"):
        assert words in text
    assert (tmp_path / "figure.svg").stat().st_size > 1000


def test_differences_are_paired_and_a_gain_above_the_noise_is_clear() -> None:
    results = {cell: fake(cell, 0.02) for cell in cells()}
    for arm in arms_of(results):
        assert arm.at_equal_updates(PROBE).mean == pytest.approx(0.02)
        assert arm.at_equal_updates(PROBE).above_zero, "the seeds themselves differ by one point and two"
        assert arm.at_equal_time(PROBE).mean == pytest.approx(-0.03)
    assert [found.agrees for found in findings(arms_of(results))] == [True] * 4 + [None] * 3
    worse = findings(arms_of({cell: fake(cell, -0.02) for cell in cells()}))
    assert [found.agrees for found in worse] == [False] * 4 + [None] * 3
    lead = page(results, ActiveScale(seeds=3)).lead
    assert "clearly better in 9 and clearly worse in 0 after as many updates, and in 0 and 9" in lead


def test_the_interval_is_students() -> None:
    difference = Interval((0.0, 0.01, 0.02, 0.03))
    # t(0.975; 3) = 3.1824, the standard deviation is 0.01291.
    assert difference.half == pytest.approx(3.1824 * 0.0129099 / 2, rel=1e-4)
    assert not Interval((0.5,)).above_zero
    assert math.isinf(Interval((0.5,)).half)


def test_without_data_it_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs data"):
        active.ENTRY.reproduce(tmp_path, budget=0.1, seed=0, data=None)
