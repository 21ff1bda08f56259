import dataclasses
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kornia.filters import gaussian_blur2d

from tammes.positives import Augmentation, Handwriting, Identity, Photographs, Scans

ALL = [
    Photographs(),
    Photographs(blur_probability=1.0),
    Handwriting(),
    Handwriting(background=1.0),
    Identity(),
]
STILL_PHOTOGRAPHS = Photographs(
    smallest_crop=1.0, flip_probability=0, jitter_probability=0, grayscale_probability=0
)
STILL_HANDWRITING = Handwriting(rotation=0, translation=0, scaling=0, shear=0, noise=0, erasing_probability=0)


def pictures(batch: int = 4, channels: int = 3, size: int = 16) -> torch.Tensor:
    return torch.rand(batch, channels, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.equal_bits
@settings(max_examples=40, deadline=None)
@given(
    augmentation=st.sampled_from(ALL),
    channels=st.sampled_from([1, 3]),
    size=st.integers(8, 40),
    batch=st.integers(1, 5),
    seed=st.integers(0, 2**63 - 1),
)
def test_a_view_is_an_image_of_the_same_kind(
    augmentation: Augmentation, channels: int, size: int, batch: int, seed: int
) -> None:
    images = pictures(batch, channels, size)
    before = images.clone()
    view = augmentation(images, seed)
    assert (view.shape, view.dtype) == (images.shape, images.dtype)
    assert view.isfinite().all()
    assert float(view.min()) >= 0
    assert float(view.max()) <= 1
    assert torch.equal(images, before)


@pytest.mark.parametrize("augmentation", ALL)
@pytest.mark.parametrize("size", [1, 2])
def test_the_smallest_images_have_views(augmentation: Augmentation, size: int) -> None:
    images = pictures(size=size)
    assert augmentation(images, seed=0).shape == images.shape


@pytest.mark.equal_bits
@pytest.mark.parametrize("augmentation", ALL[:4])
def test_a_view_is_a_function_of_images_and_seed(augmentation: Augmentation) -> None:
    images = pictures()
    torch.rand(17)
    first = augmentation(images, seed=5)
    torch.rand(3)
    assert torch.equal(first, augmentation(images, seed=5))
    assert not torch.equal(first, augmentation(images, seed=6))


@pytest.mark.equal_bits
@pytest.mark.parametrize("augmentation", ALL)
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("batch", [4, 9])  # kornia also draws four numbers for all images together
def test_rows_of_a_batch_are_changed_as_in_the_whole_batch(
    augmentation: Augmentation, channels: int, batch: int
) -> None:
    images = pictures(batch, channels)
    for seed in range(5):
        whole = augmentation(images, seed=seed)
        for rows in (slice(0, 1), slice(0, 3), slice(3, batch), slice(0, batch)):
            part = augmentation(images[rows], seed=seed, first_row=rows.start, batch_size=batch)
            assert torch.equal(part, whole[rows])


@pytest.mark.equal_bits
@pytest.mark.parametrize("size", [8, 30, 75])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_blurred_row_is_that_of_the_batch_at_any_size(channels: int, size: int) -> None:
    images = pictures(70, channels, size)  # the larger ones are blurred in several pieces
    augmentation = Photographs(blur_probability=0.5)
    whole = augmentation(images, seed=3)
    for row in (0, 1, 40, 69):
        part = augmentation(images[row : row + 1], seed=3, first_row=row, batch_size=70)
        assert torch.equal(part, whole[row : row + 1])


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.bfloat16, 4e-3)])
@pytest.mark.parametrize("size", [8, 45])
def test_the_blur_is_that_of_kornia(size: int, dtype: torch.dtype, tolerance: float) -> None:
    images = pictures(40, 3, size)
    augmentation = Photographs(
        smallest_crop=1.0,
        flip_probability=0,
        jitter_probability=0,
        grayscale_probability=0,
        blur_probability=1.0,
    )
    blur = augmentation.steps(3, size)[-1]
    drawn = blur.forward_parameters(images.shape)
    sigma = drawn["sigma"][:, None].expand(-1, 2)
    expected = gaussian_blur2d(images, blur.flags["kernel_size"], sigma)
    actual = blur(images.to(dtype), params=drawn)
    assert actual.dtype == dtype
    assert float((expected - actual.float()).abs().max()) < tolerance


