from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from tammes.data import CORRUPTIONS, Images, TensorPixels, corrupted, corruption
from tammes.data.corruptions import SEVERITIES

NAMES = [each.name for each in CORRUPTIONS]


def pictures(count: int = 12, *, channels: int = 3, size: int = 32) -> Images:
    """Smooth colored noise."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(count, channels, 9, 9, generator=generator)
    pixels = torch.nn.functional.interpolate(coarse, size=(size, size), mode="bicubic").clamp(0, 1)
    names = tuple(map(str, range(count)))
    return Images(pixels=TensorPixels((pixels * 255).round().to(torch.uint8)), names=names)


def whole(images: Images) -> torch.Tensor:
    return images.batch(range(len(images)))


@pytest.mark.parametrize("name", NAMES)
def test_a_higher_severity_changes_images_more(name: str) -> None:
    clean = pictures()
    errors = [
        float((whole(corrupted(clean, name, severity=severity)).float() - whole(clean)).abs().mean())
        for severity in SEVERITIES
    ]
    assert 0 < errors[0] < errors[1] < errors[2] < errors[3] < errors[4]


def test_pixelate_rounds_its_sizes_so_that_small_images_have_equal_severities() -> None:
    clean = pictures(size=8)
    made = [whole(corrupted(clean, "pixelate", severity=severity)) for severity in SEVERITIES]
    equal = [torch.equal(one, other) for one, other in pairwise(made)]
    assert equal == [False, True, False, False]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_bytes_whatever_the_batch(name: str) -> None:
    images = corrupted(pictures(4), name, severity=3, seed=7)
    first = whole(images)
    assert (first.dtype, first.shape) == (torch.uint8, (4, 3, 32, 32))
    assert torch.equal(whole(corrupted(pictures(4), name, severity=3, seed=7)), first)
    assert torch.equal(whole(images.subset([2, 0])), first[[2, 0]])
    assert torch.equal(images[3][0], first[3])


def test_the_noise_of_a_row_depends_on_the_seed_and_the_row() -> None:
    flat = torch.full((2, 1, 8, 8), 128, dtype=torch.uint8)
    images = Images(pixels=TensorPixels(flat), names=("a", "b"))
    one = whole(corrupted(images, "gaussian-noise", severity=3))
    assert not torch.equal(one[0], one[1])
    assert not torch.equal(one, whole(corrupted(images, "gaussian-noise", severity=3, seed=1)))
    assert not torch.equal(one, whole(corrupted(images, "speckle-noise", severity=3)))


def test_noise_has_its_standard_deviation_and_blur_keeps_the_mean() -> None:
    flat = torch.full((1, 200, 200), 128, dtype=torch.uint8)
    noisy = corruption("gaussian-noise")(flat, severity=5).double() / 255
    assert float(noisy.std()) == pytest.approx(0.10, rel=0.02)
    counted = corruption("shot-noise")(flat, severity=5).double() / 255
    assert float(counted.std()) == pytest.approx((128 / 255 / 50) ** 0.5, rel=0.02)
    odd = corruption("impulse-noise")(flat, severity=5) != 128
    assert float(odd.double().mean()) == pytest.approx(0.07, rel=0.05)
    for name in ("gaussian-blur", "defocus-blur", "motion-blur", "zoom-blur", "pixelate", "elastic"):
        assert torch.equal(corruption(name)(flat, severity=5)[:, 20:-20, 20:-20], flat[:, 20:-20, 20:-20])


def test_gray_images_are_corrupted_too_and_have_no_saturation() -> None:
    clean = pictures(2, channels=1, size=12)
    for each in CORRUPTIONS:
        changed = whole(corrupted(clean, each.name, severity=5))
        assert changed.shape == (2, 1, 12, 12)
        assert torch.equal(changed, whole(clean)) == each.needs_color
    black = torch.zeros(3, 4, 4, dtype=torch.uint8)
    assert corruption("brightness")(black, severity=1).unique().tolist() == [13]
    assert torch.equal(corruption("fog")(black, severity=5), black)


def test_unknown_corruptions_and_severities_are_refused() -> None:
    images = pictures(2)
    with pytest.raises(ValueError, match="no corruption 'rain': choose from gaussian-noise, shot-noise"):
        corrupted(images, "rain", severity=1)
    for severity in (0, 6, 1.5, 2.0, True):
        with pytest.raises(ValueError, match=f"severity must be an integer from 1 to 5, got {severity}"):
            corrupted(images, "fog", severity=severity)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        corrupted(images, "fog", severity=1, seed=-1)
    with pytest.raises(ValueError, match="severity must be"):
        corruption("fog")(images[0][0], severity=0)
