"""Feature modification on volumes: a small study with its page, and what is read from a table."""

import json
from pathlib import Path

import numpy as np
import pytest

from tammes.data import Outcomes, Volumes, synthetic_volumes
from tammes.papers.robinson_features import FEATURES_VOLUMES
from tammes.papers.robinson_features.table_4_2 import TABLE_4_2
from tammes.papers.robinson_features.volumes import (
    ARMS,
    MODIFIED,
    SIMCLR,
    UNTRAINED,
    VolumesRun,
    VolumesScore,
    columns_of,
    config_of,
    fit,
    page,
)
from tammes.training import QueueConfig

FIRST, SECOND, *_ = MODIFIED


# Networks that have hardly begun to learn hold all rows for equal.
pytestmark = pytest.mark.filterwarnings("ignore::tammes.training.metrics.OvertakenWarning")


def cell(arm: str, seed: int) -> VolumesRun:
    return VolumesRun(
        data="synthetic volumes",
        arm=arm,
        seed=seed,
        volumes=64,
        measured=64,
        epochs=0 if arm == UNTRAINED else 2,
        batch_size=16,
        width=8,
    )


def scored(share: float) -> VolumesScore:
    return VolumesScore(measures=json.dumps({"share, R^2": share}), loss=1.0, seconds=1.0)


def test_verdicts_follow_the_intervals() -> None:
    levels = dict.fromkeys(ARMS, 0.5) | {UNTRAINED: 0.1, FIRST: 0.6, SECOND: 0.4}
    results = {
        cell(arm, seed): scored(level + 0.01 * seed) for arm, level in levels.items() for seed in range(3)
    }
    results[cell(FIRST, 0)] = scored(0.601)
    results[cell(SECOND, 0)] = scored(0.401)
    shown = page(results)
    assert shown is not None
    assert [finding.verdict for finding in shown.findings[:2]] == ["yes", "no"]
    assert (
        "COPDGene (the thesis; another set)",
        "IFM, epsilon 0.1",
        "log FEV1pp, R^2",
        "0.615 (sd 0.005)",
    ) in (shown.numbers.rows)
    assert page({cell(UNTRAINED, 0): scored(0.1)}) is None


def test_the_table_of_the_thesis_is_whole() -> None:
    assert len(TABLE_4_2) == 48


def test_arms_differ_by_host_and_epsilon_alone() -> None:
    assert config_of(cell(SIMCLR, 0)).objective.perturbation is None
    for arm, (host, epsilon) in MODIFIED.items():
        config = config_of(cell(arm, 0))
        assert config.objective.perturbation is not None
        assert f"epsilon={epsilon}" in repr(config.objective.perturbation)
        assert isinstance(config.negatives, QueueConfig) == (host == "MoCo")


def test_columns_are_read_by_their_cells() -> None:
    voxels = synthetic_volumes(12, size=16).voxels
    names = tuple(map(str, range(12)))
    outcomes = Outcomes(
        columns={
            "age": tuple(str(40 + row) for row in range(12)),
            "sex": ("m", "f") * 6,
            "same": ("1",) * 12,
            "stage": ("1", "2") * 6,
            "rare": ("1",) * 11 + ("2",),
        },
        places=names,
    )
    found = Volumes(voxels=voxels, names=names, outcomes=outcomes)
    assert columns_of(found) == (("age", "rare"), ("stage",))
    with pytest.raises(ValueError, match="no outcomes to predict"):
        columns_of(Volumes(voxels=voxels, names=names))


def test_a_folder_is_studied_without_learning(tmp_path: Path) -> None:
    scans = synthetic_volumes(30, size=16)
    assert scans.outcomes is not None
    folder = tmp_path / "scans"
    folder.mkdir()
    rows = ["id,share"]
    for number, share in enumerate(scans.outcomes.real("share").tolist()):
        np.save(folder / f"{number}.npy", scans.voxels[number].numpy())
        rows.append(f"{number},{share}")
    (folder / "outcomes.csv").write_text("\n".join(rows))
    out = tmp_path / "out"
    FEATURES_VOLUMES.reproduce(out, budget=0.001, seed=0, seeds=2, data=folder, learning=False)
    lines = (out / "table.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * len(ARMS)
    found = json.loads((out / "findings.json").read_text())
    assert {finding["verdict"] for finding in found} == {"no verdict: not above the control"}


def test_an_arm_is_trained(tmp_path: Path) -> None:
    scans = synthetic_volumes(32, size=16)
    score = fit(cell("MoCo with IFM, epsilon 0.1", 0), (scans, synthetic_volumes(80, size=16, seed=1)))
    assert score.loss > 0
    assert next(iter(score.numbers)) == "share, R^2"