@pytest.mark.equal_bits
@pytest.mark.parametrize("augmentation", ALL[:4])
@pytest.mark.parametrize("groups", [1, 3])
def test_a_group_shares_its_change_and_each_group_has_its_own(
    augmentation: Augmentation, groups: int
) -> None:
    images = pictures(2)[:1].expand(12, -1, -1, -1)
    for seed in range(3):
        views = augmentation(images, seed=seed, groups=groups)
        cut = views.unflatten(0, (groups, -1))
        assert torch.equal(cut, cut[:, :1].expand_as(cut))
        assert not any(torch.equal(cut[0], other) for other in cut[1:])
        for rows in (slice(0, 5), slice(5, 12)):
            part = augmentation(images[rows], seed=seed, first_row=rows.start, batch_size=12, groups=groups)
            assert torch.equal(part, views[rows])


def test_images_that_require_a_gradient_have_views_without_one() -> None:
    """As of an adversary, whose images are leaves; warnings are errors."""
    images, volumes = torch.rand(2, 3, 8, 8), torch.rand(2, 1, 4, 4, 4)
    for change, pixels in ((Photographs(), images), (Scans(), volumes)):
        view = change(pixels.clone().requires_grad_(), seed=0)
        assert torch.equal(view, change(pixels, seed=0))
        assert not view.requires_grad


def test_groups_that_do_not_divide_the_batch_are_refused() -> None:
    with pytest.raises(
        ValueError, match="4 rows cannot be cut into 3 groups of equal size: choose groups from 1, 2"
    ):
        Handwriting()(pictures(4), seed=0, groups=3)


def test_rows_outside_of_the_batch_are_refused() -> None:
    for first_row in (-1, 3):
        with pytest.raises(ValueError, match=f"within a batch of 6, got rows {first_row} to"):
            Handwriting()(pictures(4), seed=0, first_row=first_row, batch_size=6)


@pytest.mark.equal_bits
@pytest.mark.parametrize("augmentation", ALL)
def test_the_global_generator_stays_as_it_was(augmentation: Augmentation) -> None:
    before = torch.get_rng_state()
    augmentation(pictures(), seed=5)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("augmentation", ALL[:4])
def test_each_image_is_changed_in_its_own_way(augmentation: Augmentation) -> None:
    images = pictures(1).expand(8, -1, -1, -1)
    views = augmentation(images, seed=0).flatten(1)
    assert float(torch.cdist(views, views)[~torch.eye(8, dtype=torch.bool)].min()) > 0.1


@pytest.mark.parametrize("augmentation", ALL)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_the_type_is_kept(augmentation: Augmentation, dtype: torch.dtype) -> None:
    assert augmentation(pictures().to(dtype), seed=0).dtype == dtype


@pytest.mark.parametrize("augmentation", [STILL_PHOTOGRAPHS, STILL_HANDWRITING, Identity()])
@pytest.mark.parametrize("channels", [1, 3])
def test_strengths_of_zero_change_nothing(augmentation: Augmentation, channels: int) -> None:
    images = pictures(16, channels)
    # A crop of the whole area may lose a pixel to the rounding of its sides, as it may in torchvision.
    kept = (augmentation(images, seed=0) - images).abs().amax(dim=(1, 2, 3)) < 1e-4
    assert kept.sum() >= (10 if augmentation is STILL_PHOTOGRAPHS else 16)


def test_photographs_are_flipped_left_for_right_half_of_the_time() -> None:
    augmentation = Photographs(smallest_crop=1.0, jitter_probability=0, grayscale_probability=0)
    left = torch.zeros(400, 1, 8, 8)
    left[..., :4] = 1
    bright_left = augmentation(left, seed=0)[:, 0, :, 0].mean(dim=1) > 0.5
    assert 150 < int(bright_left.sum()) < 250
    top = left.transpose(2, 3)
    assert (augmentation(top, seed=0)[:, 0, 0].mean(dim=1) > 0.5).all()


