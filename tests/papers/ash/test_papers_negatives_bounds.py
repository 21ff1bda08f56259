"""Figures 1 and 2, computed and simulated: what is proved is checked, and nothing is learned."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tammes.papers.ash import NEGATIVES_BOUNDS
from tammes.papers.ash.bounds import COUNTS, EXAMPLE, BoundRun, BoundScore, findings, measure


def exact(seed: int = 0) -> dict[BoundRun, BoundScore]:
    return {
        BoundRun(k=k, seed=seed, draws=10): BoundScore(
            merging=EXAMPLE.merging_loss(k), merging_error=0.01, noisy=EXAMPLE.noisy_loss(k), noisy_error=0.01
        )
        for k in COUNTS
    }


def test_exact_values_pass_all_checks() -> None:
    assert [found.verdict for found in findings(exact())] == ["check: passed"] * 4


def test_other_losses_fail_theirs() -> None:
    off = {run: replace(score, noisy=score.noisy + 0.2) for run, score in exact().items()}
    verdicts = [found.verdict for found in findings(off)]
    assert verdicts == ["check: passed", "check: failed", "check: failed", "check: passed"]


def test_a_simulation_is_near_the_exact_value_and_the_same_each_time() -> None:
    run = BoundRun(k=14, seed=3, draws=4000)
    found = measure(run)
    assert found == measure(run)
    assert found.noisy == pytest.approx(EXAMPLE.noisy_loss(14), abs=5 * found.noisy_error)
    assert found.merging == pytest.approx(EXAMPLE.merging_loss(14), abs=5 * found.merging_error)


def test_nothing_is_learned_and_no_verdict_is_yes(tmp_path: Path) -> None:
    NEGATIVES_BOUNDS.reproduce(tmp_path, budget=0.001, seed=0, seeds=2, learning=False)
    found = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in found] == ["check: passed"] * 4
