"""Training with masks: its ends are SimCLR and MAE, it resumes, and chunks and queues change nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

from killed import FILES, assert_resumes
from tammes import recipes
from tammes.encoders import ProjectionHeadConfig, VisionTransformer, VisionTransformerConfig
from tammes.masked import Corrupted, draw_mask
from tammes.positives import Active, SameClass
from tammes.training import (
    AdamW,
    Care,
    Falling,
    InputAttack,
    Machine,
    Masked,
    Model,
    QueueConfig,
    Run,
    RunFolder,
    TrainingConfig,
    embed,
    load_run,
    train,
)
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.loader import PairBatch
from tammes.training.masked import MaskedNetwork
from tammes.training.module import ContrastiveModule
from tiny import make_config, random_images

MASKED = Masked(contrast=0.2, reconstruction=0.5, denoising=0.3, decoder_width=12, decoder_depth=1)
MAE = replace(Masked.mae(), decoder_width=12, decoder_depth=1)
ALONE = Masked(contrast=1.0, reconstruction=0.0, denoising=0.0, rate=0.0, noise=0.0)
SIMCLR = replace(
    make_config(),
    objective=recipes.simclr(temperature=0.1),
    encoder=VisionTransformerConfig(patch=2, width=12, depth=1, heads=3),
    head=ProjectionHeadConfig(dim=8, batch_norm=True),
    optimizer=AdamW(),
    epochs=2,
)
CAN = replace(SIMCLR, masked=MASKED)
MAE_RUN = replace(SIMCLR, masked=MAE, head=None)


def go(config: TrainingConfig, folder: RunFolder | None = None) -> Run:
    return train(config, random_images(22), folder=folder, machine=Machine(accelerator="cpu"))


def weights_of(run: Run) -> Tensor:
    """All weights but the biases of keys, whose gradient is zero up to rounding, which Adam scales up."""
    named = run.model.named_parameters()
    return torch.cat([each.detach().flatten() for name, each in named if not name.endswith("inputs.bias")])


def losses_of(run: Run) -> list[float]:
    return [row.loss for row in run.metrics if row.loss is not None]


def test_with_contrast_alone_and_nothing_hidden_it_is_simclr() -> None:
    plain, ours = go(SIMCLR), go(replace(SIMCLR, masked=ALONE))
    assert losses_of(ours) == pytest.approx(losses_of(plain), abs=1e-6)
    assert ours.model.decoder is None
    torch.testing.assert_close(weights_of(ours), weights_of(plain), atol=1e-5, rtol=0)


def mae_loss(model: Model, images: Tensor, generator: Generator) -> float:
    """Each image alone, its visible patches one by one (He et al., 2022)."""
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, VisionTransformer)
    assert decoder is not None
    mask = draw_mask(len(images), 16, 0.75, generator=generator)
    errors = []
    for image, visible, hidden in zip(images, mask.visible, mask.hidden, strict=True):
        patches = encoder.patches(image[None])[0]
        every = [decoder.hidden_token] * 16
        tokens = encoder.tokens(patches[visible][None], visible[None])[0]
        for place, token in zip(visible.tolist(), tokens, strict=True):
            every[place] = token
        inner = decoder.embedding(torch.stack(every)) + decoder.position
        predicted = decoder.pixels(decoder.norm(decoder.blocks(inner[None])))[0]
        errors.append((predicted[hidden] - patches[hidden]).square().mean())
    return float(torch.stack(errors).mean())


def test_without_contrast_and_noise_it_is_a_masked_autoencoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of each step, of one view, under the weights and the masks of that step."""
    pairs: list[tuple[float, float]] = []
    step, draw = ContrastiveModule.training_step, Corrupted.draw
    drawn: list[tuple[Tensor, Generator]] = []

    def spied_draw(patches: Tensor, *, generator: Generator, **more: Any) -> Corrupted:
        drawn.append((patches, Generator().set_state(generator.get_state())))
        return draw(patches, generator=generator, **more)

    def spied_step(self: ContrastiveModule, batch: PairBatch, index: int) -> Tensor:
        loss = step(self, batch, index)
        ((patches, generator),) = drawn
        drawn.clear()
        images = patches.view(-1, 4, 4, 2, 2).permute(0, 1, 3, 2, 4).reshape(-1, 1, 8, 8)
        with torch.no_grad():
            pairs.append((float(loss.detach()), mae_loss(self.model, images, generator)))
        return loss

    monkeypatch.setattr(Corrupted, "draw", spied_draw)
    monkeypatch.setattr(ContrastiveModule, "training_step", spied_step)
    run = go(replace(MAE_RUN, epochs=1))
    assert len(pairs) == 5
    assert [ours for ours, _ in pairs] == pytest.approx([theirs for _, theirs in pairs], abs=1e-6)
    assert set(run.metrics[-1].last) == {"reconstruction_loss", "flops"}


