"""The study of negatives on images: arms as they are named, an equal search, verdicts that can be no."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.coupling import Hard, Transport, Uniform
from tammes.evaluation import LabeledFeatures
from tammes.papers.entry import Request
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.robinson_negatives import NEGATIVES_IMAGES as ENTRY
from tammes.papers.robinson_negatives.images import ImageStudy, page
from tammes.papers.robinson_negatives.images_arms import (
    BCL,
    DCL,
    FEW_CLASSES,
    HCL,
    HCL_OT,
    OBJECTIVES,
    ORACLE,
    SEARCHED,
    SIMCLR,
    TRIPLET,
    UNTRAINED,
    ImageRun,
    further_arms,
    published_readout,
    settings_of,
    space_in_words,
    untrained,
    usual_arms,
)
from tammes.papers.robinson_negatives.images_axes import varied_arms
from tammes.papers.robinson_negatives.images_embeddings import Embeddings
from tammes.papers.robinson_negatives.images_results import findings
from tammes.papers.robinson_negatives.images_scores import ImageArms
from tammes.papers.robinson_negatives.images_training import (
    SAMPLE,
    ImageScale,
    ImageScore,
    config_of,
    fit,
    measurer,
    overlap_by_label,
    scale_of,
)
from tammes.papers.study import Results
from tammes.positives import SameClass
from tammes.selection import OtherLabels
from tammes.training import Falling, QueueConfig
from tiny import random_images, write_images

SMALL = ImageScale(images=40, test_images=20, epochs=5, batch_size=8, seeds=range(3))
BASE = ImageRun(
    data="noise",
    objective=SIMCLR,
    temperature=0.5,
    hardness=0.0,
    class_prior=0.0,
    batch_size=8,
    classes=100,
    images=40,
    epochs=5,
    encoder="ResNet-9, width 16",
    seed=0,
)
USUAL = ImageScore(
    probe=0.5,
    tenth=0.4,
    hundredth=0.3,
    knn=0.4,
    epochs_measured="0 1 5",
    curve="0.1 0.2 0.4",
    overlap=0.6,
    loss=4.0,
    steps=10,
    seconds=1.0,
)


def small_set() -> dict[str, Parts]:
    return {"noise": (random_images(60, classes=4), random_images(20, classes=4, seed=1))}


def scored(changes: dict[str, dict[str, float | str]], seeds: int = 3, *, varied: bool = False) -> ImageArms:
    """Scores of all arms, also along other settings if `varied`, with a little noise of each seed and arm."""
    chosen = {name: settings_of(name, BASE)[1] for name in SEARCHED}
    blocks = ImageStudy(sets=small_set(), scale=replace(SMALL, seeds=range(seeds))).arms("noise", chosen)
    runs = {UNTRAINED: replace(BASE, objective=UNTRAINED, epochs=0)}
    runs |= usual_arms(BASE) | {f"{name}, searched": run for name, run in chosen.items()}
    runs |= further_arms(BASE)
    runs |= varied_arms(BASE) if varied else {}
    assert set(runs) >= {name for block in blocks for name in block}
    results = {}
    for place, (arm, run) in enumerate(runs.items()):
        usual = replace(USUAL, probe=0.2) if run.objective == UNTRAINED else USUAL
        for seed in range(seeds):
            noise = 0.001 * ((seed * (place + 3)) % 7)
            found = replace(usual, **changes.get(arm, {}))  # type: ignore[arg-type]
            results[replace(run, seed=seed)] = replace(
                found, probe=found.probe + noise, knn=found.knn + noise
            )
    return ImageArms(data="noise", runs=runs, results=results, seeds=range(seeds))


def verdict(arms: ImageArms, words: str) -> str:
    return next(found.verdict for found in findings(arms) if words in found.paper)


def test_every_objective_has_nine_settings_and_the_usual_one_first() -> None:
    for name in SEARCHED:
        settings = settings_of(name, BASE)
        assert len(set(settings)) == 9
        assert settings[0] == usual_arms(BASE)[name]
        assert {run.objective for run in settings} == {name}
        assert {replace(run, temperature=0.5, hardness=0.0, class_prior=0.0) for run in settings} == {
            replace(BASE, objective=name)
        }


def test_arms_are_what_their_names_say() -> None:
    arms = usual_arms(BASE) | further_arms(BASE)
    made = {name: OBJECTIVES[run.objective](run) for name, run in arms.items()}
    assert isinstance(made[SIMCLR].coupling, Uniform)
    assert made[HCL].coupling == Hard(beta=1.0)
    assert isinstance(made[HCL_OT].coupling, Transport)
    assert made[ORACLE].selection == OtherLabels()
    assert [arms[name].class_prior for name in (SIMCLR, DCL, HCL, "hard alone")] == [0, 0.01, 0.01, 0]
    for loss in (BCL, TRIPLET):
        couplings = [made[f"{loss}{kind}"].coupling for kind in ("", ", hard", ", transport")]
        assert list(map(type, couplings)) == [Uniform, Hard, Transport]
    few = arms[f"{HCL}, 10 classes"]
    assert (few.classes, few.class_prior) == (10, pytest.approx(0.1))
    assert arms[f"{HCL}, 30 negatives"].batch_size == 16
    assert f"{HCL}, 2,046 negatives" not in arms  # more pairs than half of the images
    same = arms[f"{SIMCLR}, same class"]
    assert (same.positives, same.epochs) == ("same class", 10)
    images = random_images(40)
    assert isinstance(config_of(same, SMALL, images).positives, SameClass)
    assert isinstance(config_of(arms["MoCo"], SMALL, images).negatives, QueueConfig)
    assert isinstance(config_of(arms[f"{HCL}, beta 6, falling"], SMALL, images).annealing, Falling)
    assert config_of(replace(BASE, objective=UNTRAINED, epochs=0), SMALL, images).epochs == 1
    assert not [name for name in further_arms(replace(BASE, classes=FEW_CLASSES[0])) if "classes" in name]


def test_annealing_is_kept_where_there_are_few_epochs() -> None:
    falling = further_arms(replace(BASE, epochs=3))[f"{HCL}, beta 6, falling"]
    assert config_of(falling, SMALL, random_images(40)).annealing == Falling(changes=3)


def test_no_arm_repeats_another_under_a_second_name() -> None:
    arms = usual_arms(BASE) | further_arms(replace(BASE, batch_size=16))
    assert f"{HCL}, 30 negatives" not in arms
    assert len(set(further_arms(BASE).values())) == len(further_arms(BASE))


def test_a_set_is_known_by_its_letters() -> None:
    assert published_readout("cifar100_32")[HCL] == 69.3
    assert published_readout("CIFAR-10")[HCL] == 92.1
    assert published_readout("pets") == {}
    tiny = published_readout("tiny-imagenet-200")
    assert [tiny[name] for name in (SIMCLR, DCL, HCL)] == [53.4, 53.7, 57.0]


def test_the_page_says_what_was_searched() -> None:
    assert space_in_words()[HCL] == ["beta 0.5, 1, 2; temperature 0.1, 0.2, 0.5"]


def test_a_smaller_budget_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    def scale(budget: float) -> ImageScale:
        return scale_of(Request(entry=ENTRY, out=Path("out"), budget=budget, seed=0))

    sizes = [(len(each.seeds), each.images, each.epochs) for each in map(scale, (0.1, 0.01, 0.001))]
    assert sizes == [(5, 5000, 10), (5, 1581, 3), (1, 500, 2)]
    assert [scale(budget).trends for budget in (0.01, 0.001)] == [True, False]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"finds no GPU here: choose budget 0\.1"):
        scale(1.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (scale(1.0).encoder, scale(1.0).epochs, scale(1.0).on_gpu) == ("ResNet-18", 200, True)


def test_a_set_of_more_classes_than_images_keeps_its_classes() -> None:
    parts = random_images(120, classes=60), random_images(60, classes=60, seed=1)
    study = ImageStudy(sets={"noise": parts}, scale=SMALL)
    run = study.base("noise")
    assert run.classes == run.images == len(parts[0].required_labels().unique()) > 40
    asked: list[Parts] = []
    with pytest.MonkeyPatch.context() as patch:
        module = "tammes.papers.robinson_negatives.images_training.fit"
        patch.setattr(module, lambda run, scale, parts, *_: asked.append(parts) or USUAL)
        measurer(study.sets, SMALL)(run)
    assert len(asked[0][0]) == run.images


def test_sets_are_read_from_a_folder_or_the_folders_in_it(tmp_path: Path) -> None:
    write_images(tmp_path / "all" / "pets", "cat", "dog", count=10)
    write_images(tmp_path / "all" / "cars", "red", "blue", count=5)
    ((name, (train_part, test_part)),) = image_sets(tmp_path / "all" / "pets", size=32).items()
    assert (name, len(train_part), len(test_part)) == ("pets", 16, 4)
    assert not set(train_part.names) & set(test_part.names)
    assert {name: len(parts[0]) for name, parts in image_sets(tmp_path / "all", size=32).items()} == {
        "cars": 8,
        "pets": 16,
    }


def test_the_search_never_sees_the_images_that_are_measured_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Parts]] = []

    def watched(run: ImageRun, scale: ImageScale, parts: Parts, *_: None) -> ImageScore:
        asked.append((run.measured_on, parts))
        return USUAL

    monkeypatch.setattr("tammes.papers.robinson_negatives.images_training.fit", watched)
    sets = small_set()
    names = [f"image {place}" for place in range(80)]
    sets = {
        "noise": (
            replace(sets["noise"][0], names=tuple(names[:60])),
            replace(sets["noise"][1], names=tuple(names[60:])),
        )
    }
    measure = measurer(sets, SMALL)
    run = replace(BASE, classes=len(sets["noise"][0].required_labels().unique()))
    measure(run)
    measure(replace(run, measured_on="validation images"))
    (_, (_, tested)), (_, (learned, validated)) = asked
    assert set(tested.names) <= set(names[60:])
    assert set(validated.names) | set(learned.names) <= set(names[:60])
    assert not set(validated.names) & set(learned.names)


def test_the_search_keeps_the_best_three_and_then_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ImageRun] = []

    def planted(run: ImageRun) -> ImageScore:
        asked.append(run)
        return replace(USUAL, knn=0.5 - abs(run.temperature - 0.2) - 0.01 * run.hardness)

    study = ImageStudy(sets=small_set(), scale=replace(SMALL, epochs=18))
    results = Results(tmp_path / "table.csv", ImageRun, ImageScore)
    best = study.search(results, planted, "noise", HCL)
    assert (best.temperature, best.hardness, best.epochs, best.seed) == (0.2, 0.5, 18, 0)
    assert best.measured_on == "test images"
    assert [sum(run.epochs == epochs for run in asked) for epochs in (2, 6)] == [9, 3]
    assert {(run.measured_on, run.seed) for run in asked} == {("validation images", 1000)}


def test_verdicts_follow_from_the_numbers() -> None:
    gained = scored({HCL: {"probe": 0.6, "curve": "0.1 0.4 0.5"}})
    assert verdict(gained, "hard negatives improve on SimCLR (all") == "yes"
    assert verdict(gained, "hard negatives improve on debiasing alone (all") == "yes"
    assert verdict(gained, "hard negatives improve on SimCLR (each").startswith("not resolved")
    assert verdict(gained, "hardness and debiasing together") == "yes"
    lost = scored({HCL: {"probe": 0.4, "curve": "0.1 0.1 0.2"}})
    assert verdict(lost, "hard negatives improve on SimCLR (all") == "no"
    slower = lost.sooner(HCL, SIMCLR)
    assert slower is not None
    assert slower.below_zero
    unlearned = scored({HCL: {"probe": 0.6}, UNTRAINED: {"probe": 0.6}})
    assert verdict(unlearned, "hard negatives improve on SimCLR (all").startswith("no verdict")
    assert verdict(scored({}, seeds=1), "hard negatives improve on SimCLR (all").startswith("one seed")


def test_speed_is_antisymmetric_and_counts_from_the_start() -> None:
    arms = scored({HCL: {"curve": "0.1 0.4 0.5"}, HCL_OT: {"curve": "0.4 0.4 0.4"}})
    sooner, later = arms.sooner(HCL, SIMCLR), arms.sooner(SIMCLR, HCL)
    assert sooner is not None
    assert later is not None
    assert sooner.values == pytest.approx([0.8] * 3)  # 0.4 after one of five epochs
    assert later.values == pytest.approx([-0.8] * 3)
    at_once = arms.sooner(HCL_OT, SIMCLR)
    assert at_once is not None
    assert at_once.values == pytest.approx([1.0] * 3)
    assert arms.sooner("nobody", SIMCLR) is None


def test_seconds_are_compared_only_where_equal_trainings_took_equal_seconds() -> None:
    def said(**seconds: float) -> set[str]:
        arms = scored({name: {"seconds": value} for name, value in seconds.items()})
        return {
            found.ours.partition("69 %. ")[2] for found in findings(arms) if "fewer epochs" in found.paper
        }

    slower = {HCL: 1.3, f"{HCL}, searched": 1.25}
    assert said(**slower) == {
        "A training takes the seconds of SimCLR times 1.30 [1.30, 1.30]:",
        "A training takes the seconds of SimCLR times 1.25 [1.25, 1.25]:",
    }
    (disturbed,) = said(**{SIMCLR: 2.0})
    assert "not compared: those of one objective at two settings differ by a factor of 2.00" in disturbed


def test_the_oracle_and_true_positives() -> None:
    arms = scored({ORACLE: {"probe": 0.7}, DCL: {"probe": 0.6}})
    assert verdict(arms, "Figure 3-2") == "yes"
    assert verdict(scored({ORACLE: {"probe": 0.7}, DCL: {"probe": 0.4}}), "Figure 3-2") == "no"
    steep = scored({f"{HCL}, beta 6": {"probe": 0.4}, f"{HCL}, beta 6, same class": {"probe": 0.6}})
    assert verdict(steep, "Figure 3-6, middle") == "yes"
    more = scored({HCL: {"probe": 0.6}})
    assert verdict(more, "larger with more classes") == "yes"


def test_a_page_shows_what_is_measured() -> None:
    arms = scored({HCL: {"probe": 0.6}})
    shown = page([arms], SMALL)
    assert [figure.title for figure in shown.figures] == [
        "noise: over SimCLR",
        "noise: over the epochs (Figure 3-12)",
        "noise: over beta (Figure 3-6)",
        "noise: where the gain turns",
    ]
    rows = {row[0]: row for row in shown.numbers.rows}
    assert rows[f"noise, {HCL}"][1] == "temperature 0.5, beta 1, class prior 0.01"
    assert rows[f"noise, {HCL_OT}"][1] == "temperature 0.5, epsilon 0.3, class prior 0.01"
    assert rows["noise, untrained"][1] == "–"
    named = replace(arms, data="CIFAR-100")
    assert any("(the paper +2.7)" in found.ours for found in findings(named))
    assert "CIFAR-100: over SimCLR" in [figure.title for figure in page([named], SMALL).figures]


def test_training_is_measured_over_the_epochs() -> None:
    parts = small_set()["noise"]
    run = replace(BASE, classes=len(parts[0].required_labels().unique()), epochs=2)
    score = fit(run, replace(SMALL, epochs=2), parts)
    assert list(score.over_epochs) == [0, 1, 2]
    assert score.over_epochs[2] == pytest.approx(score.knn, abs=1e-5)
    assert 0 <= score.overlap <= 1
    searching = fit(replace(run, epochs=2, measured_on="validation images"), replace(SMALL, epochs=2), parts)
    assert searching.knn == score.knn
    assert math.isnan(searching.probe)
    before = fit(untrained(run), SMALL, parts)
    assert before.steps == 0
    assert before.over_epochs == {0: pytest.approx(score.over_epochs[0], abs=1e-5)}


def test_the_overlap_is_that_of_pairs_of_one_class_where_there_are_any() -> None:
    def overlap_of(*labels: int) -> float:
        angles = torch.tensor(labels).double()
        features = torch.stack([angles.cos(), angles.sin()], dim=1).float()
        return overlap_by_label(LabeledFeatures(features=features, labels=torch.tensor(labels)))

    assert overlap_of(0, 0, 2, 2) == 0
    assert overlap_of(*(row // 2 for row in range(2 * SAMPLE))) < 0.1  # equal steps take one of each class
    assert math.isnan(overlap_of(0, 1, 2))
    unknown = scored({HCL: {"overlap": math.nan}})
    rows = {row[0]: row for row in page([unknown], SMALL).numbers.rows}
    assert [rows[f"noise, {arm}"][6] for arm in (HCL, SIMCLR)] == ["–", "60.0 [60.0, 60.0]"]


def test_the_entry_runs_and_resumes(tmp_path: Path) -> None:
    pair = write_images(tmp_path / "pair", "cat", "dog", count=40)
    with pytest.raises(ValueError, match="at least 3 classes in pair, got 2"):
        ENTRY.reproduce(tmp_path / "none", budget=0.0001, seed=0, data=pair)
    data = write_images(tmp_path / "pets", "cat", "dog", "hen", count=30)
    for _ in range(2):
        ENTRY.reproduce(tmp_path / "out", budget=0.0001, seed=0, data=data)
    found = json.loads((tmp_path / "out" / "findings.json").read_text())
    assert {each["verdict"] for each in found} == {"one seed: no verdict"}
    lines = (tmp_path / "out" / "table.csv").read_text().splitlines()
    assert len(lines) == len(set(lines))
    assert '<a href="embeddings-pets.html">' in (tmp_path / "out" / "report.html").read_text()
    shown = (tmp_path / "out" / "embeddings-pets.html").read_text()
    for words in ("SimCLR, HCL and HCL-OT on pets", "before training", "The hardest negatives", "One anchor"):
        assert words in shown, words
    ENTRY.reproduce(tmp_path / "untrained", budget=0.0001, seed=0, data=data, learning=False)
    page = (tmp_path / "untrained" / "report.html").read_text()
    assert "pets, SimCLR" in page
    assert "embeddings-" not in page


def test_the_page_of_embeddings_is_that_of_the_kept_encoders(tmp_path: Path) -> None:
    parts = small_set()["noise"]
    base = replace(BASE, classes=len(parts[0].required_labels().unique()), epochs=1)
    kept = Embeddings.of(tmp_path, [base])
    arms = {UNTRAINED: untrained(base), **usual_arms(base)}
    results = {run: fit(run, SMALL, parts, see=kept.keep) for run in arms.values()}
    measured = ImageArms(data="noise", runs=arms, results=results, seeds=[base.seed])
    page = kept.page(measured, "tammes reproduce")
    assert page is not None
    assert [outcome.name for outcome in page.outcomes] == [SIMCLR, HCL, HCL_OT]
    assert [outcome.is_uniform for outcome in page.outcomes] == [True, False, False]
    assert page.outcomes[1].scores.probe == results[arms[HCL]].probe
    assert page.test_size == len(parts[1])
    assert page.before is not None
    assert not np.allclose(page.before.features, page.outcomes[0].features)
    stopped = {run: score for run, score in results.items() if run != arms[HCL_OT]}
    assert kept.page(replace(measured, results=stopped), "tammes reproduce") is None
    (file,) = (each for each in tmp_path.iterdir() if each.name.endswith("HCL.npz"))
    file.unlink()
    assert kept.page(measured, "tammes reproduce") is None
