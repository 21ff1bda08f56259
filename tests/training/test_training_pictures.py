"""Pictures of what a decoder makes of masked images: which pixels are whose, and when they are made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tammes.encoders import VisionTransformerConfig
from tammes.training import Masked, Model
from tammes.training.pictures import Reconstructions, decoded, stages

MASKED = Masked(decoder_width=12, decoder_depth=1)


def model_of(masked: Masked) -> Model:
    torch.manual_seed(0)
    encoder = VisionTransformerConfig(patch=4, width=12, depth=1, heads=3).build(channels=1, size=8)
    return Model(encoder, None, decoder=masked.build_decoder(encoder))


@pytest.mark.parametrize("normalized", [False, True])
def test_visible_pixels_stay_and_hidden_ones_are_predicted(normalized: bool) -> None:
    masked = replace(MASKED, normalize_targets=normalized)
    images = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    made = decoded(model_of(masked), masked, images, seed=0)
    again = decoded(model_of(masked), masked, images, seed=0)
    assert all(torch.equal(made[name], again[name]) for name in made)
    assert torch.equal(made["clean"], (255 * images).round().to(torch.uint8))
    is_gray = made["seen"] == 128
    assert int(is_gray.sum()) >= 2 * 2 * 16  # two of four patches of each image
    assert torch.equal(made["reconstructed"][~is_gray], made["seen"][~is_gray])
    assert not torch.equal(made["reconstructed"], made["seen"])
    hidden = torch.nn.functional.avg_pool2d(is_gray.float(), 4) == 1
    hidden = hidden.repeat_interleave(4, 2).repeat_interleave(4, 3)
    assert torch.equal(made["denoised"][hidden], made["reconstructed"][hidden])


def test_terms_without_weight_have_no_picture() -> None:
    images = torch.rand(2, 1, 8, 8)
    mae = replace(Masked.mae(), decoder_width=12, decoder_depth=1)
    assert set(decoded(model_of(mae), mae, images, seed=0)) == {"clean", "seen", "reconstructed"}
    alone = replace(MASKED, reconstruction=0.0, rate=0.0)
    made = decoded(model_of(alone), alone, images, seed=0)
    assert set(made) == {"clean", "seen", "denoised"}


@pytest.mark.parametrize(("epochs", "expected"), [(1, [1]), (3, [1, 3]), (20, [1, 5, 10, 20])])
def test_there_are_few_stages(epochs: int, expected: list[int]) -> None:
    assert sorted(stages(epochs)) == expected


def test_a_file_has_them_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    pictures = torch.arange(2 * 64, dtype=torch.uint8).view(2, 1, 8, 8)
    found = Reconstructions(
        epochs=(1, 4),
        clean=pictures,
        seen=255 - pictures,
        reconstructed=torch.stack([pictures, pictures]),
        denoised=pictures[:0, None].expand(0, 2, 1, 8, 8),
    )
    path = tmp_path / "reconstructions.safetensors"
    assert Reconstructions.load(path) is None
    path.write_bytes(found.to_bytes())
    loaded = Reconstructions.load(path)
    assert loaded is not None
    assert loaded.epochs == (1, 4)
    assert torch.equal(loaded.reconstructed, found.reconstructed)
    path.write_bytes(b"no pictures")
    with pytest.raises(ValueError, match="expected pictures of a run"):
        Reconstructions.load(path)