def test_the_terms_and_their_sum_are_means_over_the_epoch() -> None:
    for row in go(CAN).metrics:
        terms = [row.last[f"{name}_loss"] for name in ("contrastive", "reconstruction", "denoising")]
        assert row.loss == pytest.approx(0.2 * terms[0] + 0.5 * terms[1] + 0.3 * terms[2], rel=1e-5)


HARD = replace(CAN, objective=recipes.hcl(temperature=0.5, beta=1.0), ema_decay=0.9)
QUEUE = replace(CAN, negatives=QueueConfig(size=6, momentum=0.5))


@pytest.mark.equal_bits
@pytest.mark.parametrize("config", [HARD, MAE_RUN, QUEUE], ids=["hard", "mae", "queue"])
def test_killed_and_resumed_it_is_the_same_run(tmp_path: Path, config: TrainingConfig) -> None:
    files = (*FILES, "reconstructions.safetensors")
    assert_resumes(lambda folder: go(config, folder), tmp_path, killed_at=3, files=files)


@pytest.mark.parametrize(
    ("config", "chunk"), [(CAN, 3), (MAE_RUN, 3), (QUEUE, 2)], ids=["can", "mae", "queue"]
)
def test_chunks_change_nothing_but_rounding(config: TrainingConfig, chunk: int) -> None:
    head = None if config.head is None else ProjectionHeadConfig(dim=8)
    one = replace(config, head=head, epochs=1)
    whole, chunked = go(one), go(replace(one, chunk=chunk))
    assert losses_of(chunked) == pytest.approx(losses_of(whole), rel=1e-5)
    found, expected = dict(chunked.metrics[-1].last), dict(whole.metrics[-1].last)
    assert 1.2 < found.pop("flops") / expected.pop("flops") < 1.34  # one more forward pass
    assert found == pytest.approx(expected, rel=1e-4)
    torch.testing.assert_close(weights_of(chunked), weights_of(whole), atol=1e-4, rtol=0)


def test_several_crops_have_masks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    masks: list[Tensor] = []
    forward = MaskedNetwork.forward

    def spied(self: MaskedNetwork, rows: Tensor) -> Tensor:
        masks.append(Corrupted.of_rows(rows, pixels=4).mask.hidden)
        return forward(self, rows)

    monkeypatch.setattr(MaskedNetwork, "forward", spied)
    go(replace(CAN, crops=3, epochs=1))
    assert all(each.shape == (12, 8) for each in masks)
    assert len({tuple(row) for each in masks for row in each.tolist()}) > 50


def test_processes_draw_the_masks_of_one() -> None:
    patches = torch.rand(6, 16, 4)
    whole = Corrupted.draw(patches, rate=0.5, noise=0.1, generator=Generator().manual_seed(0))
    part = Corrupted.draw(
        patches[2:5],
        rate=0.5,
        noise=0.1,
        generator=Generator().manual_seed(0),
        first_row=2,
        batch_size=6,
    )
    assert torch.equal(part.mask.hidden, whole.mask.hidden[2:5])
    assert torch.equal(part.noisy, whole.noisy[2:5])


