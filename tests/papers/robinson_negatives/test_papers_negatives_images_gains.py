"""The gain along temperature, width and other settings: arms, statements, order, and kept tables."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from test_papers_negatives_images import BASE, SMALL, USUAL, scored, small_set, verdict
from torch.nn.functional import normalize

from tammes.coupling import ExponentialEuclidean, SquaredEuclidean, Transport
from tammes.papers.robinson_negatives import NEGATIVES_IMAGES as ENTRY
from tammes.papers.robinson_negatives import images
from tammes.papers.robinson_negatives.images_arms import (
    HCL,
    HCL_OT,
    OBJECTIVES,
    SEARCHED,
    SIMCLR,
    UNTRAINED,
    ImageRun,
    further_arms,
    usual_arms,
)
from tammes.papers.robinson_negatives.images_axes import NEGATIVES, WIDTH, axes_of, varied_arms
from tammes.papers.robinson_negatives.images_gains import gain_findings, gains_along, gains_figures
from tammes.papers.robinson_negatives.images_results import findings
from tammes.papers.robinson_negatives.images_scores import ImageArms
from tammes.papers.robinson_negatives.images_training import ImageScale, ImageScore, config_of, fit
from tammes.papers.study import Results
from tiny import random_images, write_images

KEPT = Path(__file__).parents[3] / "benchmarks/results/studies"


def test_every_value_has_its_arms_and_differs_in_its_setting_alone() -> None:
    base = replace(BASE, images=5000, batch_size=256)
    arms = usual_arms(base) | further_arms(base) | varied_arms(base)
    arms[UNTRAINED] = replace(base, objective=UNTRAINED, epochs=0)
    for axis in axes_of(base):
        assert list(axis.values) == sorted(set(axis.values))
        for value in axis.values:
            assert {axis.simclr(value), axis.untrained(value)} <= set(arms)
            for name in axis.measured:
                run = arms[axis.arm(name, value)]
                assert run == (arms[name] if value == axis.usual else axis.change(arms[name], value))
    assert not set(varied_arms(base)) & set(usual_arms(base) | further_arms(base))
    assert len(set(arms.values())) == len(arms)


def test_arms_along_a_setting_are_what_their_names_say() -> None:
    arms = varied_arms(BASE)
    cold = arms[f"{HCL}, temperature 0.1"]
    assert (cold.temperature, cold.hardness, cold.class_prior) == (0.1, 1.0, 0.01)
    assert arms[f"{SIMCLR}, width 32"].encoder == "ResNet-9, width 32"
    assert (arms[f"{HCL_OT}, 10 classes"].classes, arms[f"{HCL_OT}, 10 classes"].class_prior) == (10, 0.1)
    assert arms[f"{HCL_OT}, 30 negatives"].batch_size == 16
    assert arms[f"{HCL_OT}, epsilon 0.05"].hardness == 0.05
    kappa = arms[f"{HCL_OT}, exponential cost, kappa 2"]
    coupling = OBJECTIVES[kappa.objective](kappa).coupling
    assert coupling == Transport(epsilon=0.3, cost=ExponentialEuclidean(kappa=2.0))
    assert kappa.class_prior == 0.01
    usual = arms[f"{HCL_OT}, epsilon 0.05"]
    assert OBJECTIVES[usual.objective](usual).coupling == Transport(epsilon=0.05, cost=SquaredEuclidean())
    assert (arms[f"{UNTRAINED}, width 8"].epochs, arms[f"{UNTRAINED}, width 8"].objective) == (0, UNTRAINED)
    widths = {config_of(run, SMALL, random_images(40)).encoder for run in arms.values()}
    assert sorted(encoder.width for encoder in widths) == [8, 16, 32]  # type: ignore[union-attr]


def test_kappa_and_epsilon_of_the_exponential_cost_are_one_setting() -> None:
    """The cost over epsilon is e^{2 - 2s} / (epsilon e^kappa)."""
    first, second = normalize(torch.randn(2, 8, 4, dtype=torch.float64), dim=2)
    run = varied_arms(BASE)[f"{HCL_OT}, exponential cost, kappa 2"]
    other = replace(run, objective=f"{HCL_OT}, exponential cost, kappa 1", hardness=0.3 * math.e)
    one, same = (OBJECTIVES[each.objective](each)(first, second) for each in (run, other))
    torch.testing.assert_close(one, same)
    assert (one - OBJECTIVES[other.objective](replace(other, hardness=0.3))(first, second)).abs() > 1e-3


def test_another_encoder_has_all_widths_of_the_small_one() -> None:
    arms = varied_arms(replace(BASE, encoder="ResNet-18"))
    assert {name for name in arms if name.startswith("HCL, width")} == {
        f"HCL, width {width}" for width in (8, 16, 32)
    }


def test_an_arm_of_another_width_and_cost_is_trained() -> None:
    parts = small_set()["noise"]
    classes = len(parts[0].required_labels().unique())
    run = replace(varied_arms(BASE)[f"{HCL_OT}, exponential cost, kappa 1"], classes=classes, epochs=1)
    assert fit(replace(run, encoder="ResNet-9, width 8"), SMALL, parts).steps == 7


def test_a_table_without_the_new_arms_has_the_statements_of_before() -> None:
    arms = scored({HCL: {"probe": 0.6}})
    before = [found for found in gain_findings(arms) if any(effect.difference for effect in found.effects)]
    assert before == []
    assert "at every temperature" not in " ".join(found.paper for found in findings(arms))
    with_all = [found.paper for found in findings(scored({HCL: {"probe": 0.6}}, varied=True))]
    known = [found.paper for found in findings(arms)]
    assert with_all[: len(known)] == known
    assert len(with_all) == len(known) + 12


def test_a_gain_at_some_temperatures_says_where_it_turns() -> None:
    colder = {f"{name}, temperature 0.1": {"probe": 0.4} for name in (HCL, HCL_OT)}
    warmer = {f"{name}, temperature 1": {"probe": 0.6} for name in (HCL, HCL_OT)}
    arms = scored({**colder, **warmer, HCL: {"probe": 0.6}}, varied=True)
    assert verdict(arms, "at a lower temperature the gain is smaller") == "yes"
    (found,) = [each for each in findings(arms) if "at every temperature (the thesis" in each.paper]
    assert found.verdict == "no"
    assert "above zero at 0.5 and 1, zero in the interval at 0.2, below zero at 0.1:" in found.ours
    assert [effect.name for effect in found.effects] == [f"temperature {t}" for t in (0.1, 0.2, 0.5, 1)]
    swapped = scored({arm.replace("0.1", "1"): {"probe": 0.4} for arm in colder}, varied=True)
    assert verdict(swapped, "at a lower temperature the gain is smaller") == "no"


LOW, HIGH = {"probe": 0.4}, {"probe": 0.6}
WIDE = {f"{name}, width 32": HIGH for name in (HCL, HCL_OT)}
EXPONENTIAL = {f"{HCL_OT}, exponential cost, kappa {kappa}": {"knn": 0.6} for kappa in (1, 2, 3)}


@pytest.mark.parametrize(
    ("words", "is_so", "is_not"),
    [
        ("it grows with the width", WIDE, {arm.replace("32", "8"): HIGH for arm in WIDE}),
        ("of transported negatives is larger with more classes", {HCL_OT: HIGH}, {HCL_OT: LOW}),
        ("the second largest of five", {HCL_OT: HIGH}, {HCL_OT: LOW}),
        ("here with debiasing and every kappa", EXPONENTIAL, {HCL_OT: {"knn": 0.6}}),
        ("at every epsilon", {SIMCLR: LOW}, {SIMCLR: HIGH}),
        ("transported negatives improve on SimCLR at every width", {
            f"{SIMCLR}{width}": LOW for width in ("", ", width 8", ", width 32")
        }, WIDE | {f"{HCL_OT}, width 8": LOW}),
    ],
)  # fmt: skip
def test_verdicts_can_be_yes_and_no(
    words: str, is_so: dict[str, dict[str, float | str]], is_not: dict[str, dict[str, float | str]]
) -> None:
    assert verdict(scored(is_so, varied=True), words) == "yes"
    assert verdict(scored(is_not, varied=True), words) == "no"


def test_an_encoder_that_learned_nothing_gives_no_verdict() -> None:
    arms = scored({**WIDE, f"{UNTRAINED}, width 8": {"probe": 0.9}}, varied=True)
    assert verdict(arms, "it grows with the width").startswith("no verdict")


def test_the_figure_has_a_panel_for_each_measured_setting() -> None:
    arms = scored({HCL: HIGH, f"{HCL}, width 8": LOW}, varied=True)
    axes = {axis.name: axis for axis in axes_of(BASE)}
    gains = gains_along(arms, axes[WIDTH], HCL)
    assert [gains[width].mean for width in (8, 16, 32)] == pytest.approx([-10, 10, 0], abs=0.5)
    (figure,) = gains_figures(arms)
    assert all(f">{name}<" in figure.panels[0].svg for name in axes)
    assert "After the equal search, HCL gains" in figure.words
    assert "and the interval includes zero" in figure.words
    (before,) = gains_figures(scored({}))
    assert f">{NEGATIVES}<" in before.panels[0].svg
    assert f">{WIDTH}<" not in before.panels[0].svg
    tables = usual_arms(BASE) | {UNTRAINED: replace(BASE, objective=UNTRAINED, epochs=0)}
    assert gains_figures(replace(arms, runs=tables)) == []


def test_the_page_has_the_new_arms_in_its_table_and_not_among_the_gains_at_the_usual_setting() -> None:
    before, now = (images.page([scored({}, varied=varied)], SMALL) for varied in (False, True))
    rows = {row[0]: row[1] for row in now.numbers.rows}
    assert rows[f"noise, {HCL_OT}, width 8"] == "temperature 0.5, epsilon 0.3, class prior 0.01"
    assert rows[f"noise, {HCL_OT}, exponential cost, kappa 2"] == rows[f"noise, {HCL_OT}, width 8"]
    assert list(rows)[: len(before.numbers.rows)] == [row[0] for row in before.numbers.rows]
    arms_before, arms_now = (
        [tick.get_text() for tick in each.overview.axes[0].get_yticklabels()] for each in (before, now)
    )
    assert arms_now == arms_before


def test_the_new_arms_come_after_those_of_all_sets_and_complete_a_table_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study that had its arms before the new ones keeps its lines, and measures what it lacks."""
    for name in ("cars", "pets"):
        write_images(tmp_path / "sets" / name, "cat", "dog", "hen", count=20)
    asked: list[ImageRun] = []
    monkeypatch.setattr(images, "scale_of", lambda request: replace(SMALL, seeds=range(1)))
    pages: list[int] = []
    monkeypatch.setattr(images, "write_page", lambda page, *more: pages.append(len(page.numbers.rows)))
    monkeypatch.setattr(images, "_figures", lambda arms: [])
    monkeypatch.setattr(images, "measurer", lambda *_: lambda run: asked.append(run) or USUAL)
    with monkeypatch.context() as before:
        before.setattr(images, "varied_arms", lambda base: {})
        ENTRY.reproduce(tmp_path / "out", budget=0.1, seed=0, data=tmp_path / "sets")
    first, lines = len(asked), (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert {run.encoder for run in asked} == {"ResNet-9, width 16"}
    ENTRY.reproduce(tmp_path / "out", budget=0.1, seed=0, data=tmp_path / "sets")
    new = asked[first:]
    assert (tmp_path / "out" / "table.csv").read_text().splitlines()[: len(lines)] == lines
    assert len(set(asked)) == len(asked)
    assert {"ResNet-9, width 8", "ResNet-9, width 32"} < {run.encoder for run in new}
    assert pages == sorted(pages[:4]) + sorted(pages[4:])
    assert pages[-1] > pages[3]
    assert [run.data for run in new] == ["cars"] * (len(new) // 2) + ["pets"] * (len(new) // 2)
    ENTRY.reproduce(tmp_path / "at once", budget=0.1, seed=0, data=tmp_path / "sets")
    assert asked[first + len(new) :] == asked[: first + len(new)]
    assert (tmp_path / "at once" / "table.csv").read_text() == (tmp_path / "out" / "table.csv").read_text()


def kept_studies() -> list[Path]:
    files = sorted(KEPT.glob("*/study.json"))
    return [file.parent for file in files if json.loads(file.read_text())["entry"] == ENTRY.name]


@pytest.mark.parametrize("folder", kept_studies(), ids=lambda folder: folder.name)
def test_a_kept_table_has_its_kept_findings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(folder / "table.csv", ImageRun, ImageScore)
    cells = [run for run in results.known if run.measured_on == "test images"]
    first = next(run for run in cells if run.objective == SIMCLR)
    scale = ImageScale(seeds=sorted({run.seed for run in cells}))
    study = images.ImageStudy(sets={}, scale=scale)
    monkeypatch.setattr(images.ImageStudy, "base", lambda self, data: replace(first, temperature=0.5))
    chosen = {name: study.search(results, pytest.fail, first.data, name) for name in SEARCHED}
    runs = {arm: run for block in study.arms(first.data, chosen) for arm, run in block.items()}
    runs |= study.varied(first.data)
    arms = ImageArms(data=first.data, runs=runs, results=results.known, seeds=scale.seeds)
    ours = [
        (found.paper, found.ours, found.verdict, [effect.text for effect in found.effects])
        for found in findings(arms)
    ]
    for kept in json.loads((folder / "findings.json").read_text(encoding="utf-8")):
        texts = [effect["text"] for effect in kept["effects"]]
        assert (kept["paper"], kept["ours"], kept["verdict"], texts) in ours


def test_the_figure_of_all_arms_leaves_out_those_on_other_images() -> None:
    drawn = images._gains(scored({}))
    labels = {label.get_text() for axes in drawn.axes for label in axes.get_yticklabels()}
    assert {"HCL", "HCL, beta 2", "SimCLR, searched"} <= labels
    assert not any("classes" in label or "negatives" in label for label in labels)
