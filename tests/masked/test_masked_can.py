"""CAN: the equations, its two ends, what is not computed, what is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import astuple

import pytest
import torch
from torch import Tensor, nn

from tammes import recipes
from tammes.encoders import VisionTransformer, VisionTransformerConfig
from tammes.masked import CAN, DecoderConfig, Weights, draw_mask
from tammes.masked.corrupted import Corrupted, standardized
from tammes.masked.decoder import waves
from tammes.masked.masking import at

DECODER = DecoderConfig(width=24, depth=1, heads=3)
MAE = Weights(contrast=0, reconstruction=1)
SIMCLR = Weights(contrast=1, reconstruction=0)


def small() -> VisionTransformer:
    torch.manual_seed(0)
    return VisionTransformerConfig(patch=4, width=24, depth=2, heads=3).build(channels=3, size=16)


def of_single_pixels() -> VisionTransformer:
    return VisionTransformerConfig(patch=1, width=24, depth=1, heads=3).build(channels=1, size=4)


def can(weights: Weights | None = None, encoder: VisionTransformer | None = None, **changes: object) -> CAN:
    torch.manual_seed(0)
    settings = {"decoder": DECODER, "projector": (32, 16), **changes}
    return CAN(small() if encoder is None else encoder, weights=weights, **settings)  # type: ignore[arg-type]


def views(batch: int = 6) -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    return torch.rand(batch, 3, 16, 16), torch.rand(batch, 3, 16, 16)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def value(loss: Tensor | None) -> float:
    assert loss is not None
    return float(loss.detach())


def as_image(patches: Tensor) -> Tensor:
    """Patches (batch, 16, 48) of 4 x 4 pixels as images, one by one."""
    images = torch.zeros(len(patches), 3, 16, 16)
    for place in range(16):
        row, column = 4 * (place // 4), 4 * (place % 4)
        images[:, :, row : row + 4, column : column + 4] = patches[:, place].view(-1, 3, 4, 4)
    return images


def test_the_terms_are_the_equations_on_whole_images() -> None:
    """Sums over pixels of whole images, with M as an image, over the number of pixels that they are of."""
    module = can(Weights(contrast=0.2, reconstruction=0.5, denoising=0.3)).double()
    a, b = (view.double() for view in views())
    losses = module.losses(a, b, generator=seeded())

    generator, images = seeded(), torch.cat([a, b])
    mask = draw_mask(12, 16, 0.5, generator=generator)
    levels = 0.05 * torch.rand(12, generator=generator)
    noise = (levels[:, None, None] * torch.randn(12, 16, 48, generator=generator)).double()
    noisy = module.encoder.patches(images) + noise
    tokens = module.encoder.tokens(at(noisy, mask.visible), mask.visible)
    assert module.decoder is not None
    assert module.projector is not None
    predicted = as_image(module.decoder(tokens, mask, levels))
    hidden = as_image(torch.ones(12, 16, 48).scatter(1, mask.visible[..., None].expand(-1, -1, 48), 0.0))
    rec = (hidden * (images - predicted)).square().sum() / hidden.sum()
    den = ((1 - hidden) * (as_image(noise) - predicted)).square().sum() / (1 - hidden).sum()
    contrast = recipes.simclr(temperature=0.1)(*module.projector(tokens.mean(dim=1)).chunk(2))
    assert value(losses.reconstruction) == pytest.approx(value(rec), abs=1e-7)
    assert value(losses.denoising) == pytest.approx(value(den), abs=1e-7)
    assert value(losses.contrastive) == pytest.approx(value(contrast), abs=1e-6)
    assert value(losses.total) == pytest.approx(value(0.2 * contrast + 0.5 * rec + 0.3 * den), abs=1e-6)


def test_without_masks_and_with_contrast_alone_it_is_simclr() -> None:
    module, (a, b) = can(SIMCLR, rate=0.0, noise=0.0), views()
    losses = module.losses(a, b)
    assert module.projector is not None
    embeddings = module.projector(module.encoder(torch.cat([a, b]))).chunk(2)
    assert value(losses.total) == pytest.approx(value(recipes.simclr(temperature=0.1)(*embeddings)), abs=1e-6)
    assert losses.reconstruction is None
    assert losses.denoising is None
    assert module.decoder is None


def test_without_contrast_and_noise_it_is_a_masked_autoencoder() -> None:
    """Against one that encodes each image alone, visible patches picked one by one."""
    module, (a, _) = can(MAE, rate=0.75, noise=0.0, tell_noise=False), views()
    losses = module.losses(a, generator=seeded())
    mask = draw_mask(6, 16, 0.75, generator=seeded())
    assert module.decoder is not None
    errors = []
    for image, visible, hidden in zip(a, mask.visible, mask.hidden, strict=True):
        patches = module.encoder.patches(image[None])[0]
        tokens = module.encoder.tokens(patches[visible][None], visible[None])[0]
        every = [module.decoder.hidden_token for _ in range(16)]
        for place, token in zip(visible.tolist(), tokens, strict=True):
            every[place] = token
        inner = module.decoder.embedding(torch.stack(every)) + module.decoder.position
        predicted = module.decoder.pixels(module.decoder.norm(module.decoder.blocks(inner[None])))[0]
        errors.append((predicted[hidden] - patches[hidden]).square().mean())
    assert value(losses.total) == pytest.approx(value(torch.stack(errors).mean()), abs=1e-6)
    assert losses.contrastive is None
    assert module.projector is None
    assert torch.equal(losses.total, losses.reconstruction)


def test_two_views_of_an_autoencoder_are_twice_the_images() -> None:
    module, (a, b) = can(MAE, noise=0.0), views()
    both, again = (
        module.losses(a, b, generator=seeded()),
        module.losses(torch.cat([a, b]), generator=seeded()),
    )
    assert torch.equal(both.total, again.total)


def test_any_objective_takes_the_place_of_simclr() -> None:
    hard = recipes.hcl(temperature=0.1, beta=1.0)
    with_hard, plain = can(SIMCLR, objective=hard), can(SIMCLR)
    assert (
        with_hard.losses(*views(), generator=seeded()).total
        != plain.losses(*views(), generator=seeded()).total
    )


def test_views_have_masks_that_differ() -> None:
    module, (a, _) = can(), views()
    decoded = module.decode(torch.cat([a, a]), generator=seeded())
    first, second = decoded.mask.hidden.chunk(2)
    assert not torch.equal(first, second)
    assert decoded.noisy.shape == (12, 3, 16, 16)
    assert decoded.patches.shape == (12, 16, 48)


def test_hidden_patches_never_reach_the_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    block = VisionTransformer.tokens

    def watched(self: VisionTransformer, patches: Tensor, places: Tensor | None = None) -> Tensor:
        seen.append(patches.shape[1])
        return block(self, patches, places)

    monkeypatch.setattr(VisionTransformer, "tokens", watched)
    can(rate=0.75).losses(*views())
    assert seen == [4]


def test_gradients_reach_every_weight() -> None:
    module = can()
    module.losses(*views()).total.backward()
    missing = [name for name, each in module.named_parameters() if each.grad is None or not each.grad.any()]
    assert missing == []


def test_the_decoder_is_told_the_noise_or_not() -> None:
    told, silent = can(tell_noise=True), can(tell_noise=False)
    assert (
        told.losses(*views(), generator=seeded()).total != silent.losses(*views(), generator=seeded()).total
    )
    sines = waves(torch.tensor([0.05]))
    assert sines.shape == (1, 256)
    assert float(sines[0, 0]) == pytest.approx(0.0499792, abs=1e-6)


def test_normalized_targets_have_mean_zero_and_variance_one() -> None:
    patches = standardized(torch.rand(2, 3, 48) * 7 + 3)
    assert torch.allclose(patches.mean(dim=2), torch.zeros(2, 3), atol=1e-5)
    assert torch.allclose(patches.var(dim=2), torch.ones(2, 3), atol=1e-3)
    plain, normal = can(MAE), can(MAE, normalize_targets=True)
    a, _ = views()
    losses = [module.losses(a, generator=seeded()).total for module in (plain, normal)]
    assert losses[0] < losses[1]


@pytest.mark.equal_bits
def test_a_seed_repeats_a_step() -> None:
    totals = [can().losses(*views(), generator=seeded(5)).total for _ in range(2)]
    assert torch.equal(*totals)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_packed_rows_know_how_many_patches_are_hidden(dtype: torch.dtype) -> None:
    drawn = Corrupted.draw(torch.rand(2, 1024, 3, dtype=dtype), rate=257 / 1024, noise=0.05)
    again = Corrupted.of_rows(drawn.rows(), pixels=3)
    assert torch.equal(again.mask.hidden, drawn.mask.hidden)
    assert torch.equal(again.mask.visible, drawn.mask.visible)


def test_printed_weights_sum_to_one() -> None:
    assert astuple(Weights.printed()) == pytest.approx((0.03, 0.679, 0.291))
    assert sum(astuple(Weights.printed(0.4, 0.1))) == pytest.approx(1)
    assert astuple(Weights.printed(1.0, 0.5)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Weights(contrast=-1, reconstruction=1), "contrast must be"),
        (lambda: Weights(contrast=0, reconstruction=0), "weight above 0 for contrast, reconstruction or"),
        (lambda: Weights.printed(1.5), "contrast must be"),
        (lambda: can(rate=0.0), "nothing to reconstruct"),
        (lambda: can(rate=0.3), "whole number of the 16 patches"),
        (lambda: can(noise=0.0), "noise above 0 with a weight for denoising"),
        (lambda: can().losses(views()[0]), "expected two views of each image, got one"),
        (lambda: can(SIMCLR).decode(views()[0]), "there is no decoder"),
        (lambda: can().losses(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8)), "expected images of shape"),
        (lambda: DecoderConfig(width=30, heads=4), "multiple of the heads"),
        (lambda: CAN(nn.Linear(4, 4)), "encoder must be a VisionTransformer, got Linear"),
        (lambda: can((1, 0, 0)), "weights must be a Weights, got tuple"),
        (lambda: can(decoder=24), "decoder must be a DecoderConfig, got int"),
        (lambda: CAN(small(), "simclr"), "objective must be a loss of two views, got 'simclr'"),
        (lambda: can(projector=()), "width of its output at least"),
        (lambda: can(rate=1e-4), "nothing to reconstruct"),
        (lambda: can(MAE, normalize_targets=True, encoder=of_single_pixels()), "patches of one pixel"),
        (lambda: can(MAE).losses(views(0)[0]), "one image at least, got none"),
        (lambda: can(MAE).losses(views(4)[0], views(3)[0]), "same images, got 4 and 3"),
        (lambda: can().losses(views()[0], views()[1][..., :8]), "two views of one shape, got .* and .* 8"),
        (lambda: can(MAE).losses(views()[0].to(torch.uint8)), "from 0 to 1, got torch.uint8: divide by 255"),
        (lambda: can().decode(views()[0].long()), "from 0 to 1, got torch.int64"),
        (lambda: can(MAE).losses(torch.full((2, 3, 16, 16), math.nan)), "finite numbers, got NaN"),
        (lambda: can(MAE).losses(torch.full((2, 3, 16, 16), -math.inf)), "finite numbers, got NaN"),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_images_of_another_type_than_the_weights_are_refused_without_autocast() -> None:
    module, images = can(), views()[0]
    for call in (module.losses, lambda a, b: module.decode(a)):
        with pytest.raises(
            ValueError, match=r"images of torch.float32, as the weights are, got torch.float64"
        ):
            call(images.double(), images.double())
    with torch.autocast("cpu", torch.bfloat16):
        assert bool(module.losses(images.bfloat16(), images.bfloat16()).total.isfinite())


def test_images_with_nan_are_not_decoded() -> None:
    images = views()[0]
    images[1, 0, 0, 0] = math.nan
    with pytest.raises(ValueError, match="expected images of finite numbers"):
        can().decode(images)


def test_bytes_as_floating_point_numbers_are_no_pixels() -> None:
    model, (first, second) = can(), views()
    with pytest.raises(ValueError, match=r"from 0 to 1, .* got 25\d.*: divide by 255"):
        model.losses(255 * first, 255 * second)
    with pytest.raises(ValueError, match="divide by 255"):
        model.decode(255 * first)
    assert model.losses(4 * first - 2, 4 * second - 2).total.isfinite()  # scaled to a variance of 1


def test_all_parts_have_the_type_of_the_encoder() -> None:
    model = can(encoder=small().bfloat16())
    first, second = (view.bfloat16() for view in views())
    assert model.losses(first, second).total.isfinite()


def test_where_the_host_would_wait_the_next_call_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tammes.masked.can.waits", lambda device: True)
    module, (a, _) = can(MAE), views()
    module.losses(torch.full_like(a, math.nan))
    copy.deepcopy(module).losses(a)
    with pytest.raises(ValueError, match="in the call before this one: expected images of finite numbers"):
        module.losses(a)
    module.losses(a)


def test_training_lowers_every_term() -> None:
    module = can(noise=0.5)
    optimizer = torch.optim.AdamW(module.parameters(), lr=3e-3)
    a, b = views(16)
    b = (a + 0.02 * torch.randn(a.shape, generator=seeded())).clamp(0, 1)
    terms = []
    for step in range(40):
        losses = module.losses(a, b, generator=seeded(step))
        optimizer.zero_grad()
        losses.total.backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        assert losses.contrastive is not None
        assert losses.reconstruction is not None
        assert losses.denoising is not None
        terms.append(
            [float(each.detach()) for each in (losses.contrastive, losses.reconstruction, losses.denoising)]
        )
    first, last = (torch.tensor(part).mean(dim=0) for part in (terms[:5], terms[-5:]))
    assert bool((last < first).all())