def test_a_finished_run_embeds_whole_images_without_noise(tmp_path: Path) -> None:
    run = go(CAN, RunFolder(path=tmp_path))
    images = random_images(4)
    features, _ = embed(run.model, images)
    encoder = run.model.encoder
    assert isinstance(encoder, VisionTransformer)
    pixels = images.batch(range(4)).float() / 255
    expected = encoder.tokens(encoder.patches(pixels)).mean(dim=1).detach()
    torch.testing.assert_close(features, expected)
    loaded = load_run(tmp_path)
    assert torch.equal(weights_of(loaded), weights_of(run))
    assert torch.equal(embed(loaded.model, images)[0], features)


def test_the_average_of_the_weights_is_saved() -> None:
    plain, averaged, last = go(CAN), go(replace(CAN, ema_decay=0.9)), go(replace(CAN, ema_decay=0.0))
    assert torch.equal(weights_of(last), weights_of(plain))
    assert float((weights_of(averaged) - weights_of(plain)).abs().max()) > 1e-4
    assert losses_of(averaged) == losses_of(plain)
    assert all(each.requires_grad for each in averaged.model.parameters())


def test_settings_survive_their_file() -> None:
    for config in (CAN, MAE_RUN, HARD):
        assert from_yaml(TrainingConfig, to_yaml(config)) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": make_config().encoder}, "masks hide patches from a Vision Transformer"),
        ({"equivariance": Care(groups=2)}, "compares whole images"),
        ({"attack": InputAttack()}, "compares whole images"),
        ({"positives": Active(candidates=2)}, "compares whole images"),
        ({"masked": "can"}, "masked must be Masked"),
        ({"masked": MAE}, "choose None, or a weight for the contrast"),
        ({"masked": MAE, "head": None, "negatives": QueueConfig(size=4)}, "negatives=QueueConfig"),
        ({"masked": MAE, "head": None, "crops": 3}, "crops=3 would have nothing to do"),
        ({"masked": MAE, "head": None, "learn_temperature": True}, "learn_temperature=True"),
        (
            {
                "masked": MAE,
                "head": None,
                "objective": recipes.hcl(temperature=0.5, beta=1.0),
                "annealing": Falling(changes=1),
            },
            "annealing=Falling",
        ),
        ({"ema_decay": 1.0}, "ema_decay must be"),
    ],
)
def test_parts_that_do_not_go_with_masks_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(CAN, **change)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"contrast": -1.0}, "contrast must be"),
        ({"contrast": 0.0, "reconstruction": 0.0, "denoising": 0.0}, "weight above 0 for contrast"),
        ({"rate": 1.0}, "rate must be"),
        ({"rate": 0.0}, "nothing to reconstruct"),
        ({"noise": 0.0}, "noise above 0 with a weight for denoising"),
        ({"decoder_heads": 5}, "multiple of the heads"),
    ],
)
def test_numbers_out_of_their_ranges_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Masked(**settings)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (replace(CAN, masked=replace(MASKED, rate=0.3)), "whole number of the 16 patches, got 0.3"),
        (replace(CAN, masked=replace(MASKED, rate=0.999_999_99)), "leaves a patch visible"),
        (
            replace(CAN, encoder=VisionTransformerConfig(patch=3, width=12, depth=1)),
            "the nearest that do are 2 and 4",
        ),
        (
            replace(
                CAN,
                masked=replace(MASKED, normalize_targets=True),
                encoder=VisionTransformerConfig(patch=1, width=12, depth=1),
            ),
            "normalize_targets needs patches of two numbers at least",
        ),
    ],
)
def test_patches_that_do_not_fit_the_images_are_refused(config: TrainingConfig, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        go(config)


def test_positives_may_be_other_images() -> None:
    assert len(go(replace(CAN, positives=SameClass(), epochs=1)).metrics) == 1
