"""Training with the equivariance loss: groups share an augmentation, each its own, in every host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from killed import assert_resumes
from tammes import recipes
from tammes.equivariance import (
    Minkowski,
    Symplectic,
    equivariance_loss,
    hyperboloid,
    invariance_loss,
    uniformity_loss,
)
from tammes.group import Single
from tammes.objective import Objective
from tammes.positives import Active, Augmentation, Handwriting, SameClass, Targeted
from tammes.training import (
    Care,
    ImagesSummary,
    Machine,
    QueueConfig,
    Run,
    RunConfig,
    RunFolder,
    TrainingConfig,
    train,
)
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tiny import make_config, make_text_config, random_images

SIMCLR = replace(make_config(), objective=recipes.simclr(temperature=0.5), batch_size=8)
CARE = replace(SIMCLR, equivariance=Care(weight=2.0, groups=4))
MORE_VIEWS = replace(CARE, equivariance=Care(groups=2, augmentation=Handwriting(rotation=40.0)))
MOCO = replace(CARE, negatives=QueueConfig(size=10, momentum=0.5))


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def weights_of(run: Run) -> Tensor:
    return torch.nn.utils.parameters_to_vector(run.model.parameters()).detach()


def test_the_terms_are_those_of_the_functions() -> None:
    generator = torch.Generator().manual_seed(0)
    views = torch.randn(2, 8, 6, generator=generator, dtype=torch.float64)
    shared = torch.randn(2, 12, 6, generator=generator, dtype=torch.float64)
    care = Care(weight=0.5, invariance=2.0, uniformity=3.0)
    losses = care.losses((views[0], views[1]), (shared[0], shared[1]), group=Single(), groups=3)
    assert care.terms == {"equivariance": 0.5, "invariance": 2.0, "uniformity": 3.0}
    assert losses["equivariance"] == equivariance_loss(*shared, groups=3)
    assert losses["invariance"] == invariance_loss(*views)
    assert float(losses["uniformity"]) == pytest.approx(
        float(uniformity_loss(views[0]) + uniformity_loss(views[1])) / 2
    )
    alone = Care(weight=0.0, uniformity=1.0).losses(
        (views[0], views[1]), (shared[0], shared[1]), group=Single(), groups=3
    )
    assert list(alone) == ["uniformity"]


@pytest.mark.parametrize("form", [Minkowski(), Symplectic()], ids=repr)
def test_other_forms_take_embeddings_as_they_are_made(form: Any) -> None:
    a, b = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    (loss,) = Care(form=form).losses((a, b), (a, b), group=Single(), groups=2).values()
    points = (hyperboloid(a), hyperboloid(b)) if isinstance(form, Minkowski) else (a, b)
    assert loss == equivariance_loss(*points, groups=2, form=form)


def spied(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Images, seed and groups of each augmentation."""
    calls: list[dict[str, Any]] = []
    call = Augmentation.view

    def spy(self: Augmentation, images: Tensor, seed: int, **how: Any) -> Tensor:
        views = call(self, images, seed, **how)
        calls.append({"augmentation": self, "images": images, "views": views, "seed": seed, **how})
        return views

    monkeypatch.setattr(Augmentation, "view", spy)
    return calls


def test_a_group_shares_an_augmentation_and_each_group_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch)
    go(replace(CARE, epochs=1))
    assert len(calls) == 2 * 2
    assert {call["groups"] for call in calls} == {4}
    assert len({call["seed"] for call in calls}) == 4, "the views of a pair differ, and so do the steps"
    one = calls[0]
    for group, rows in enumerate(torch.arange(8).split(2)):
        alone = one["augmentation"](
            one["images"][rows[1:]].expand(8, -1, -1, -1), one["seed"], first_row=0, batch_size=8, groups=4
        )
        torch.testing.assert_close(alone[rows[0]], one["views"][rows[1]])
        others = torch.cat([alone[: rows[0]], alone[rows[1] + 1 :]])
        assert float((others - alone[rows[0]]).abs().amax(dim=(1, 2, 3)).min()) > 0.01, group


def test_another_augmentation_makes_views_of_the_same_images(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch)
    go(replace(MORE_VIEWS, epochs=1))
    first, second, *shared = calls[:4]
    assert [call["groups"] for call in calls[:4]] == [None, None, 2, 2]
    assert [call["augmentation"] for call in shared] == [Handwriting(rotation=40.0)] * 2
    assert len({call["seed"] for call in calls[:4]}) == 4
    assert torch.equal(first["images"], second["images"])
    assert all(torch.equal(first["images"], call["images"]) for call in shared)


