"""The studies of features: each trains, resumes, says yes and no, and confirms nothing without learning."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tammes.data import Images, Labeling
from tammes.mixing import HardMixing
from tammes.papers.entry import Entry, Request
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.page import PaperPage
from tammes.papers.robinson_features import (
    FEATURES_ADVERSARIAL,
    FEATURES_CLASSIFICATION,
    FEATURES_IFM,
    FEATURES_PICTURES,
    FEATURES_ROBUST,
    FEATURES_TRADE_OFF,
    adversarial,
    classification,
    ifm,
    pictures,
    robust,
    trade_off,
)
from tammes.papers.robinson_features.adversarial import AttackScore
from tammes.papers.robinson_features.attacked import places_of
from tammes.papers.robinson_features.classification import ReadoutScore
from tammes.papers.robinson_features.methods import (
    ACL,
    ADCO,
    HARD,
    IFM,
    IN_TIME,
    MOCHI,
    MOCO,
    MOCO_IFM,
    UNTRAINED,
    WORST,
    FeatureRun,
)
from tammes.papers.robinson_features.pictures import PictureScore, anchors_of
from tammes.papers.robinson_features.readouts import FeatureScore
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.rivals import EPSILONS, RIVALS
from tammes.papers.robinson_features.robust import RobustScore
from tammes.papers.robinson_features.training import (
    DIGITS_OVER,
    TRIFEATURE,
    FeatureScale,
    base_run,
    config_of,
    feature_sets,
    scale_of,
)
from tammes.perturbation import FeatureModification
from tammes.training import InputAttack, QueueConfig
from tiny import random_images, write_images

# Networks that have hardly begun to learn hold all rows for equal.
pytestmark = pytest.mark.filterwarnings("ignore::tammes.training.metrics.OvertakenWarning")
OF_FEATURES = {FEATURES_TRADE_OFF: trade_off, FEATURES_IFM: ifm}
OF_IMAGES = {
    FEATURES_CLASSIFICATION: classification,
    FEATURES_ROBUST: robust,
    FEATURES_ADVERSARIAL: adversarial,
    FEATURES_PICTURES: pictures,
}
ENTRIES = {**OF_FEATURES, **OF_IMAGES}
SMALL = FeatureScale(images=40, test_images=30, epochs=1, seeds=range(3))
UNLEARNED = "no verdict: not above the control"


def with_features(images: Images, *names: str) -> Images:
    numbers = {name: torch.arange(len(images)) // 2**place % 2 for place, name in enumerate(names)}
    return replace(
        images,
        by_feature={name: Labeling(labels=each, classes=("a", "b")) for name, each in numbers.items()},
    )


def small_sets() -> dict[str, Parts]:
    return {"noise": (random_images(40), random_images(30, seed=1))}


def small_features() -> dict[str, Parts]:
    learned, tried = random_images(40), random_images(30, seed=1)
    three, two = ("shape", "texture", "color"), ("object", "digit")
    return {
        TRIFEATURE: (with_features(learned, *three), with_features(tried, *three)),
        DIGITS_OVER: (with_features(learned, *two), with_features(tried, *two)),
    }


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in OF_FEATURES.values():
        monkeypatch.setattr(module, "feature_sets", lambda data, scale: small_features())
    for module in OF_IMAGES.values():
        monkeypatch.setattr(module, "image_sets", lambda data, size: small_sets())


def sets_of(module: ModuleType) -> dict[str, Parts]:
    return small_features() if module in OF_FEATURES.values() else small_sets()


def of_features(run: FeatureRun, **readouts: float) -> FeatureScore:
    names = ("shape", "texture", "color") if run.data == TRIFEATURE else ("object", "digit")
    numbers = " ".join(f"{readouts.get(name, 0.5):.6f}" for name in names)
    return FeatureScore(
        features=" ".join(names),
        readouts=numbers,
        half=numbers,
        quarter=numbers,
        at_least=numbers,
        at_most=numbers,
        loss=readouts.get("loss", 4.0),
        training_loss=4.0,
        seconds=10.0,
    )


Make = Callable[[FeatureRun, float], object]


def verdicts(module: ModuleType, make: Make, *, seeds: int = 3) -> list[str]:
    """Verdicts for scores that a function makes, with a little noise that differs from arm to arm."""
    study = module.study(sets_of(module), replace(SMALL, seeds=range(seeds)))
    results = {
        run: make(run, 1e-3 * ((7 * run.seed + 3 * place) % 5)) for place, run in enumerate(study.cells)
    }
    page = study.page(results)
    assert isinstance(page, PaperPage)
    return [finding.verdict for finding in page.findings]


def traded(sign: int) -> Make:
    """Scores of encoders that trade the easy feature for the hard ones, or the other way round."""

    def make(run: FeatureRun, noise: float) -> FeatureScore:
        if run.method == UNTRAINED:
            return of_features(run, **dict.fromkeys(("shape", "texture", "color", "object", "digit"), 0.1))
        ease = sign * (run.temperature - 0.1 * run.beta) / 2
        easy, hard = 0.5 + ease / 2 + noise, 0.4 - ease / 2 + noise
        readouts = {"color": easy, "digit": easy, "shape": hard, "object": hard}
        return of_features(run, **readouts, texture=hard + 0.05 * sign, loss=4 - easy)

    return make


def test_a_trade_off_has_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(trade_off, traded(1)) == ["yes"] * 9
    found = verdicts(trade_off, traded(-1))
    assert [found[place] for place in (2, 3, 4, 7, 8)] == ["no"] * 5


def test_a_suppressed_feature_is_no_lack_of_learning() -> None:
    def suppressed(run: FeatureRun, noise: float) -> FeatureScore:
        if run.method == UNTRAINED:
            return of_features(run, **dict.fromkeys(("shape", "texture", "color", "object", "digit"), 0.9))
        return traded(1)(run, noise)  # type: ignore[return-value]

    assert verdicts(trade_off, suppressed) == ["yes"] * 9  # the loss is below that of the first weights

    def unlearned(run: FeatureRun, noise: float) -> FeatureScore:
        return replace(suppressed(run, noise), loss=4.0 + noise)

    assert verdicts(trade_off, unlearned)[2:5] == [UNLEARNED] * 3


def improved(gain: float, untrained: float = 0.1) -> Make:
    names = ("shape", "texture", "color", "object", "digit")

    def make(run: FeatureRun, noise: float) -> FeatureScore:
        level = untrained if run.method == UNTRAINED else 0.5 + noise + gain * (run.method == IFM)
        return of_features(run, **dict.fromkeys(names, level))

    return make


def test_modification_has_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(ifm, improved(0.05)) == ["yes"] * 4
    assert verdicts(ifm, improved(-0.05)) == ["no"] * 4
    assert set(verdicts(ifm, improved(0.05, untrained=0.6))) == {UNLEARNED}
    assert set(verdicts(ifm, improved(0.05), seeds=1)) == {"one seed: no verdict"}
    assert verdicts(ifm, improved(-0.002))[3] == "yes"  # is no harm


def classified(gain: float) -> Make:
    def make(run: FeatureRun, noise: float) -> ReadoutScore:
        level = 0.1 if run.method == UNTRAINED else 0.5 + noise + gain * (run.method in (IFM, MOCO_IFM))
        return ReadoutScore(probe=level, knn=level, loss=4.0, seconds=10.0)

    return make


def test_classification_has_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(classification, classified(0.05)) == ["yes"] * 7
    assert verdicts(classification, classified(-0.05)) == ["no"] * 7
    # A tie with the other forms is what the paper found; one with a rival decides nothing.
    tied = verdicts(classification, classified(0.0))
    assert tied[3] == "yes"
    assert "yes" not in tied[4:]


def test_rivals_have_as_many_values_as_there_are_epsilons_and_the_time_of_their_hosts() -> None:
    base = base_run("noise", small_sets()["noise"], replace(SMALL, epochs=10))
    runs = classification.arms(base)
    assert len({run.arm for run in runs}) == len(runs) == 24
    epochs = {run.method: run.epochs for run in runs}
    for rival in RIVALS:
        assert len(rival.names) == len(EPSILONS)
    assert [epochs[rival.names[0]] for rival in RIVALS] == [10, 8, 2]
    assert [epochs[names[0]] for names in (MOCHI, ACL)] == [10, 10]
    assert {run.epochs for run in classification.arms(replace(base, epochs=0))} == {0}
    assert [run.epochs for run in classification.arms(replace(base, epochs=1))] == [0] + [1] * 23


def test_rivals_have_the_published_settings_and_two_others() -> None:
    images = small_sets()["noise"]
    base = base_run("noise", images, SMALL)
    plain = config_of(base, SMALL, images[0])
    found = {run.method: config_of(run, SMALL, images[0]) for run in classification.arms(base)}
    adco = [found[name] for name in ADCO]
    assert [each.negatives.learning_rate for each in adco] == [3.0, 0.3, 0.03]  # type: ignore[union-attr]
    assert all(each == replace(found[MOCO], negatives=each.negatives) for each in adco)
    mochi = [found[name] for name in MOCHI[:1]]
    assert mochi[0] == replace(found[MOCO], objective=mochi[0].objective)
    assert mochi[0].objective.mixing == HardMixing(hardest=1024, pairs=128, with_anchor=16)
    assert found[ACL[0]] == replace(plain, attack=InputAttack())
    assert found[ACL[2] + IN_TIME].attack == InputAttack(radius=2 / 255, step=0.5 / 255)
    assert found[WORST].objective.perturbation == FeatureModification(epsilon=0.1, alpha=math.inf)


def test_the_numbers_of_table_b_1_stand_beside_moco() -> None:
    sets = {"CIFAR-100": small_sets()["noise"], "other": small_sets()["noise"]}
    study = classification.study(sets, SMALL)
    page = study.page({run: classified(0.1)(run, 0.0) for run in study.cells})  # type: ignore[misc]
    assert page is not None
    words = [finding.paper for finding in page.findings if "Figure 4-7" in finding.paper]
    assert "69 % and, at the best epsilon, 70.3 %" in words[1]
    assert not any("Table B.1" in each for each in (words[0], *words[2:]))


def robustly(gain: float, fragile: float) -> Make:
    def make(run: FeatureRun, noise: float) -> RobustScore:
        level = 0.1 if run.method == UNTRAINED else 0.5 + noise
        more = run.method == IFM
        return RobustScore(
            standard=level + gain * more,
            robust=level + gain * more,
            fragile=level + fragile * more,
            reached=1.0,
            steps=3.0,
            seconds=10.0,
        )

    return make


def test_robust_features_have_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(robust, robustly(0.05, 0.0)) == ["yes"] * 2
    assert verdicts(robust, robustly(-0.05, 0.2)) == ["no"] * 2


def attacked(gain: float, seconds: float) -> Make:
    def make(run: FeatureRun, noise: float) -> AttackScore:
        level = 0.1 if run.method == UNTRAINED else 0.5 + noise
        more, rival = run.method == IFM, run.method == ACL[0]
        under = level - gain * (more - 2 * rival)
        return AttackScore(
            standard=level + gain * (more - rival),
            attacked=f"{under} {under / 2} {under / 4}",
            seconds=10 + noise + seconds * more + 50 * rival * (gain > 0),
        )

    return make


def test_attacks_have_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(adversarial, attacked(0.05, 0.1)) == ["yes"] * 6
    assert verdicts(adversarial, attacked(-0.05, 5.0)) == ["no"] * 6


def shown(sign: int) -> Make:
    def make(run: FeatureRun, noise: float) -> PictureScore:
        base = 0.1 if run.method == UNTRAINED else 0.5 + noise
        falling = " ".join(f"{base - sign * 0.1 * place * (1 + noise)}" for place in range(4))
        rising = " ".join(f"{base + sign * 0.1 * place * (1 + noise)}" for place in range(4))
        rows = " ".join(["1"] * 24)
        return PictureScore(
            positive=falling, negative=rising, closeness=falling, approach=rising, shown=rows, seconds=10.0
        )

    return make


def test_pictures_have_a_yes_and_a_no_for_each_statement() -> None:
    assert verdicts(pictures, shown(1)) == ["yes"] * 2
    assert verdicts(pictures, shown(-1)) == ["no"] * 2


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_nothing_is_confirmed_without_learning(entry: Entry, tmp_path: Path) -> None:
    out = tmp_path / "out"
    entry.reproduce(out, budget=1e-4, seed=0, seeds=3, data=tmp_path, learning=False)
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    assert {each["verdict"] for each in found} <= {UNLEARNED, "not measured yet"}


@pytest.mark.parametrize("entry", OF_IMAGES, ids=lambda entry: entry.name)
def test_a_study_of_images_resumes_and_writes_its_page(entry: Entry, tmp_path: Path) -> None:
    out = tmp_path / "out"
    entry.reproduce(out, budget=1e-4, seed=0, seeds=1, data=tmp_path)
    before = (out / "table.csv").read_bytes()
    entry.reproduce(out, budget=1e-4, seed=0, seeds=1, data=tmp_path)
    assert (out / "table.csv").read_bytes() == before
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "one seed: no verdict" in page


def test_a_study_of_features_measures_each_feature_over_the_epochs(tmp_path: Path) -> None:
    sets = {TRIFEATURE: small_features()[TRIFEATURE]}
    study = ifm.study(sets, replace(SMALL, epochs=4, seeds=range(1)))
    score = study.measure(study.cells[1])
    assert score.features == "shape texture color"
    assert {len(each.split()) for each in (score.readouts, score.half, score.quarter, score.at_most)} == {3}
    assert score.quarter != score.readouts
    again = study.measure(study.cells[1])
    assert replace(again, seconds=0.0) == replace(score, seconds=0.0)
    assert study.measure(study.cells[0]).seconds == 0


def test_arms_differ_in_their_loss_alone() -> None:
    images = small_sets()["noise"]
    base = base_run("noise", images, SMALL)
    plain = config_of(base, SMALL, images[0])
    modified = config_of(replace(base, method=IFM, epsilon=0.1, alpha=0.5), SMALL, images[0])
    assert modified.objective.perturbation == FeatureModification(epsilon=0.1, alpha=0.5)
    assert replace(modified, objective=plain.objective) == plain
    moco = [run for run in classification.arms(base) if run.queue]
    of_queues = [run for run in moco if run.method not in ADCO]
    assert len(of_queues) == 11
    assert all(isinstance(config_of(run, SMALL, images[0]).negatives, QueueConfig) for run in of_queues)
    hard = config_of(replace(base, method=HARD, beta=2.0), SMALL, images[0])
    assert replace(hard, objective=plain.objective) == plain
    counts = {data: len(trade_off.arms(replace(base, data=data))) for data in (TRIFEATURE, DIGITS_OVER)}
    assert counts == {TRIFEATURE: 12, DIGITS_OVER: 8}  # with three seeds 33 trained encoders, as in the paper


def test_correlations_that_are_not_defined_are_left_open() -> None:
    study = trade_off.study({TRIFEATURE: small_features()[TRIFEATURE]}, SMALL)
    page = study.page({run: of_features(run) for run in study.cells})
    assert page is not None
    assert page.findings[0].verdict == "not measured yet"
    scores = ArmScores.by_set({run: of_features(run) for run in study.cells})[TRIFEATURE]
    assert trade_off.correlation(scores, "loss", "color") is None


def test_a_study_that_was_stopped_early_has_no_page_yet() -> None:
    makes: Mapping[ModuleType, Make] = {
        trade_off: traded(1),
        ifm: improved(0.1),
        classification: classified(0.1),
        robust: robustly(0.1, 0.0),
        adversarial: attacked(0.1, 0.0),
        pictures: shown(1),
    }
    for module, make in makes.items():
        study = module.study(sets_of(module), SMALL)
        assert study.cells[0].method == UNTRAINED
        assert study.page({study.cells[0]: make(study.cells[0], 0.0)}) is None


def test_a_smaller_budget_has_fewer_seeds_images_and_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    def scale(budget: float, **how: bool) -> FeatureScale:
        request = Request(entry=FEATURES_IFM, out=Path("out"), budget=budget, seed=0, **how)  # type: ignore[arg-type]
        return scale_of(request)

    sizes = [(len(each.seeds), each.images, each.epochs) for each in map(scale, (0.1, 0.01, 0.001))]
    assert sizes == [(3, 4000, 10), (3, 1265, 3), (1, 400, 1)]
    assert not scale(0.1, learning=False).learning
    assert scale(0.1).learning_rate == 3e-3
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"finds no GPU here: choose budget 0\.1"):
        scale(1.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (scale(1.0).encoder, scale(1.0).epochs, scale(1.0).learning_rate) == ("ResNet-18", 200, 1e-3)


def test_sets_are_drawn_or_read(tmp_path: Path) -> None:
    sets = feature_sets(None, replace(SMALL, side=16))
    assert [len(part) for part in sets[TRIFEATURE]] == [1000, 1000]
    write_images(tmp_path / "pets", "cat", "dog", count=10)
    write_images(tmp_path / "more", "owl", "cow", count=10)
    assert sorted(image_sets(tmp_path, size=SMALL.side)) == ["more", "pets"]
    ((name, (learned, tried)),) = image_sets(tmp_path / "pets", size=SMALL.side).items()
    assert (name, len(learned), len(tried), learned.size) == ("pets", 16, 4, 32)


def test_the_data_of_an_optional_set_may_be_left_out(tmp_path: Path) -> None:
    FEATURES_IFM.check(budget=0.1, data=None)
    with pytest.raises(ValueError, match="needs data"):
        FEATURES_ROBUST.check(budget=0.1, data=None)


def test_neighbors_among_the_anchors_have_other_classes() -> None:
    labels = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert labels[anchors_of(labels)].tolist() == [0, 1, 2] * 3


def test_a_class_that_the_readout_does_not_know_is_refused() -> None:
    from tammes.evaluation import LinearReadout

    readout = LinearReadout(weight=torch.eye(2), bias=torch.zeros(2), classes=torch.tensor([2, 5]))
    assert places_of(readout, torch.tensor([5, 2])).tolist() == [1, 0]
    with pytest.raises(ValueError, match="of the classes that the readout was trained on"):
        places_of(readout, torch.tensor([3]))
