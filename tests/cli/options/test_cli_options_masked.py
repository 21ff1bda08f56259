"""CAN and MAE on the command line, and the optimizer that was chosen."""

from __future__ import annotations

import pytest

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
