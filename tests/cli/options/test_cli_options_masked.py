"""CAN and MAE on the command line, and the optimizer that was chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tammes import recipes
from tammes.cli.options.compare import parse as parse_compare
from tammes.cli.options.optimizer import OptimizerChoice
from tammes.cli.options.train import parse
from tammes.data import digits
from tammes.encoders import VisionTransformerConfig
from tammes.training import Adam, AdamW, Masked, TrainingConfig


def config_of(words: str) -> TrainingConfig:
    choice = parse(f"{words} --data digits --epochs 2".split())
    return choice.training.config(digits("train"), "digits")


def test_can_and_mae_are_names() -> None:
    can, mae = config_of("can"), config_of("mae")
    assert (can.masked, can.objective) == (Masked(), recipes.simclr(temperature=0.1))
    assert (mae.masked, mae.head) == (Masked.mae(), None)
    assert can.encoder == mae.encoder == VisionTransformerConfig(patch=2)
    assert config_of("mae --masked.rate 0.5").masked == Masked(
        contrast=0.0, reconstruction=1.0, denoising=0.0, rate=0.5, noise=0.0
    )


def test_usual_sizes_of_a_folder_are_those_that_patches_divide(tmp_path: Path) -> None:
    for number in range(8):
        pixels = np.random.default_rng(number).integers(0, 255, (37, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    words = f"--data {tmp_path} --epochs 1"
    for name, size, patch in (
        ("can", 32, 4),
        ("mae encoder:vit --encoder.patch 6", 36, 6),
        ("simclr --temperature 0.5 encoder:vit --encoder.patch 5", 35, 5),
        ("simclr --temperature 0.5", 37, None),
    ):
        first, *rest = name.split(" encoder:vit")
        parts = f" encoder:vit{rest[0]}" if rest else ""
        choice = parse(f"{first} {words}{parts}".split())
        images, _ = choice.training.load(choice.source)
        assert images.size == size
        encoder = choice.training.config(images, str(tmp_path)).encoder
        assert patch == (encoder.patch if isinstance(encoder, VisionTransformerConfig) else None)
    compared = parse_compare(["simclr", "can", *words.split()])
    images, _ = compared.training.load(compared.source, masks=compared.has_masks)
    assert images.size == 32


def test_masks_are_for_images(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n" * 20)
    choice = parse(["can", "--data", str(tmp_path)])
    with pytest.raises(
        ValueError, match=r"masks \(can, .* hide patches of images, but .* holds texts: choose"
    ):
        choice.training.load(choice.source)
    with pytest.raises(ValueError, match=r"has none: choose VisionTransformerConfig\(\)"):
        config_of("can encoder:resnet18")
    with pytest.raises(ValueError, match=r"at least 2, got 1$"):
        config_of("mae --batch-size 1")


def test_any_objective_takes_the_place_of_simclr() -> None:
    words = "hcl --temperature 0.2 --beta 1 masked:can --masked.rate 0.25 encoder:vit --encoder.patch 2"
    config = config_of(words)
    assert config.masked == Masked(rate=0.25)
    assert config.objective == recipes.hcl(temperature=0.2, beta=1.0)


def test_the_optimizer_is_completed() -> None:
    adamw = config_of("simclr --temperature 0.5 --optimizer adamw --betas 0.8 0.9").optimizer
    assert isinstance(adamw, AdamW)
    assert (adamw.betas, adamw.weight_decay, adamw.learning_rate) == ((0.8, 0.9), 0.05, 1e-3)
    assert config_of("can --learning-rate 0.01").optimizer.learning_rate == 0.01
    assert isinstance(config_of("can --optimizer adam").optimizer, Adam)
    assert OptimizerChoice(fields={"betas": (0.9, 0.9)}).completed(AdamW()).betas == (0.9, 0.9)
    with pytest.raises(ValueError, match="--betas is for adamw"):
        OptimizerChoice(fields={"betas": (0.9, 0.9)}).completed(Adam())
    with pytest.raises(ValueError, match="--betas is for adamw"):
        OptimizerChoice(kind=Adam, fields={"betas": (0.9, 0.9)})
    with pytest.raises(ValueError, match="betas must be"):
        AdamW(betas=(0.9, 1.0))


def test_objectives_beside_can_have_its_network_and_optimizer() -> None:
    choice = parse_compare(["simclr", "can", "mae", "--data", "digits", "--epochs", "2"])
    simclr, can, mae = (choice.config(name, digits("train")) for name in ("simclr", "can", "mae"))
    assert simclr.masked == Masked.contrast_alone()
    assert (can.masked, mae.masked) == (Masked(), Masked.mae())
    assert simclr.encoder == can.encoder == mae.encoder
    assert (simclr.head, simclr.optimizer) == (can.head, can.optimizer)
    with pytest.raises(ValueError, match="bring their own masks"):
        parse_compare(["can", "--data", "digits", "masked:can", "encoder:vit"])
