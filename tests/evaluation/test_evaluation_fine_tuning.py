from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from tammes.data import Images, TensorPixels
from tammes.encoders import ConvNetConfig, Encoder, ModuleEncoder, ResNet9Config, VisionTransformerConfig
from tammes.evaluation import FineTuned, FineTuning, encoder_for_size
from tammes.training import Cosine
from tiny import random_images

VIT = VisionTransformerConfig(patch=4, width=8, depth=2, heads=1)


SMALL = ConvNetConfig(width=8)


def encoder(config: VisionTransformerConfig | ConvNetConfig = SMALL) -> Encoder:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return config.build(channels=1, size=8)


def equal(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(name == same and torch.equal(a, b) for (name, a), (same, b) in pairs)


@pytest.mark.parametrize("config", [SMALL, VIT])
def test_zero_epochs_leave_the_encoder_and_the_first_head(
    config: VisionTransformerConfig | ConvNetConfig,
) -> None:
    given, images = encoder(config), random_images(16, classes=3)
    tuned = FineTuning(epochs=0, batch_size=8).fit(given, images)
    start = FineTuning(epochs=0).start(given, torch.arange(3))
    assert equal(tuned, start)
    assert equal(tuned.encoder, given)
    assert float(tuned.head.weight.detach().abs().max()) < 1e-4
    features = given.eval()(images.batch(range(16)) / 255)
    torch.testing.assert_close(tuned.logits(images), start.head(features).detach())


def test_training_learns_and_repeats_its_bits_and_spares_the_encoder() -> None:
    given, images = encoder(VIT), random_images(64)
    kept = encoder(VIT)
    losses: list[tuple[int, float]] = []
    settings = FineTuning(
        epochs=12, batch_size=16, warmup_epochs=1, learning_rate=0.006, augmentation=None, seed=3
    )
    before = torch.random.get_rng_state()
    tuned = settings.fit(given, images, on_epoch=lambda epoch, loss: losses.append((epoch, loss)))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert equal(given, kept)
    assert [epoch for epoch, _ in losses] == list(range(1, 13))
    assert losses[-1][1] < 0.6 * losses[0][1]
    assert images.labels is not None
    found = tuned.classes[tuned.logits(images).argmax(dim=1)]
    assert float((found == images.labels).double().mean()) > 0.95
    assert equal(settings.fit(given, images), tuned)
    assert not tuned.training


def test_in_mixed_precision_products_are_rounded_and_weights_are_not() -> None:
    images = random_images(64)
    settings = FineTuning(epochs=1, batch_size=16, warmup_epochs=0.0)
    plain = settings.fit(encoder(), images)
    mixed = replace(settings, precision="bf16-mixed").fit(encoder(), images)
    assert {each.dtype for each in mixed.parameters()} == {torch.float32}
    assert not torch.equal(plain.head.weight, mixed.head.weight)
    moved = torch.linalg.vector_norm(plain.head.weight)
    assert torch.linalg.vector_norm(plain.head.weight - mixed.head.weight) < moved / 10


def test_the_seed_decides_the_head_the_order_and_the_changes() -> None:
    given, images = encoder(), random_images(16)
    found = [FineTuning(epochs=1, batch_size=8, seed=seed).fit(given, images) for seed in (0, 0, 1)]
    assert equal(found[0], found[1])
    assert not equal(found[0], found[2])


def test_a_layer_moves_by_its_learning_rate() -> None:
    """The first step of Adam moves each weight by its learning rate, whatever the gradient."""
    given, images = encoder(), random_images(16)
    settings = FineTuning(
        epochs=1, batch_size=16, warmup_epochs=0, weight_decay=0, layer_decay=0.5, augmentation=None
    )
    # A head of usual size, so that gradients reach the encoder.
    start = settings.start(given, torch.arange(2))
    nn.init.normal_(start.head.weight)
    settings_of_start = settings.start

    class Started(FineTuning):
        def start(self, encoder: Encoder, classes: torch.Tensor) -> FineTuned:
            tuned = settings_of_start(encoder, classes)
            tuned.head.load_state_dict(start.head.state_dict())
            return tuned

    tuned = Started(**vars(settings)).fit(given, images)
    moved = {
        name: float((after - before).detach().abs().max())
        for (name, after), before in zip(tuned.encoder.named_parameters(), given.parameters(), strict=True)
    }
    for layer, name in ((3, "layers.0.weight"), (2, "layers.3.weight"), (1, "layers.9.weight")):
        assert moved[name] == pytest.approx(settings.learning_rate * 0.5**layer, rel=1e-3)


@pytest.mark.parametrize("warmup", [0, 0.5, 3])
def test_the_schedule_is_that_of_training(warmup: float) -> None:
    settings = FineTuning(epochs=7, warmup_epochs=warmup)
    expected = [Cosine(warmup_epochs=warmup).factor(step=k, steps=70, steps_per_epoch=10) for k in range(70)]
    assert [settings.factor(step, 10) for step in range(70)] == expected


def test_branches_are_left_out_more_often_in_later_blocks() -> None:
    deep = VisionTransformerConfig(patch=4, width=8, depth=3, heads=1).build(1, 8)
    tuned = FineTuning(drop_path=0.2).start(deep, torch.arange(2))
    assert [block.drop_path for block in tuned.encoder.blocks] == [0.0, 0.1, 0.2]
    assert [block.drop_path for block in deep.blocks] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("images", "batch", "epochs"), [(2, 2, 100), (300, 16, 100), (5_000, 32, 40), (2_000_000, 1024, 3)]
)
def test_suited_settings_follow_the_number_of_images(images: int, batch: int, epochs: int) -> None:
    settings = FineTuning.suited(images)
    assert (settings.batch_size, settings.epochs) == (batch, epochs)
    assert settings.warmup_epochs == pytest.approx(epochs / 20)
    assert settings.learning_rate == pytest.approx(2e-3 * (batch / 1024) ** 0.5)
    assert FineTuning.suited(images, epochs=0).epochs == 0


