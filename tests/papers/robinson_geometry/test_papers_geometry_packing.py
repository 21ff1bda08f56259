"""Free points and encoders against packings, and the rate of the debiased loss."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tammes.papers.page import PaperPage
from tammes.papers.robinson_geometry import GEOMETRY_BIAS, GEOMETRY_PACKING, bias, packing
from tammes.papers.robinson_geometry.bias import BiasRun, BiasScore
from tammes.papers.robinson_geometry.packing import (
    ENCODER,
    ENCODER_SIZES,
    HARDER,
    POINTS,
    SIZES,
    UNIFORM,
    UNTRAINED,
    PackingRun,
    PackingScore,
    measure,
)


def run_of(kind: str, negatives: str, steps: int, **changes: int) -> PackingRun:
    sizes = {"classes": 4, "dimension": 3, "seed": 0} | changes
    return PackingRun(kind=kind, negatives=negatives, steps=steps, **sizes)


def test_free_points_arrive_and_untrained_ones_do_not() -> None:
    trained = measure(run_of(POINTS, HARDER, 500))
    assert trained.reached > 0.97
    assert trained.separation == pytest.approx(trained.best_separation, rel=0.03)
    assert trained.error == 0
    untrained = measure(run_of(POINTS, UNTRAINED, 0))
    assert untrained.reached < 0.5
    assert untrained == measure(run_of(POINTS, HARDER, 0))


def test_an_encoder_of_digits_is_measured() -> None:
    for negatives in (HARDER, UNIFORM):
        found = measure(run_of(ENCODER, negatives, 1, classes=10))
        assert -2 < found.reached < 1
        assert found.error <= found.bound
    still = measure(run_of(ENCODER, UNTRAINED, 0, classes=10))
    assert still == measure(run_of(ENCODER, HARDER, 0, classes=10))


def results(harder: float, uniform: float, untrained: float) -> dict[PackingRun, PackingScore]:
    reached = {HARDER: harder, UNIFORM: uniform, UNTRAINED: untrained}
    return {
        PackingRun(
            kind=kind, negatives=negatives, classes=classes, dimension=dimension, seed=seed, steps=5
        ): PackingScore(
            reached=value + 0.001 * seed * (1 + (negatives == HARDER)),
            separation=1.0,
            best_separation=1.5,
            error=0.1,
            bound=0.5,
        )
        for seed in range(3)
        for kind, sizes in ((POINTS, SIZES), (ENCODER, ENCODER_SIZES))
        for classes, dimension in sizes
        for negatives, value in reached.items()
    }


def verdicts(harder: float, uniform: float, untrained: float) -> list[str]:
    page = packing.page(results(harder, uniform, untrained), steps={POINTS: 5, ENCODER: 2})
    assert isinstance(page, PaperPage)
    return [finding.verdict for finding in page.findings]


def test_packings_have_a_yes_and_a_no() -> None:
    assert verdicts(0.98, 0.5, 0.1) == ["yes", "yes", "check: passed"]
    assert verdicts(0.6, 0.7, 0.1) == ["no", "no", "check: passed"]
    assert verdicts(0.1, 0.05, 0.1)[0] != "yes"


def test_nothing_is_confirmed_without_learning(tmp_path: Path) -> None:
    GEOMETRY_PACKING.reproduce(tmp_path, budget=0.001, seed=0, seeds=3, learning=False)
    found = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in found[:2]] == ["no verdict: not above the control"] * 2


# GEOMETRY_BIAS learns nothing: with learning=False it is the same.


def test_the_bias_is_checked_and_never_a_yes(tmp_path: Path) -> None:
    GEOMETRY_BIAS.reproduce(tmp_path, budget=0.001, seed=0, seeds=3, learning=False)
    found = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in found] == ["check: passed"] * 3 + ["–"]


def bias_results(slope_n: float, slope_m: float) -> dict[BiasRun, BiasScore]:
    def scored(distance: float) -> BiasScore:
        return BiasScore(
            of_draws=distance, of_loss=distance**2, loss_error=0.0, biased=0.3, printed=1.0, by_variance=1.0
        )

    cells = [(n, bias.MANY, n**slope_n) for n in bias.COUNTS]
    cells += [(bias.MANY, m, m**slope_m) for m in bias.COUNTS]
    return {
        BiasRun(negatives=n, positives=m, seed=seed, draws=9): scored(distance)
        for seed in range(3)
        for n, m, distance in cells
    }


def test_another_rate_fails_the_check() -> None:
    assert [found.verdict for found in bias.findings(bias_results(-0.5, -0.5))][:2] == ["check: passed"] * 2
    assert [found.verdict for found in bias.findings(bias_results(-1.0, 0.0))][:2] == ["check: failed"] * 2
    slope = bias.slopes(bias.over(bias_results(-0.5, -0.4), negatives=False), lambda score: score.of_draws)
    assert slope.mean == pytest.approx(-0.4)


def test_a_loss_that_is_its_limit_has_no_slope() -> None:
    still = {
        run: BiasScore(of_draws=0.1, of_loss=0.0, loss_error=0.0, biased=0.3, printed=1.0, by_variance=1.0)
        for run in bias_results(-0.5, -0.5)
    }
    assert "not measured" in bias.findings(still)[-1].ours


def test_a_cell_is_the_same_each_time_and_draws_fit_into_parts() -> None:
    run = BiasRun(negatives=10, positives=30, seed=1, draws=250)
    first, second = bias.measure(run), bias.measure(run)
    assert first == second
    assert 0 < first.of_draws < first.by_variance < first.printed
    assert np.isfinite(first.loss_error)
