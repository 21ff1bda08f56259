"""The studies on rotations: arms that differ in their loss alone, and verdicts that can be no."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tammes.papers.arms import UNTRAINED
from tammes.papers.entry import Entry, Request
from tammes.papers.image_sets import Parts
from tammes.papers.page import PaperPage
from tammes.papers.robinson_geometry import (
    GEOMETRY_ABLATION,
    GEOMETRY_CLASSIFICATION,
    GEOMETRY_EQUIVARIANCE,
    GEOMETRY_RETRIEVAL,
    ablation,
    classification,
    equivariance,
    retrieval,
)
from tammes.papers.robinson_geometry.arms import (
    ARMS,
    CARE,
    EQUIVARIANCE,
    IN_GROUPS,
    MOCO,
    MOCO_CARE,
    MOCO_IN_GROUPS,
    MOMENTUM_ARMS,
    SIMCLR,
    UNIFORMITY,
    scores_of,
)
from tammes.papers.robinson_geometry.care_scale import CareScale, batch_of, image_set, scale_of
from tammes.papers.robinson_geometry.care_training import (
    CareRun,
    CareScore,
    _known,
    cell,
    config_of,
    measurer,
)
from tammes.papers.study import Results
from tammes.training import QueueConfig
from tiny import random_images, write_images

ENTRIES = {
    GEOMETRY_ABLATION: ablation,
    GEOMETRY_CLASSIFICATION: classification,
    GEOMETRY_EQUIVARIANCE: equivariance,
    GEOMETRY_RETRIEVAL: retrieval,
}
SMALL = CareScale(images=40, test_images=20, measured=10, augmentations=3, epochs=4, seeds=range(2))


def small_set() -> dict[str, Parts]:
    return {"noise": (random_images(40), random_images(20, seed=1))}


def score(**changes: float) -> CareScore:
    usual = CareScore(
        probe=0.5, knn=0.4, wahba=3.0, worst=5.0, each="3 3 3", unexplained=0.5, gamma=0.5, gamma_half=0.6,
        gamma_quarter=0.7, invariance=0.3, invariance_half=0.3, invariance_quarter=0.3, cosine_variance=0.02,
        composition=4.0, kept=0.6, followed=0.1, positive=0.8, positive_half=0.8, positive_quarter=0.8,
        deciles=" ".join(["0.5"] * 11), other=0.1, loss=4.0, steps=10, seconds=1.0,
    )  # fmt: skip
    return replace(usual, **changes)


def results_of(
    module: object, changes: dict[str, dict[str, float]], seeds: int = 3
) -> dict[CareRun, CareScore]:
    """Scores of all cells of a study, with a little noise that seeds share."""
    study = vars(module)["study"](small_set(), replace(SMALL, seeds=range(seeds)))
    found = {}
    for run in study.cells:
        noise = 0.001 * run.seed
        usual = {"probe": 0.3} if run.arm == UNTRAINED else {}
        given = {**usual, **changes.get(run.arm, {})}
        shifted = {
            name: value + noise * (1 + 0.1 * run.seed * (run.arm == CARE)) for name, value in given.items()
        }
        found[run] = score(**shifted)
    return found


def verdicts(module: object, changes: dict[str, dict[str, float]], seeds: int = 3) -> list[str]:
    page = vars(module)["page"](results_of(module, changes, seeds), scale=SMALL)
    assert isinstance(page, PaperPage)
    return [finding.verdict for finding in page.findings]


def test_arms_differ_in_their_terms_alone() -> None:
    images = random_images(40)
    run = cell(SIMCLR, "noise", small_set()["noise"], SMALL, 0)
    plain = config_of(run, images)
    assert plain.equivariance is None
    assert (run.batch_size, run.groups) == (8, 2)
    for arm, care in ARMS.items():
        config = config_of(replace(run, arm=arm), images)
        assert replace(config, equivariance=None) == plain
        if care is not None:
            assert config.equivariance == replace(care, groups=2)
    for arm in MOMENTUM_ARMS:
        config = config_of(replace(run, arm=arm), images)
        assert isinstance(config.negatives, QueueConfig)
        assert config.objective.temperature == 0.1
    assert config_of(replace(run, dimension=2), images).head is not None
    assert ARMS[IN_GROUPS] is not None
    assert ARMS[IN_GROUPS].terms == {}
    assert [ARMS[EQUIVARIANCE].objective, ARMS[UNIFORMITY].terms] == [0.0, {"uniformity": 1.0}]  # type: ignore[union-attr]


def test_a_smaller_budget_has_fewer_seeds_images_and_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    def scale(budget: float, **how: bool) -> CareScale:
        return scale_of(
            Request(entry=GEOMETRY_ABLATION, out=Path("out"), budget=budget, seed=0, **how)  # type: ignore[arg-type]
        )

    sizes = [(len(each.seeds), each.images, each.epochs) for each in map(scale, (0.1, 0.01, 0.001))]
    assert sizes == [(3, 10_000, 10), (3, 3162, 3), (1, 1000, 1)]
    assert not scale(0.1, learning=False).learning
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"finds no GPU here: choose budget 0\.1"):
        scale(1.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (scale(1.0).encoder, scale(1.0).epochs, len(scale(1.0).seeds)) == ("ResNet-18", 400, 5)
    assert batch_of(50_000) == (256, 16)


def test_a_folder_of_classes_is_cut_the_same_way_every_time(tmp_path: Path) -> None:
    data = write_images(tmp_path / "pets", "cat", "dog", count=10)
    ((name, (train, test)),) = image_set(data).items()
    assert (name, len(train), len(test)) == ("pets", 16, 4)
    assert test.required_labels().bincount().tolist() == [2, 2]
    assert not set(train.names) & set(test.names)
    assert image_set(data)["pets"][1].names == test.names


def test_published_files_come_first(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for part in ("train", "t10k"):
        header = b"".join(int(length).to_bytes(4) for length in (20, 28, 28))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3]) + header + bytes(20 * 28 * 28))
        labels = bytes(row % 10 for row in range(20))
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + (20).to_bytes(4) + labels)
    for data in (tmp_path, raw):
        ((name, (train, test)),) = image_set(data).items()
        assert (name, len(train), len(test)) == ("MNIST", 20, 20)


@pytest.mark.parametrize("arm", [SIMCLR, CARE, MOCO_CARE])
def test_a_cell_is_measured_after_a_quarter_half_and_all_of_its_epochs(arm: str) -> None:
    sets = small_set()
    measure = measurer(sets, SMALL)
    run = cell(arm, "noise", sets["noise"], SMALL, 0)
    found = measure(run)
    assert found.steps == 4 * (40 // run.batch_size)
    assert len(found.each.split()) == 3
    assert len(found.deciles.split()) == 11
    assert found.invariance_quarter != found.invariance
    assert found.worst >= found.wahba
    assert -1 <= found.other <= 1
    again = measure(run)
    assert replace(again, seconds=0.0) == replace(found, seconds=0.0)


def test_what_is_not_defined_is_infinite_in_the_table() -> None:
    assert _known(None) == float("inf")
    assert _known(0.5) == 0.5


def test_an_untrained_network_is_the_same_for_every_arm() -> None:
    sets = small_set()
    still = replace(SMALL, learning=False)
    measure = measurer(sets, still)
    untrained, simclr = (measure(cell(arm, "noise", sets["noise"], still, 0)) for arm in (UNTRAINED, CARE))
    assert untrained == simclr
    assert untrained.steps == 0
    assert untrained.gamma == untrained.gamma_quarter


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_nothing_is_confirmed_without_learning(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ENTRIES[entry], "image_set", lambda data: small_set())
    out = tmp_path / "out"
    entry.reproduce(out, budget=1e-4, seed=0, seeds=3, data=tmp_path, learning=False)
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    assert {each["verdict"] for each in found} == {"no verdict: not above the control"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_study_resumes_and_writes_its_page(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ENTRIES[entry], "image_set", lambda data: small_set())
    out = tmp_path / "out"
    entry.reproduce(out, budget=1e-4, seed=0, seeds=1, data=tmp_path)
    before = (out / "table.csv").read_bytes()
    entry.reproduce(out, budget=1e-4, seed=0, seeds=1, data=tmp_path)
    assert (out / "table.csv").read_bytes() == before
    assert all(run.images == 40 for run in Results(out / "table.csv", CareRun, CareScore).known)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert entry.source.split(",")[0] in page
    assert "one seed: no verdict" in page


def test_a_study_that_was_stopped_early_has_no_page_yet() -> None:
    for module in ENTRIES.values():
        study = vars(module)["study"](small_set(), SMALL)
        first = {study.cells[0]: score()}
        assert study.cells[0].arm == UNTRAINED
        assert study.page(first) is None
        some = {run: score() for run in study.cells[:3]}
        assert study.page(some) is not None


def test_equivariance_has_a_yes_and_a_no_for_each_statement() -> None:
    better = {"wahba": 2.0, "worst": 4.0, "gamma": 0.2, "composition": 3.0, "cosine_variance": 0.005}
    better |= {"unexplained": 0.3, "invariance": 0.4, "probe": 0.52}
    changes = {CARE: better, "CARE, ten times the weight": better}
    found = verdicts(equivariance, changes)
    results = results_of(equivariance, changes)
    results = {
        run: replace(found, each="2 2 2" if run.arm == CARE else "3 3 3") for run, found in results.items()
    }
    sphere, circle = scores_of(results), scores_of(results, dimension=2)
    assert [each.verdict for each in equivariance.findings(sphere, circle)] == ["yes"] * 7
    assert found[0] == "yes"
    worse = {name: 2 * score().__dict__[name] for name in ("wahba", "worst", "gamma", "composition")}
    worse |= {"cosine_variance": 0.1, "invariance": 0.1, "unexplained": 0.9, "probe": 0.52}
    other = verdicts(equivariance, {CARE: worse, "CARE, ten times the weight": worse})
    assert [other[place] for place in (0, 2, 3, 4, 5, 6)] == ["no"] * 6
    assert set(verdicts(equivariance, changes, seeds=1)) == {"one seed: no verdict"}


def test_ablation_has_a_yes_and_a_no_for_each_statement() -> None:
    point = {"other": 0.999, "probe": 0.3}
    changes = {
        UNTRAINED: {"probe": 0.3, "other": 0.9},
        "invariance": point,
        "equivariance": point,
        "invariance + equivariance": point,
        UNIFORMITY: {"probe": 0.31, "other": 0.0},
        "uniformity + equivariance": {"probe": 0.4},
        CARE: {"probe": 0.6},
    }
    assert verdicts(ablation, changes) == ["yes"] * 6
    against = {
        UNTRAINED: {"probe": 0.3, "other": -0.1},
        "invariance": {"other": 0.0},
        "equivariance": {"other": 0.0},
        "invariance + equivariance": {"other": 0.0},
        UNIFORMITY: {"probe": 0.55, "other": 0.5},
        "uniformity + equivariance": {"probe": 0.54},
        CARE: {"probe": 0.45},
    }
    found = verdicts(ablation, against)
    assert [found[place] for place in (0, 2, 3, 4, 5)] == ["no"] * 5


def test_classification_and_retrieval_have_a_yes_and_a_no() -> None:
    better = {
        CARE: {"probe": 0.6},
        MOCO_CARE: {"probe": 0.6},
        MOCO: {"probe": 0.5},
        MOCO_IN_GROUPS: {"probe": 0.5},
    }
    assert verdicts(classification, better) == ["yes"] * 4
    worse = {
        CARE: {"probe": 0.4},
        MOCO_CARE: {"probe": 0.4},
        MOCO: {"probe": 0.5},
        MOCO_IN_GROUPS: {"probe": 0.5},
    }
    assert verdicts(classification, worse) == ["no"] * 4
    strong = "CARE, ten times the weight"
    follows = {"kept": 0.3, "followed": 0.4, "probe": 0.5}
    assert verdicts(retrieval, {CARE: follows, strong: follows}) == ["yes"] * 3
    blind = {"kept": 0.9, "followed": 0.0, "probe": 0.5}
    assert verdicts(retrieval, {CARE: blind, strong: blind}) == ["no"] * 3


def test_what_is_missing_is_not_measured_yet() -> None:
    results = results_of(classification, {})
    some = {run: found for run, found in results.items() if run.arm in (UNTRAINED, SIMCLR)}
    assert [each.verdict for each in classification.findings(scores_of(some))] == ["not measured yet"] * 4
    assert [each.verdict for each in ablation.findings(scores_of(some))] == ["not measured yet"] * 6
    sphere = scores_of(some)
    assert {each.verdict for each in equivariance.findings(sphere, sphere)} == {"not measured yet"}
