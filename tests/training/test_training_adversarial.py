"""Learned negatives and attacks on the inputs in a training: what they compute, resume and refuse."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from killed import assert_resumes
from tammes import recipes
from tammes.encoders import GINEncoderConfig, ResNet9Config
from tammes.positives import OwnGraph
from tammes.sources import Gather, LearnedNegatives
from tammes.training import (
    Care,
    InputAttack,
    LearnedNegativesConfig,
    Machine,
    Model,
    QueueConfig,
    Run,
    RunFolder,
    TrainingConfig,
    train,
)
from tammes.training.adversarial import AdversarialStream
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tiny import make_config, random_images

SIMCLR = replace(make_config(), objective=recipes.simclr(temperature=0.5), epochs=2)
ADCO = replace(SIMCLR, negatives=LearnedNegativesConfig(size=6, momentum=0.5, learning_rate=0.5))
ACL = replace(SIMCLR, attack=InputAttack(steps=2), encoder=ResNet9Config(width=8))
OBJECTIVE = recipes.simclr(temperature=0.5)


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


@pytest.mark.equal_bits
@pytest.mark.parametrize("config", [ADCO, ACL], ids=["adco", "acl"])
def test_killed_and_resumed_it_is_the_same_run(tmp_path: Path, config: TrainingConfig) -> None:
    assert_resumes(lambda folder: go(config, folder), tmp_path, killed_at=4)


def test_chunks_of_learned_negatives_change_nothing_but_rounding() -> None:
    one = replace(ADCO, epochs=1)
    weights = [
        torch.nn.utils.parameters_to_vector(go(config).model.parameters()).detach()
        for config in (one, replace(one, chunk=2))
    ]
    assert float((weights[0] - weights[1]).abs().max()) < 1e-4


def test_learned_negatives_move_in_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    forward = LearnedNegatives.forward

    def watched(self: LearnedNegatives, *views: Tensor, **more: Any) -> object:
        seen.append(self.rows.clone())
        return forward(self, *views, **more)

    monkeypatch.setattr(LearnedNegatives, "forward", watched)
    run = go(replace(ADCO, epochs=1))
    assert len(seen) == 5
    assert all(bool((a != b).any()) for a, b in pairwise(seen))
    assert run.metrics[-1].last["negatives"] == 3 + 6
    assert {name.split(".")[0] for name in run.model.state_dict()} == {"encoder", "head"}


def model_of(width: int = 8) -> Model:
    torch.manual_seed(0)
    return Model(ResNet9Config(width=width).build(channels=1, size=8), None)


def images(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.rand(4, 1, 8, 8, generator=generator) for _ in range(2))  # type: ignore[return-value]


def loss_of(embeddings: tuple[Tensor, ...]) -> Tensor:
    return OBJECTIVE(*embeddings)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_attack_is_projected_gradient_ascent(steps: int) -> None:
    """Written out on all views at once, with the network in evaluation mode."""
    attack, model, views = InputAttack(steps=steps, radius=0.05, step=0.02), model_of(), images()
    stream = AdversarialStream(attack, model)
    found = stream.attacked(model, views, loss_of, seed=3)
    start = torch.cat(views)
    draw = torch.rand(start.shape, generator=torch.Generator().manual_seed(3))
    moved = (start + (2 * draw - 1) * 0.05).clamp(0, 1)
    model.eval()  # the second stream begins as a copy of the first
    for _ in range(steps):
        moved = moved.detach().requires_grad_()
        loss_of(model(moved)[1].chunk(2)).backward()
        assert moved.grad is not None
        moved = (start + (moved + 0.02 * moved.grad.sign() - start).clamp(-0.05, 0.05)).clamp(0, 1)
    torch.testing.assert_close(torch.cat(found), moved.detach())
    assert not found[0].requires_grad
    losses = [loss_of(model(torch.cat(each))[1].chunk(2)).item() for each in (views, found)]
    assert losses[1] > losses[0]


def test_streams_share_all_weights_but_batch_normalization() -> None:
    model = model_of()
    stream = AdversarialStream(InputAttack(steps=1), model)
    norms = [each for each in model.modules() if isinstance(each, nn.BatchNorm2d)]
    before = [norm.running_mean.clone() for norm in norms if norm.running_mean is not None]
    stream.loss(model, images(), loss_of, seed=0).backward()
    assert all(norm.weight.grad is None for norm in norms)
    assert all(weight.grad is not None for weight in stream.parameters())
    convolutions = [each for each in model.modules() if isinstance(each, nn.Conv2d)]
    assert all(each.weight.grad is not None for each in convolutions)
    after = [norm.running_mean for norm in norms]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True) if b is not None)
    tracked = [int(norm.num_batches_tracked) for norm in stream.norms.values()]  # type: ignore[arg-type]
    assert set(tracked) == {1}, "the attack itself leaves statistics alone"
    assert model.training
    assert all(each.training for each in model.modules())


def test_the_loss_is_the_mean_of_both_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float, float]] = []
    begin = ContrastiveModule.training_step

    def training_step(module: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss = begin(module, batch, index)
        seen.append(
            (float(loss.detach()), module.objective.last["loss"], float(module.terms["attacked_loss"]))
        )
        return loss

    monkeypatch.setattr(ContrastiveModule, "training_step", training_step)
    run = go(replace(ACL, attack=InputAttack(steps=1, weight=0.25), epochs=1))
    for loss, clean, attacked in seen:
        assert loss == pytest.approx(0.75 * clean + 0.25 * attacked, rel=1e-5)
    assert "attacked_loss" in run.metrics[-1].last
    assert {name.split(".")[0] for name in run.model.state_dict()} == {"encoder", "head"}


def test_an_encoder_without_gradients_by_its_inputs_is_refused() -> None:
    class Rounded(nn.Module):
        features = 3

        def forward(self, images: Tensor) -> Tensor:
            return images.detach().flatten(1)[:, :3].round() + 1

    model = Model(Rounded(), None)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="needs the gradient of the loss by the images, but the encoder gives"
    ):
        AdversarialStream(InputAttack(), model).attacked(model, images(), loss_of, seed=0)
    model.head = nn.Linear(3, 3)  # a gradient, but none that reaches the images
    with pytest.raises(
        ValueError, match="needs the gradient of the loss by the images, but the encoder gives"
    ):
        AdversarialStream(InputAttack(), model).attacked(model, images(), loss_of, seed=0)


@pytest.mark.parametrize(
    "parts",
    [
        {"negatives": QueueConfig(size=4)},
        {"equivariance": Care(groups=2)},
        {"chunk": 2},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_an_attack_and_parts_that_it_excludes(parts: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"moves whole batches of two views .*, got {next(iter(parts))}="):
        replace(ACL, **parts)


def test_what_else_is_refused() -> None:
    for fields, said in (
        ({"radius": 0.0}, "radius must be a finite number above 0 and at most 1"),
        ({"step": -1.0}, "step must be a finite number above 0"),
        ({"steps": 0}, "steps must be an integer of at least 1"),
        ({"weight": 0.0}, "weight must be a finite number above 0 and at most 1"),
    ):
        with pytest.raises(ValueError, match=said):
            InputAttack(**fields)  # type: ignore[arg-type]
    for fields, said in (
        ({"temperature": 0.0}, "temperature must be a finite number above 0"),
        ({"learning_rate": math.inf}, "learning_rate must be a finite number above 0"),
        ({"inertia": 1.0}, "inertia must be a finite number at least 0 and below 1"),
        ({"size": 0}, "counts the negatives beside the batch"),
    ):
        with pytest.raises(ValueError, match=said):
            LearnedNegativesConfig(**fields)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"attack must be InputAttack\(...\) or None, got 'pgd'"):
        replace(ACL, attack="pgd")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an attack changes pixels"):
        replace(ACL, encoder=GINEncoderConfig(), augmentation=None, positives=OwnGraph())
    with pytest.raises(ValueError, match="the views of one process, got 2 processes"):
        AdversarialStream.of(InputAttack(), model_of(), processes=2)
    with pytest.raises(ValueError, match="learned negatives belong to one process"):
        LearnedNegativesConfig().source(4, gather=Gather(), generator=torch.Generator())


@pytest.mark.parametrize("config", [ADCO, ACL], ids=["adco", "acl"])
def test_the_settings_survive_the_file(config: TrainingConfig) -> None:
    assert from_yaml(TrainingConfig, to_yaml(config)) == config
