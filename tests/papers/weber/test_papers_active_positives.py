"""The study of active positives: paired by seed, gone on with, and honest about noise."""

from pathlib import Path

import pytest

from tammes.data import digits
from tammes.papers import entries
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts, balanced
from tammes.papers.study import Results
from tammes.papers.weber import POSITIVES_REAL_DATA
from tammes.papers.weber.active import PROBE, arms_of, findings, page, study
from tammes.papers.weber.active_training import (
    SETTINGS,
    UNTRAINED,
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

SMALL = ActiveScale(images=60, test_images=60, width=8, batch_size=20, part=0.1, seeds=range(2))


def small_sets() -> dict[str, Parts]:
    return {
        "digits": (balanced(digits("train"), 60, seed=0), balanced(digits("test"), 60, seed=0)),
    }


def fake(cell: ActiveRun, gain: float) -> ActiveScore:
    gains = {"random": 0.0, UNTRAINED: -0.3}
    base = 0.8 + 0.01 * cell.seed + gains.get(cell.positives, gain)
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


def cells(seeds: int = 3) -> list[ActiveRun]:
    return wanted_cells(small_sets(), ActiveScale(seeds=range(seeds)))


def test_it_is_an_entry() -> None:
    assert "positives-real-data" in [entry.name for entry in entries()]


def test_the_error_asks_for_the_data_of_this_entry(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found none of them") as raised:
        POSITIVES_REAL_DATA.reproduce(tmp_path / "out", budget=0.001, seed=0, data=tmp_path)
    assert str(POSITIVES_REAL_DATA.data) in str(raised.value)
    assert "SVHN" not in str(raised.value)


def test_the_cells_of_the_first_seed_come_first_and_have_every_arm() -> None:
    wanted = cells()
    assert [cell.seed for cell in wanted] == [0] * 6 + [1] * 6 + [2] * 6
    assert [cell.positives for cell in wanted[:6]] == [UNTRAINED, *arms("digits", steps=10)]
    assert [cell.epochs for cell in wanted[:6]] == [0] + [20] * 5
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


def test_a_smaller_budget_has_fewer_seeds_then_fewer_epochs_then_fewer_images() -> None:
    scales = {
        budget: scale_of(Request(entry=POSITIVES_REAL_DATA, out=Path("out"), budget=budget, seed=0))
        for budget in (1.0, 0.6, 0.4, 0.2, 0.01, 0.001)
    }
    assert [len(scale.seeds) for scale in scales.values()] == [5, 3, 2, 2, 2, 2]
    assert [scale.part for scale in scales.values()] == [1.0, 1.0, 1.0, 0.5, 0.025, 0.0025]
    assert [scale.images for scale in scales.values()] == [2000] * 5 + [200]


def test_random_positives_are_trained_on_for_as_long_as_active_ones_take() -> None:
    measure = measurer(small_sets(), SMALL)
    untrained, cell = wanted_cells(small_sets(), SMALL)[:2]
    assert measure(untrained).steps == 0
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
    scale = ActiveScale(images=60, test_images=60, width=8, batch_size=30, part=0.01, seeds=range(1))
    request = Request(entry=POSITIVES_REAL_DATA, out=tmp_path, budget=0.1, seed=0, data=Path("x"))
    study(small_sets(), scale).run(request)
    known = Results(tmp_path / "table.csv", ActiveRun, ActiveScore).known
    assert len(known) == 6
    before = (tmp_path / "table.csv").read_bytes()
    study(small_sets(), scale).run(request)
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
    assert [found.verdict for found in findings(arms_of(results))] == ["yes"] * 4 + ["–"] * 3
    worse = findings(arms_of({cell: fake(cell, -0.02) for cell in cells()}))
    assert [found.verdict for found in worse] == ["no"] * 4 + ["–"] * 3
    one = findings(arms_of({cell: fake(cell, 0.02) for cell in cells(1)}))
    assert [found.verdict for found in one] == ["one seed: no verdict"] * 4 + ["–"] * 3
    nothing = findings(arms_of({cell: fake(cell, -0.3) for cell in cells()}))
    assert all("not above the control" in found.verdict for found in nothing[:4])
    lead = page(results, ActiveScale()).lead
    assert "clearly better in 9 and clearly worse in 0 after as many updates, and in 0 and 9" in lead
    once = page({cell: fake(cell, 0.02) for cell in cells(1)}, ActiveScale()).lead
    assert once == "One seed has no interval, so that no comparison with random positives is decided."


def test_without_data_it_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs data"):
        POSITIVES_REAL_DATA.reproduce(tmp_path, budget=0.1, seed=0, data=None)
