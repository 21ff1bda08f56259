import kornia.augmentation as kornia
import pytest
import torch
from torch import Tensor

from tammes.positives.crop import Crop, resized, taps


def images(rows: int, channels: int = 3, height: int = 12, width: int = 12) -> Tensor:
    return torch.rand(rows, channels, height, width, generator=torch.Generator().manual_seed(0))


def part_of(drawn: dict[str, Tensor], rows: slice) -> dict[str, Tensor]:
    return {name: value if name == "forward_input_shape" else value[rows] for name, value in drawn.items()}


@pytest.mark.parametrize("mode", ["slice", "resample"])
@pytest.mark.parametrize(("height", "width", "size"), [(12, 12, (12, 12)), (9, 14, (7, 20)), (8, 8, (1, 5))])
def test_a_crop_is_that_of_kornia(mode: str, height: int, width: int, size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    slow = kornia.RandomResizedCrop(size, scale=(0.01, 1.0), cropping_mode=mode)
    quick = Crop(size, scale=(0.01, 1.0))
    pixels = images(40, height=height, width=width)
    drawn = slow.forward_parameters(pixels.shape)
    exact = {name: value.double() if value.is_floating_point() else value for name, value in drawn.items()}
    expected = slow(pixels.double(), params=exact)
    torch.testing.assert_close(quick(pixels.double(), params=exact), expected, atol=1e-9, rtol=0)
    torch.testing.assert_close(quick(pixels, params=drawn).double(), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_crop_of_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    crop, pixels = Crop((12, 12), scale=(0.1, 1.0)), images(8).to(dtype)
    drawn = crop.forward_parameters(pixels.shape)
    assert torch.equal(crop(pixels, params=drawn), crop(pixels.float(), params=drawn).to(dtype))


@pytest.mark.equal_bits
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [8, 33])
def test_rows_have_the_bits_of_the_whole(channels: int, size: int) -> None:
    torch.manual_seed(1)
    crop, pixels = Crop((size, size), scale=(0.08, 1.0)), images(70, channels, size, size)
    drawn = crop.forward_parameters(pixels.shape)
    whole = crop(pixels, params=drawn)
    for rows in (slice(0, 1), slice(5, 40), slice(69, 70)):
        assert torch.equal(crop(pixels[rows], params=part_of(drawn, rows)), whole[rows])


def test_the_whole_image_stays_as_it_is() -> None:
    pixels = images(5, height=30, width=17)
    whole = (
        taps(torch.zeros(5), torch.full((5,), float(pixels.shape[axis] - 1)), pixels.shape[axis])
        for axis in (2, 3)
    )
    assert torch.equal(resized(pixels, *whole), pixels)


@pytest.mark.parametrize("size", [2, 3, 7, 50])
def test_places_are_even_and_stay_in_the_crop(size: int) -> None:
    first, last = torch.tensor([0.0, 3.0, 5.0, 0.0]), torch.tensor([10.0, 4.0, 5.0, 223.0])
    before, after, weights = taps(first, last, size)
    places = before + weights * (after - before)
    ends = zip(first.tolist(), last.tolist(), strict=True)
    expected = torch.stack([torch.linspace(*each, size, dtype=torch.float64) for each in ends])
    torch.testing.assert_close(places, expected)
    for index in (before, after):
        assert (index >= first[:, None]).all()
        assert (index <= last[:, None]).all()
    assert ((weights >= 0) & (weights < 1)).all()