def test_handwriting_is_never_flipped() -> None:
    left = torch.zeros(300, 1, 8, 8)
    left[..., :4] = 1
    views = Handwriting(erasing_probability=0)(left, seed=0)
    assert (views[..., :4].mean(dim=(1, 2, 3)) > views[..., 4:].mean(dim=(1, 2, 3))).all()


def test_gray_photographs_change_in_brightness_alone() -> None:
    augmentation = Photographs(smallest_crop=1.0, flip_probability=0, jitter_probability=1.0, contrast=0)
    gray = torch.full((64, 1, 8, 8), 0.5)
    views = augmentation(gray, seed=0)
    assert float(views.flatten(1).std(dim=1).max()) < 1e-6
    factor = views[:, 0, 0, 0] / 0.5
    assert 0.6 - 1e-5 <= float(factor.min()) < 0.75
    assert 1.25 < float(factor.max()) <= 1.4 + 1e-5


def test_grayscale_takes_the_colors_away() -> None:
    views = Photographs(grayscale_probability=1.0)(pictures(), seed=0)
    assert float((views.amax(dim=1) - views.amin(dim=1)).max()) < 1e-5


def test_crops_are_no_smaller_than_asked() -> None:
    # A ramp from 0 to 1 shows how much of the width a crop kept.
    ramp = torch.linspace(0, 1, 32).expand(200, 1, 32, 32)
    augmentation = Photographs(smallest_crop=0.5, flip_probability=0, jitter_probability=0)
    views = augmentation(ramp, seed=0)
    width = views.amax(dim=(1, 2, 3)) - views.amin(dim=(1, 2, 3))
    assert float(width.min()) > (0.5 * 3 / 4) ** 0.5 - 0.1
    assert float(width.min()) < 0.8
    assert float(width.max()) > 0.95


@pytest.mark.parametrize("background", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("channels", [1, 3])
def test_what_shifts_uncover_is_background(background: float, channels: int) -> None:
    augmentation = Handwriting(noise=0, background=background, translation=0.3, erasing_probability=1.0)
    images = torch.full((16, channels, 16, 16), background)
    assert torch.allclose(augmentation(images, seed=0), images, atol=1e-6)


def test_noise_has_its_standard_deviation() -> None:
    augmentation = dataclasses.replace(STILL_HANDWRITING, noise=0.1)
    gray = torch.full((64, 1, 16, 16), 0.5)
    assert float((augmentation(gray, seed=0) - gray).std()) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (torch.zeros(2, 1, 8, 8, dtype=torch.uint8), "got torch.uint8; convert bytes with"),
        (torch.rand(1, 8, 8), r"\(batch, 1 or 3, size, size\), got \(1, 8, 8\)"),
        (torch.rand(2, 2, 8, 8), r"got \(2, 2, 8, 8\)"),
        (torch.rand(2, 1, 8, 9), r"got \(2, 1, 8, 9\)"),
        (torch.rand(0, 1, 8, 8), r"got \(0, 1, 8, 8\)"),
        (torch.full((2, 1, 8, 8), 255.0), "got 255 to 255"),
        (torch.full((2, 1, 8, 8), -0.1), r"got -0\.1"),
        (torch.full((2, 1, 8, 8), torch.nan), "got nan"),
    ],
)
def test_other_images_are_refused(images: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Handwriting()(images, seed=0)


def test_impossible_strengths_are_refused() -> None:
    for name in ("smallest_crop", "flip_probability", "brightness", "contrast", "saturation", "hue"):
        with pytest.raises(ValueError, match=rf"{name} must be .* at most .*, got 1\.5"):
            Photographs(**{name: 1.5})
    with pytest.raises(ValueError, match=r"smallest_crop must be .* at least 0\.001 and at most 1, got 0"):
        Photographs(smallest_crop=0)
    for name in ("translation", "scaling", "noise", "erasing_probability", "background"):
        with pytest.raises(ValueError, match=rf"{name} must be a finite number at least 0 .* got -0\.5"):
            Handwriting(**{name: -0.5})
    with pytest.raises(ValueError, match=r"rotation must be .* at least 0 and at most 180, got nan"):
        Handwriting(rotation=float("nan"))


def test_importing_warns_of_nothing() -> None:
    command = [sys.executable, "-W", "error", "-c", "import tammes.positives"]
    assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""
