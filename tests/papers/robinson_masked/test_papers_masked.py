"""The studies of chapter 6: each trains, resumes, says yes and no, and confirms nothing without learning."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tammes.data.corruptions import CORRUPTIONS
from tammes.papers.arms import UNTRAINED
from tammes.papers.claim import FILES, STUDY
from tammes.papers.entry import Entry, Request
from tammes.papers.image_sets import Parts
from tammes.papers.robinson_masked import (
    MASKED_FEW_SHOT,
    MASKED_LOSSES,
    MASKED_METHODS,
    MASKED_ROBUSTNESS,
    MASKED_SETTINGS,
    MASKED_TERMS,
    few_shot,
    losses,
    methods,
    robustness,
    settings,
    studies,
    terms,
    training,
)
from tammes.papers.robinson_masked.bases import Bases
from tammes.papers.robinson_masked.measured import SHOTS, MaskedScore, measured
from tammes.papers.robinson_masked.runs import (
    AN,
    CA,
    CAN,
    CN,
    MAE,
    METHODS,
    NOISE,
    SIMCLR,
    UNTOLD,
    A,
    MaskedRun,
    masked_of,
)
from tammes.papers.robinson_masked.scale import BASE, MEDIUM, NETWORKS, SMALL, MaskedScale, scale_of
from tammes.papers.robinson_masked.studies import MaskedPlan, MaskedStudy, beside
from tammes.papers.robinson_masked.training import base_run, config_of, drawer, step_flops
from tammes.papers.study import Results
from tammes.positives import Photographs
from tammes.training import Masked, environment
from tiny import random_images

# Networks that have hardly begun to learn hold all rows for equal.
pytestmark = pytest.mark.filterwarnings("ignore::tammes.evaluation.ProbeNotConvergedWarning")
ENTRIES: dict[Entry, MaskedPlan] = {
    MASKED_METHODS: methods.PLAN,
    MASKED_TERMS: terms.PLAN,
    MASKED_LOSSES: losses.PLAN,
    MASKED_SETTINGS: settings.PLAN,
    MASKED_FEW_SHOT: few_shot.PLAN,
    MASKED_ROBUSTNESS: robustness.PLAN,
}
SCALE = MaskedScale(
    images=48, test_images=30, epochs=4, short=2, ablation=4, tuned_epochs=1, corrupted_images=4
)
UNLEARNED = "no verdict: not above the control"
FLOPS = {SIMCLR: 6.0, CAN: 3.0, MAE: 1.0}
Make = Callable[[MaskedRun, float], MaskedScore]


def small_sets() -> dict[str, Parts]:
    return {"noise": (random_images(60), random_images(30, seed=1))}


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "image_sets", lambda data, size: small_sets())


def bases_of(scale: MaskedScale = SCALE) -> Bases:
    base = base_run("noise", small_sets()["noise"], scale)
    return Bases(base=base, scale=scale, rates=dict.fromkeys((MAE, SIMCLR, CAN), 1e-3), flops=FLOPS)


def verdicts(plan: MaskedPlan, make: Make, *, seeds: int = 3) -> list[str]:
    """Verdicts for scores that a function makes, with a little noise that differs from arm to arm."""
    bases = bases_of(replace(SCALE, seeds=range(seeds)))
    results = {
        cell: make(cell, 1e-4 * ((7 * seed + 3 * place) % 5))
        for seed in range(seeds)
        for place, run in enumerate(plan.arms(bases))
        for cell in [replace(run, seed=seed)]
    }
    page = plan.page(results, {"noise": bases})
    assert page is not None
    return [finding.verdict for finding in page.findings]


def score(
    level: float, *, contrastive: float = 4.0, reconstruction: float = 0.1, flops: float = 1e9
) -> MaskedScore:
    names = [each.name for each in CORRUPTIONS]
    return MaskedScore(
        probe=level,
        shots=" ".join(map(str, SHOTS)),
        few_shot=" ".join(f"{level - 0.01 * place:.6f}" for place in range(len(SHOTS))),
        tuned=level,
        corruptions=" ".join(names),
        corrupted=" ".join(f"{level - 0.001 * place:.6f}" for place in range(len(names))),
        clean=level,
        contrastive=contrastive,
        reconstruction=reconstruction,
        steps=10,
        flops=1e9,
        seconds=10.0,
    )


def ahead(gain: float, untrained: float = 0.1) -> Make:
    """Scores by which CAN is above SimCLR, and SimCLR above MAE, more so after a longer schedule."""

    def make(run: MaskedRun, noise: float) -> MaskedScore:
        if run.method == UNTRAINED:
            return score(untrained)
        order = {CAN: 2, SIMCLR: 1, MAE: 0}[run.method]
        return score(0.5 + noise + gain * order * (1 + run.epochs / 4))

    return make


@pytest.mark.parametrize(("plan", "count"), [(methods.PLAN, 8), (few_shot.PLAN, 6), (robustness.PLAN, 5)])
def test_methods_have_a_yes_and_a_no_for_each_statement(plan: MaskedPlan, count: int) -> None:
    found = verdicts(plan, ahead(0.02))
    checks = [each for each in found if each.startswith("check")]
    assert found == [*checks, *["yes"] * (count - len(checks))]
    # Scratch stays at 0.1, so that pre-training helps either way.
    against = verdicts(plan, ahead(-0.02))[len(checks) :]
    assert against.count("no") == count - len(checks) - (plan is not few_shot.PLAN)
    assert set(verdicts(plan, ahead(0.02, untrained=0.9))[len(checks) :]) <= {UNLEARNED, "no"}
    assert "yes" not in verdicts(plan, ahead(0.02), seeds=1)


def test_nearly_all_corruptions_of_gray_images_are_four_fifths_at_least() -> None:
    gray = [each.name for each in CORRUPTIONS if not each.needs_color]
    assert math.ceil(0.8 * len(gray)) > round(0.8 * len(gray))  # 11.2 of 14

    def above_under(count: int) -> list[str]:
        """Verdicts where CAN is above the others under some corruptions, and below them under the rest."""

        def make(run: MaskedRun, noise: float) -> MaskedScore:
            ahead = 0.1 * (run.method == CAN)
            levels = (0.5 + ahead * (1 if place < count else -1) + noise for place in range(len(gray)))
            trained = replace(score(0.5 + ahead + noise), corruptions=" ".join(gray))
            untrained = replace(score(0.1), corruptions=" ".join(gray))
            corrupted = " ".join(f"{level - 0.4 * (run.method == UNTRAINED):.6f}" for level in levels)
            return replace(untrained if run.method == UNTRAINED else trained, corrupted=corrupted)

        return verdicts(robustness.PLAN, make)[2:4]

    assert above_under(12) == ["yes"] * 2
    assert above_under(11) == ["no"] * 2


def test_the_ratio_of_operations_is_a_check_that_can_fail() -> None:
    assert verdicts(methods.PLAN, ahead(0.02))[0] == "check: failed"  # 2, where the thesis has 1.7
    bases = replace(bases_of(), flops={**FLOPS, CAN: 6.0 / 1.75})
    results = {
        cell: ahead(0.02)(cell, 0.0)
        for seed in range(3)
        for cell in (replace(run, seed=seed) for run in methods.arms(bases))
    }
    page = methods.PLAN.page(results, {"noise": bases})
    assert page is not None
    assert page.findings[0].verdict == "check: passed"


def with_terms(sign: int) -> Make:
    level = {CAN: 0.689, AN: 0.428, CN: 0.68, CA: 0.675, NOISE: 0.683, UNTOLD: 0.678}

    def make(run: MaskedRun, noise: float) -> MaskedScore:
        return score(0.1 if run.method == UNTRAINED else 0.5 + sign * (level[run.method] - 0.5) / 2 + noise)

    return make


def test_terms_have_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(terms.PLAN, with_terms(1)) == ["yes"] * 5
    assert verdicts(terms.PLAN, with_terms(-1)) == ["no"] * 5


def complementary(sign: int) -> Make:
    def make(run: MaskedRun, noise: float) -> MaskedScore:
        alone = run.method in (SIMCLR, A)
        return score(
            0.1 if run.method == UNTRAINED else 0.5 + noise,
            contrastive=4.0 + noise + 0.02 * sign * alone,
            reconstruction=0.1 + noise / 10 + 0.001 * sign * alone,
        )

    return make


def test_losses_have_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(losses.PLAN, complementary(1)) == ["yes"] * 2
    assert verdicts(losses.PLAN, complementary(-1)) == ["no"] * 2


def peaked(sign: int) -> Make:
    def make(run: MaskedRun, noise: float) -> MaskedScore:
        if run.method == UNTRAINED:
            return score(0.1)
        if run.method == SIMCLR:
            return score(0.6 + noise - 0.1 * sign * run.rate)
        away = abs(run.rate - 0.5) + abs(math.log10(run.contrast / 0.03)) / 5 + 0.2 * (run.noise == 0)
        return score(0.5 + noise - 0.1 * sign * away + (0.05 if sign < 0 else 0.001) * (run.share != 0.7))

    return make


def test_settings_have_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(settings.PLAN, peaked(1)) == ["yes"] * 6
    assert verdicts(settings.PLAN, peaked(-1)) == ["no"] * 6


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_nothing_is_confirmed_without_learning(entry: Entry, tmp_path: Path) -> None:
    out = tmp_path / "out"
    entry.reproduce(out, budget=1e-4, seed=0, seeds=2, data=tmp_path, learning=False)
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    assert {each["verdict"] for each in found} <= {UNLEARNED, "not measured yet"}


def test_each_entry_runs_and_takes_what_the_others_have(tmp_path: Path) -> None:
    trained = {}
    for entry in ENTRIES:
        out = tmp_path / entry.name
        before = beside(out)
        entry.reproduce(out, budget=1e-4, seed=0, seeds=1, data=tmp_path)
        table = Results(out / "table.csv", MaskedRun, MaskedScore).known
        trained[entry] = set(table) - set(before)
        assert all(repr(table[cell]) == repr(before[cell]) for cell in table if cell in before)
        assert "one seed: no verdict" in (out / "report.html").read_text(encoding="utf-8")
    assert not trained[MASKED_FEW_SHOT]
    assert not trained[MASKED_ROBUSTNESS]
    content = (tmp_path / MASKED_TERMS.name / "table.csv").read_bytes()
    MASKED_TERMS.reproduce(tmp_path / MASKED_TERMS.name, budget=1e-4, seed=0, seeds=1, data=tmp_path)
    assert (tmp_path / MASKED_TERMS.name / "table.csv").read_bytes() == content


def test_a_table_beside_lends_its_lines_and_one_of_another_study_none(tmp_path: Path) -> None:
    cell = bases_of().untrained()
    for name in ("masked-methods", "masked-terms", "masked-losses"):
        (tmp_path / name).mkdir()
    Results(tmp_path / "masked-methods" / "table.csv", MaskedRun, MaskedScore).append(cell, score(0.5))
    (tmp_path / "masked-terms" / "table.csv").write_text("width,area\n1,1\n", encoding="utf-8")
    lent = beside(tmp_path / "masked-losses")
    assert list(lent) == [cell]
    # A line that is being written stays as it is.
    with (tmp_path / "masked-methods" / "table.csv").open("a", encoding="utf-8") as file:
        file.write("noise,CAN")
    assert list(beside(tmp_path / "masked-losses")) == [cell]
    assert (tmp_path / "masked-methods" / "table.csv").read_text(encoding="utf-8").endswith("noise,CAN")
    assert beside(tmp_path / "masked-methods") == {}


def test_a_cell_that_is_fine_tuned_lends_what_is_measured_before_that(tmp_path: Path) -> None:
    tuned = bases_of().long(CAN, tuned=True)
    for name in ("masked-methods", "masked-terms"):
        (tmp_path / name).mkdir()
    Results(tmp_path / "masked-methods" / "table.csv", MaskedRun, MaskedScore).append(tuned, score(0.5))
    lent = beside(tmp_path / "masked-terms")
    assert set(lent) == {tuned, bases_of().run(CAN)}
    assert repr(lent[tuned]) == repr(score(0.5))
    frozen = lent[bases_of().run(CAN)]
    assert (frozen.probe, frozen.contrastive, frozen.by_shots) == (0.5, 4.0, {})
    assert math.isnan(frozen.tuned)


def test_a_table_beside_of_other_data_of_the_same_name_lends_nothing(tmp_path: Path) -> None:
    cell = bases_of().untrained()
    for name in ("masked-methods", "masked-losses"):
        (tmp_path / name).mkdir()
    Results(tmp_path / "masked-methods" / "table.csv", MaskedRun, MaskedScore).append(cell, score(0.5))
    for theirs, lent in (("60 files, checksum a", [cell]), ("60 files, checksum b", [])):
        for name, files in (("masked-methods", theirs), ("masked-losses", "60 files, checksum a")):
            (tmp_path / name / STUDY).write_text(json.dumps({FILES: files}), encoding="utf-8")
        assert list(beside(tmp_path / "masked-losses")) == lent
    (tmp_path / "masked-methods" / STUDY).write_text("[", encoding="utf-8")
    assert list(beside(tmp_path / "masked-losses")) == [cell]


def test_a_cell_has_all_settings_that_its_score_depends_on() -> None:
    run = bases_of().long(CAN, tuned=True)
    draw = drawer(small_sets())
    first, again = (replace(measured(run, draw(run)), seconds=0.0) for _ in range(2))
    assert repr(first) == repr(again)  # NaN is not equal to itself
    assert len(first.by_corruption) == len(CORRUPTIONS) - 1  # gray images have no saturation
    assert math.isnan(first.by_shots[25]) == (30 < 25)
    assert first.flops > 0
    linear = measured(run.frozen, draw(run))
    assert repr(replace(linear, seconds=0.0)) == repr(first.frozen)
    assert linear.probe == first.probe
    assert math.isnan(linear.tuned)


def test_the_search_is_equal_for_all_methods_and_sees_no_test_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[MaskedRun] = []

    def measure(run: MaskedRun, drawn: object, *, unfinished: None) -> MaskedScore:
        tried.append(run)
        return MaskedScore(probe=run.learning_rate if run.method == CAN else -run.learning_rate)

    monkeypatch.setattr(studies, "measured", measure)
    sets = small_sets()
    study = MaskedStudy(sets=sets, scale=SCALE, draw=drawer(sets))
    results = Results(tmp_path / "table.csv", MaskedRun, MaskedScore)
    bases = study.bases(results, {}, "noise", (MAE, SIMCLR, CAN))
    assert bases.rates == {MAE: 3e-4, SIMCLR: 3e-4, CAN: 3e-3}
    assert {(run.method, run.learning_rate) for run in tried} == {
        (method, rate) for method in (MAE, SIMCLR, CAN) for rate in SCALE.rates
    }
    assert {run.measured_on for run in tried} == {"validation images"}
    assert all(run.seed not in SCALE.seeds for run in tried)
    drawn = study.draw(tried[0])
    assert not {*drawn.train.names, *drawn.tried.names} - {*sets["noise"][0].names}
    assert not {*drawn.train.names} & {*drawn.tried.names}
    assert 1 < bases.flops[SIMCLR] / bases.flops[CAN] < bases.flops[SIMCLR] / bases.flops[MAE]


def test_methods_have_the_terms_of_their_letters() -> None:
    def of(method: str, **changes: float) -> Masked:
        return masked_of(bases_of().run(method, **changes))

    assert of(CAN) == Masked()
    assert of(MAE) == Masked.mae()
    assert of(SIMCLR) == Masked.contrast_alone()
    assert of(AN) == Masked(contrast=0.0)
    assert of(CN) == Masked(reconstruction=0.0)
    assert of(CA) == Masked(denoising=0.0, noise=0.0)
    assert of(NOISE) == Masked(denoising=0.0)
    assert of(UNTOLD) == Masked(tell_noise=False)
    assert of(A) == replace(Masked.mae(), rate=0.5)
    assert of(CAN, contrast=0.3).contrast == 0.3
    assert of(CAN, share=0.5).reconstruction == of(CAN, share=0.5).denoising == 0.485


def test_arms_have_equal_steps_and_equal_operations() -> None:
    bases = bases_of()
    can, alone = bases.run(CAN), bases.run(AN)
    assert (alone.epochs, alone.batch_size) == (2 * can.epochs, 2 * can.batch_size)
    assert [bases.at_equal_flops(method).epochs for method in (SIMCLR, CAN, MAE)] == [4, 8, 24]
    assert bases.long(SIMCLR) == bases.at_equal_flops(SIMCLR)
    draw = drawer(small_sets())
    short, long = (measured(run, draw(run)) for run in (can, alone))
    assert short.steps == long.steps
    # Operations of an image are those of a training.
    per_image = step_flops(can, draw(can).train)
    assert short.flops == pytest.approx(per_image * can.batch_size * short.steps, rel=0.01)


def test_trainings_have_the_settings_of_the_thesis() -> None:
    bases = bases_of()
    images = small_sets()["noise"][0]
    config = config_of(bases.run(CAN), images)
    assert config.masked == replace(Masked(), decoder_width=32, decoder_depth=1, decoder_heads=2)
    assert config.optimizer.learning_rate == 1e-3
    assert config.augmentation == Photographs()
    colors = replace(images, pixels=random_colors(60))
    views = {name: config_of(bases.run(name), colors).augmentation for name in METHODS}
    assert views[MAE] == Photographs(jitter_probability=0.0, grayscale_probability=0.0)
    assert {repr(each) for name, each in views.items() if name != MAE} == {repr(Photographs())}
    assert config_of(bases.run(MAE), images).head is None
    assert config_of(bases.run(CAN), images).precision == "32-true"


@pytest.mark.parametrize(("is_slow", "precision"), [(False, "bf16-mixed"), (True, "32-true")])
def test_networks_but_the_small_one_train_in_bfloat16_where_it_is_not_slow(
    monkeypatch: pytest.MonkeyPatch, is_slow: bool, precision: str
) -> None:
    monkeypatch.setattr(environment, "is_slow_in_bfloat16", lambda: is_slow)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    choice = training.precision_of.__wrapped__
    assert {name: choice(name) for name in NETWORKS} == {SMALL: "32-true", MEDIUM: precision, BASE: precision}


def random_colors(count: int):  # type: ignore[no-untyped-def]
    from tammes.data import TensorPixels

    generator = torch.Generator().manual_seed(0)
    return TensorPixels(torch.randint(0, 256, (count, 3, 8, 8), dtype=torch.uint8, generator=generator))


def test_a_smaller_budget_has_less(monkeypatch: pytest.MonkeyPatch) -> None:
    def scale(budget: float) -> MaskedScale:
        return scale_of(Request(entry=MASKED_METHODS, out=Path("out"), budget=budget, seed=0))

    sizes = [
        (each.encoder, len(each.seeds), each.images, each.epochs, each.short, each.ablation)
        for each in map(scale, (0.1, 0.02, 0.001))
    ]
    assert sizes == [(MEDIUM, 3, 5120, 20, 10, 20), (SMALL, 3, 4000, 10, 5, 10), (SMALL, 1, 402, 2, 1, 2)]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"finds no GPU here: choose budget 0\.02"):
        scale(1.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (scale(1.0).encoder, scale(1.0).epochs, scale(1.0).ablation) == (BASE, 800, 100)


def test_what_was_not_measured_is_a_dash() -> None:
    bases = bases_of(replace(SCALE, seeds=range(1)))
    found = {run: replace(ahead(0.1)(run, 0.0), tuned=math.nan) for run in methods.arms(bases)}
    scores = studies.Scores.by_set(found)["noise"]
    assert studies.percent(methods.TUNED)(scores, UNTRAINED) == "–"
    assert studies.number(methods.TUNED, 2)(scores, UNTRAINED) == "–"
    assert studies.number(methods.PROBE, 2)(scores, UNTRAINED) == "0.10"


def test_a_study_that_was_stopped_early_has_no_page_yet() -> None:
    bases = bases_of()
    for plan in ENTRIES.values():
        first = plan.arms(bases)[0]
        assert first.method == UNTRAINED
        assert plan.page({first: score(0.1)}, {"noise": bases}) is None
