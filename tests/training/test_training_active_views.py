"""Active and targeted positives in a run: the same however it is interrupted, and nothing else disturbed."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from killed import assert_resumes
from tammes import recipes
from tammes.encoders import ConvNetConfig, ResNetConfig
from tammes.positives import (
    Active,
    Boundary,
    Clusters,
    Halving,
    Handwriting,
    Identity,
    Labels,
    Nearest,
    Quantile,
    Targeted,
)
from tammes.training import (
    Adam,
    ImagesSummary,
    Machine,
    QueueConfig,
    Run,
    RunConfig,
    RunFolder,
    TrainingConfig,
    embed,
    train,
)
from tammes.training.active_views import NoBoundaryWarning, NothingNearWarning
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tammes.training.seeds import Purpose, derive
from tiny import make_config, make_text_config, random_images, random_texts

HCL = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
LABELS = Active(candidates=3, classes=Labels(), refresh=4, warm_up=1)
CLUSTERS = Active(
    candidates=3, classes=Clusters(number=3), acceptance=Quantile(share=0.5), refresh=3, sample=16
)
HALVING = replace(CLUSTERS, acceptance=Halving(start=0.5, lower_bound=0.01))
CHOSEN = {
    "labels": replace(make_config(), positives=LABELS),
    "clusters and chunks": replace(make_config(), positives=CLUSTERS, chunk=3, precision="bf16-mixed"),
    "a queue": replace(
        make_config(), objective=HCL, positives=HALVING, negatives=QueueConfig(size=10, momentum=0.5)
    ),
    "targeted": replace(make_config(), positives=Targeted(freely=("noise",))),
}


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def same_weights(first: Run, second: Run) -> bool:
    weights, others = first.model.state_dict(), second.model.state_dict()
    return all(torch.equal(weights[name], others[name]) for name in weights)


def at_each_step(
    monkeypatch: pytest.MonkeyPatch, action: Callable[[ContrastiveModule, PairBatch], None]
) -> None:
    step = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        action(module, batch)
        return step(module, batch, index)

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)


@pytest.mark.equal_bits
@pytest.mark.parametrize(
    ("name", "step"),
    [("labels", 7), ("clusters and chunks", 8), ("a queue", 6), ("targeted", 7)],
)
def test_killed_and_resumed_it_is_the_same_run(tmp_path: Path, name: str, step: int) -> None:
    assert_resumes(lambda folder: go(CHOSEN[name], folder), tmp_path, killed_at=step)


@pytest.mark.parametrize("config", CHOSEN.values(), ids=CHOSEN)
def test_the_configuration_is_read_back(config: TrainingConfig) -> None:
    run = RunConfig(training=config, data=ImagesSummary(source="x", count=22, channels=1, size=8))
    assert from_yaml(RunConfig, to_yaml(run)) == run


def test_one_candidate_is_the_ordinary_positive() -> None:
    plain = go(make_config())
    single = go(replace(make_config(), positives=replace(CLUSTERS, candidates=1)))
    assert same_weights(plain, single)
    assert [row.last for row in plain.metrics] == [row.last for row in single.metrics]
    assert not same_weights(plain, go(CHOSEN["labels"]))


def test_the_warm_up_is_ordinary() -> None:
    config = replace(make_config(), epochs=1)
    warming = replace(config, positives=replace(LABELS, warm_up=4))  # of 5 steps
    late = go(warming)
    assert late.metrics[-1].last["tries"] == 3 * 4, "three candidates for each of four images, in one step"
    assert not same_weights(go(config), late)


def test_nothing_left_to_vary_less_is_the_ordinary_positive() -> None:
    config = replace(make_config(), positives=Targeted(freely=("noise",), little=1.0))
    assert same_weights(go(make_config()), go(config))


def test_the_anchor_and_its_positive_are_made_by_two_augmentations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = CHOSEN["targeted"]
    seen: list[tuple[Handwriting, int]] = []
    make = Handwriting.view

    def spy(self: Handwriting, images: Tensor, seed: int, **place: int) -> Tensor:
        seen.append((self, seed))
        return make(self, images, seed, **place)

    monkeypatch.setattr(Handwriting, "view", spy)
    go(replace(config, epochs=1))
    anchor, positive = config.augmentations
    assert anchor != positive
    assert seen[:2] == [
        (anchor, derive(0, Purpose.FIRST_VIEW, 0)),
        (positive, derive(0, Purpose.SECOND_VIEW, 0)),
    ]


@pytest.mark.equal_bits
def test_what_is_kept_is_the_candidate_nearest_to_the_boundary(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(make_config(), positives=LABELS, epochs=1)
    choose, calls = Active.choose, []

    def spy(self: Active, candidates: Any, distance: Any, **more: Any) -> Any:
        views = list(candidates)
        chosen = choose(self, views, distance, **more)
        kept = torch.stack([distance(view) for view in views])  # (m, batch)
        assert torch.equal(kept.amin(dim=0), chosen.distance)
        best = torch.stack([views[number][i] for i, number in enumerate(kept.argmin(dim=0).tolist())])
        assert torch.equal(chosen.views, best)
        calls.append(chosen)
        return chosen

    monkeypatch.setattr(Active, "choose", spy)
    run = go(config)
    assert len(calls) == 4, "not in the warm-up"
    last = run.metrics[-1].last
    assert last["distance_kept"] < last["distance_drawn"]
    assert last["distance_kept"] == pytest.approx(float(torch.cat([c.distance for c in calls]).mean()))


def test_running_statistics_and_modes_are_those_of_training_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(make_config(), encoder=ResNetConfig(), positives=CLUSTERS, epochs=1)
    modes = []

    def look(module: ContrastiveModule, batch: PairBatch) -> None:
        modes.append({part.training for part in module.model.modules()})

    at_each_step(monkeypatch, look)
    run = go(config)
    assert modes == [{True}] * 5
    assert run.model.state_dict()["encoder.stem.1.num_batches_tracked"] == 5, "a step counts once"


def test_a_classifier_lives_as_long_as_its_round(monkeypatch: pytest.MonkeyPatch) -> None:
    weights: list[Tensor] = []

    def look(module: ContrastiveModule, batch: PairBatch) -> None:
        assert module.active is not None
        weights.append(module.active.weight.clone())

    at_each_step(monkeypatch, look)
    run = go(replace(CHOSEN["labels"], epochs=2))
    changed = [not torch.equal(first, second) for first, second in pairwise(weights)]
    # Seen before steps 0 to 9: made in steps 1, 5 and 9, the last too late to be seen.
    assert changed == [False, True, False, False, False, True, False, False, False]
    boundary = Boundary(weight=weights[-1], offset=torch.zeros(2))
    far = boundary.distance(embed(run.model, random_images(22))[1])
    assert torch.isfinite(far).all()


def test_tries_and_acceptances_are_counted() -> None:
    run = go(CHOSEN["clusters and chunks"])
    for row in run.metrics[-3:]:
        assert row.last["tries"] == 3 * 4 * 5
        assert 0 < row.last["accepted"] <= row.last["tries"]
        assert 0 <= row.last["none_accepted"] < 4 * 5
        assert row.last["threshold"] > 0


def test_a_round_in_which_nothing_was_near_is_told() -> None:
    far = replace(LABELS, acceptance=Halving(start=1e-9, lower_bound=1e-9), refresh=2)
    with pytest.warns(NothingNearWarning, match="no candidate of round 1 was within 1e-09"):
        run = go(replace(make_config(), positives=far, epochs=1))
    assert run.metrics[-1].last["none_accepted"] == 4 * 4


def test_embeddings_that_fell_together_leave_the_choice_to_chance() -> None:
    images = random_images(22)
    config = replace(make_config(), positives=replace(CLUSTERS, classes=Clusters(number=22), sample=22))
    assert math.isfinite(train(config, images, machine=Machine(accelerator="cpu")).metrics[-1].loss or 0)


def collapse(module: ContrastiveModule, batch: PairBatch) -> None:
    """All embeddings become the same one."""
    last = [part for part in module.model.modules() if isinstance(part, torch.nn.Linear)][-1]
    torch.nn.init.zeros_(last.weight)
    torch.nn.init.ones_(last.bias)


@pytest.mark.parametrize("acceptance", [Nearest(), Quantile(share=0.5), Halving()], ids=repr)
@pytest.mark.filterwarnings("ignore::tammes.training.active_views.NoBoundaryWarning")
def test_where_embeddings_collapse_no_distance_is_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, acceptance: Nearest | Quantile | Halving
) -> None:
    def collapse_later(module: ContrastiveModule, batch: PairBatch) -> None:
        if module.global_step >= 3:
            collapse(module, batch)

    at_each_step(monkeypatch, collapse_later)
    positives = replace(CLUSTERS, acceptance=acceptance)  # in rounds of three steps
    run = go(replace(make_config(), positives=positives), RunFolder(path=tmp_path / "run"))
    first, second, third = (row.last for row in run.metrics[-3:])
    # Of the first epoch's five steps, the three of the first round have a boundary.
    assert 0 < first["distance_kept"] < first["distance_drawn"] < 2
    for last in (second, third):
        assert last["tries"] == 3 * 4 * 5
        assert "distance_kept" not in last
        assert "distance_drawn" not in last
        assert last.get("accepted", 0) == 0
        assert ("threshold" in last) == isinstance(acceptance, Halving)
    cells = (tmp_path / "run" / "metrics.csv").read_text().replace("\n", ",").split(",")
    assert not {"inf", "nan"} & set(cells)


def test_a_collapse_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    at_each_step(monkeypatch, collapse)
    config = replace(make_config(), positives=replace(CLUSTERS, refresh=5), epochs=1)
    with pytest.warns(NoBoundaryWarning, match="at step 0 the embeddings had collapsed.*round 1 are random"):
        go(config)


def test_candidates_that_are_no_numbers_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(module: ContrastiveModule, batch: PairBatch) -> None:
        if module.global_step == 1:  # in evaluation alone, by which candidates are embedded
            norms = (part for part in module.model.modules() if isinstance(part, torch.nn.BatchNorm2d))
            next(norms).running_mean.fill_(torch.nan)  # type: ignore[union-attr]

    at_each_step(monkeypatch, overflow)
    config = replace(make_config(), encoder=ResNetConfig(), positives=CLUSTERS, epochs=1)
    with pytest.raises(ValueError, match=r"embeddings of candidates became NaN or infinite at step 1"):
        go(config)


WITHOUT_LABELS = replace(random_images(22), labels=None, classes=None)


@pytest.mark.parametrize(
    ("config", "images", "words"),
    [
        (CHOSEN["labels"], WITHOUT_LABELS, "the data have none.*Clusters"),
        (
            replace(make_config(), positives=replace(CLUSTERS, classes=Clusters(number=23), sample=99)),
            random_images(22),
            "number must be at most the 22 rows",
        ),
        (
            replace(make_config(), positives=replace(CLUSTERS, warm_up=15)),
            random_images(22),
            r"a warm-up of 15 steps takes the whole run \(15 steps\)",
        ),
    ],
    ids=["no labels", "too many clusters", "warm-up"],
)
def test_what_cannot_be_chosen_by_is_refused_before_anything_is_written(
    tmp_path: Path, config: TrainingConfig, images: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        train(config, images, folder=RunFolder(path=tmp_path / "run"), machine=Machine(accelerator="cpu"))
    assert not (tmp_path / "run").exists()


def test_labels_are_not_needed_for_clusters() -> None:
    config = replace(CHOSEN["clusters and chunks"], epochs=1)
    assert train(config, WITHOUT_LABELS, machine=Machine(accelerator="cpu")).metrics[-1].step == 5


@pytest.mark.parametrize("positives", [CLUSTERS, Targeted(freely=("noise",))])
def test_what_does_not_go_together_is_refused(positives: Active | Targeted) -> None:
    with pytest.raises(ValueError, match="needs augmented views, which texts do not have"):
        replace(make_text_config(), positives=positives)
    with pytest.raises(ValueError, match="needs an augmentation, or both views are the same"):
        replace(make_config(), positives=positives, augmentation=Identity())


def test_a_factor_that_the_augmentation_lacks_is_refused_when_the_configuration_is_made() -> None:
    with pytest.raises(ValueError, match=r"factors of Handwriting, which has .*; got hue"):
        replace(make_config(), positives=Targeted(freely=("hue",)))


def test_a_run_with_more_candidates_is_another_run(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path / "run")
    config = replace(CHOSEN["labels"], epochs=1, encoder=ConvNetConfig(width=8))
    go(config, folder)
    more = replace(config, positives=replace(LABELS, candidates=4))
    with pytest.raises(ValueError, match=r"training.positives.candidates was 3, now 4"):
        go(more, replace(folder, resume=True))


def test_other_classes_than_the_run_began_with_are_told(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path / "run")
    config = replace(CHOSEN["labels"], epochs=1, optimizer=Adam())
    go(config, folder)
    machine, longer = Machine(accelerator="cpu"), replace(config, epochs=2)
    with pytest.raises(ValueError, match="started with 2 classes of labels and now there are 3"):
        train(longer, random_images(22, classes=3), folder=replace(folder, resume=True), machine=machine)
    assert train(longer, random_images(22), folder=replace(folder, resume=True), machine=machine)


def test_texts_are_not_chosen_among() -> None:
    run = train(replace(make_text_config(), epochs=1), random_texts(), machine=Machine(accelerator="cpu"))
    assert "tries" not in run.metrics[-1].last