def test_a_network_without_parameters_has_a_head_alone() -> None:
    pixels = ModuleEncoder(nn.Flatten(), channels=1, size=8, name="nn.Flatten")
    tuned = FineTuning(epochs=1, batch_size=8, augmentation=None).fit(pixels, random_images(16))
    assert tuned.logits(random_images(5), batch_size=2).shape == (5, 2)


def test_other_sizes_of_images() -> None:
    learned = VisionTransformerConfig(patch=4, width=8, depth=1, heads=1, positions="learned")
    other, said = encoder_for_size(encoder(learned), channels=1, size=12)
    assert other(torch.rand(2, 1, 12, 12)).shape == (2, 8)
    assert said == "learned positions interpolated from 2x2 to 3x3 patches"
    fixed, said = encoder_for_size(encoder(VIT), channels=1, size=12)
    assert fixed(torch.rand(2, 1, 12, 12)).shape == (2, 8)
    assert said == "sine-cosine positions computed anew for 3x3 patches instead of 2x2"
    network = ResNet9Config(width=8).build(1, 8)
    same, said = encoder_for_size(network, channels=1, size=12)
    assert same is network
    assert "takes any size" in said
    with pytest.raises(ValueError, match="patches of 4 pixels divide, got 10; the nearest are 8 and 12"):
        encoder_for_size(encoder(VIT), channels=1, size=10)
    rigid = ModuleEncoder(nn.Sequential(nn.Flatten(), nn.Linear(64, 2)), channels=1, size=8, name="rigid")
    with pytest.raises(ValueError, match=r"ModuleEncoder takes no images of 12 pixels .*leave the size"):
        encoder_for_size(rigid, channels=1, size=12)


def test_what_cannot_be_trained_on_is_refused() -> None:
    with pytest.raises(
        ValueError, match="at least 1024 images, a batch, got 16: choose a smaller batch_size"
    ):
        FineTuning().fit(encoder(), random_images(16))
    unlabeled = Images(pixels=TensorPixels(torch.zeros(4, 1, 8, 8, dtype=torch.uint8)), names=tuple("abcd"))
    with pytest.raises(ValueError, match="expected labeled images"):
        FineTuning(batch_size=2).fit(encoder(), unlabeled)
    broken = encoder()
    with torch.no_grad():
        next(broken.parameters()).fill_(float("nan"))
    with pytest.raises(ValueError, match=r"finite loss, got nan in epoch 1, step 1: lower learning_rate"):
        FineTuning(epochs=1, batch_size=8).fit(broken, random_images(16))


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": -1},
        {"batch_size": 1},
        {"learning_rate": 0},
        {"weight_decay": -1},
        {"warmup_epochs": -1},
        {"label_smoothing": 1},
        {"drop_path": 1},
        {"layer_decay": 0},
        {"precision": "16"},
        {"seed": -1},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be"):
        FineTuning(**settings)  # type: ignore[arg-type]