def test_a_step_adds_the_weighted_terms_to_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    losses: list[tuple[float, dict[str, float], float]] = []
    step, call = ContrastiveModule.training_step, Objective.__call__
    objectives: list[float] = []

    def objective(self: Objective, *views: Any, **how: Any) -> Tensor:
        loss = call(self, *views, **how)
        objectives.append(loss.item())
        return loss

    def spy(self: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss = step(self, batch, index)
        terms = {name: float(term) for name, term in self.terms.items()}
        losses.append((loss.item(), terms, objectives[-1]))
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", spy)
    monkeypatch.setattr(Objective, "__call__", objective)
    care = Care(weight=2.0, groups=4, objective=0.5, invariance=3.0, uniformity=4.0)
    run = go(replace(CARE, equivariance=care))
    for total, terms, objective in losses:
        expected = (
            2 * terms["equivariance_loss"] + 3 * terms["invariance_loss"] + 4 * terms["uniformity_loss"]
        )
        assert total == pytest.approx(expected + 0.5 * objective, rel=1e-5)
    assert run.metrics[-1].last["equivariance_loss"] == losses[-1][1]["equivariance_loss"]
    without = go(replace(CARE, equivariance=Care(objective=0.0, weight=0.0, groups=4, uniformity=1.0)))
    assert without.metrics[-1].loss == pytest.approx(without.metrics[-1].last["uniformity_loss"], abs=0.1)
    assert "equivariance_loss" not in without.metrics[-1].last


def test_the_loss_lowers_what_it_measures() -> None:
    config = replace(SIMCLR, epochs=20, batch_size=10)
    plain = Care(weight=1e-9, groups=5)
    strong = replace(plain, weight=30.0)
    ends = [
        go(replace(config, equivariance=care)).metrics[-1].last["equivariance_loss"]
        for care in (plain, strong)
    ]
    assert ends[1] < 0.5 * ends[0]


def test_a_weight_that_vanishes_is_the_objective_on_the_same_views() -> None:
    nearly, none = (
        go(replace(CARE, equivariance=Care(weight=weight, groups=4, invariance=1e-12)))
        for weight in (1e-12, 0.0)
    )
    torch.testing.assert_close(weights_of(nearly), weights_of(none), atol=1e-5, rtol=0)
    assert float((weights_of(go(CARE)) - weights_of(none)).abs().max()) > 1e-3


@pytest.mark.equal_bits
@pytest.mark.parametrize("config", [MORE_VIEWS, replace(MOCO, chunk=3)], ids=["more views", "queue"])
def test_killed_and_resumed_it_is_the_same_run(tmp_path: Path, config: TrainingConfig) -> None:
    assert_resumes(lambda folder: go(config, folder), tmp_path, killed_at=3)


@pytest.mark.parametrize("config", [CARE, MORE_VIEWS], ids=["same views", "more views"])
def test_chunks_change_nothing_but_rounding(config: TrainingConfig) -> None:
    config = replace(config, epochs=1)
    whole, chunked = weights_of(go(config)), weights_of(go(replace(config, chunk=3)))
    assert float((whole - chunked).abs().max()) < 1e-4


def test_with_a_queue_the_first_views_alone_are_turned() -> None:
    run = go(MOCO)
    assert run.metrics[-1].last["equivariance_loss"] > 0
    assert float((weights_of(run) - weights_of(go(replace(MOCO, equivariance=None)))).abs().max()) > 1e-3


def test_targeted_views_go_with_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch)
    go(replace(CARE, positives=Targeted(freely=("noise",)), epochs=1))
    assert {call["groups"] for call in calls} == {4}


def test_the_settings_survive_the_file_and_old_files_have_none() -> None:
    images = ImagesSummary.of(random_images(22), "noise")
    for training in (CARE, MORE_VIEWS, replace(CARE, equivariance=Care(groups=2, form=Minkowski()))):
        config = RunConfig(training=training, data=images)
        assert from_yaml(RunConfig, to_yaml(config)) == config
    plain = RunConfig(training=SIMCLR, data=images)
    assert from_yaml(RunConfig, to_yaml(plain).replace("  equivariance: null\n", "")) == plain


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"equivariance": Care(groups=3)}, "8 rows cannot be cut into 3 groups.*choose groups from 1, 2, 4"),
        ({"equivariance": Care(groups=8)}, "one row makes no pair: choose groups from 1, 2, 4"),
        ({"equivariance": 0.3}, r"equivariance must be Care\(...\) or None, got 0.3"),
        ({"positives": SameClass()}, "views of the same rows.*SameClass"),
        ({"positives": Active()}, "views of the same rows.*Active"),
    ],
)
def test_wrong_settings_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(CARE, **changes)


def test_texts_have_no_augmentation_to_share() -> None:
    with pytest.raises(ValueError, match="share an augmentation, which texts do not have"):
        replace(make_text_config(), equivariance=Care(groups=2))


def test_wrong_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="weight must be a finite number at least 0, got -1"):
        Care(weight=-1.0)
    with pytest.raises(ValueError, match="expected at least one term with a weight above 0"):
        Care(weight=0.0, objective=0.0)


def test_processes_take_whole_groups_and_no_uniformity() -> None:
    Care(groups=4).check(batch_size=8, processes=2)
    with pytest.raises(ValueError, match="2 groups are no multiple of 4 processes"):
        Care(groups=2).check(batch_size=8, processes=4)
    with pytest.raises(ValueError, match="uniformity compares the rows of one process"):
        Care(groups=4, uniformity=1.0).check(batch_size=8, processes=2)
