import colorsys

import kornia.augmentation as kornia
import pytest
import torch
from torch import Tensor

from tammes.positives.jitter import Jitter, turned_hue


def images(rows: int, channels: int = 3, size: int = 7) -> Tensor:
    pixels = torch.rand(rows, channels, size, size, generator=torch.Generator().manual_seed(0))
    pixels[0] = pixels[0, :1]  # gray
    pixels[1, :, 0, 0], pixels[1, :, 0, 1] = 0, 1
    pixels[2, :2] = 1  # two largest colors
    return pixels


@pytest.mark.parametrize("seed", range(12))
def test_colors_change_as_in_kornia(seed: int) -> None:
    torch.manual_seed(seed)
    slow, quick = (make(0.4, 0.4, 0.4, 0.5, p=0.8) for make in (kornia.ColorJitter, Jitter))
    pixels = images(9)
    drawn = slow.forward_parameters(pixels.shape)
    expected = slow(pixels, params=drawn)
    assert not torch.equal(expected, pixels)
    torch.testing.assert_close(quick(pixels, params=drawn), expected, atol=5e-6, rtol=0)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_change_of_strength_zero_is_left_out(channels: int) -> None:
    torch.manual_seed(0)
    pixels = images(4, channels)
    assert torch.equal(Jitter(0.0, 0.0, 0.0, 0.0, p=1.0)(pixels), pixels)
    slow, quick = (make(0.4, 0.4, 0.0, 0.0, p=1.0) for make in (kornia.ColorJitter, Jitter))
    drawn = slow.forward_parameters(pixels.shape)
    torch.testing.assert_close(quick(pixels, params=drawn), slow(pixels, params=drawn), atol=5e-6, rtol=0)


def test_pieces_give_the_bits_of_the_whole() -> None:
    """A piece has 2**18 numbers: 300 images of 32 pixels are four."""
    torch.manual_seed(1)
    pixels, jitter = images(300, size=32), Jitter(0.4, 0.4, 0.4, 0.1, p=1.0)
    drawn = jitter.forward_parameters(pixels.shape)
    whole = jitter(pixels, params=drawn)
    for row in (0, 84, 85, 299):
        part = {
            name: value if name in ("order", "forward_input_shape") else value[row : row + 1]
            for name, value in drawn.items()
        }
        assert torch.equal(jitter(pixels[row : row + 1], params=part), whole[row : row + 1])


def test_a_turn_by_thirds_permutes_the_colors() -> None:
    pixels = images(5).double()
    third = torch.full((5,), 1 / 3, dtype=torch.float64)
    torch.testing.assert_close(turned_hue(pixels, third), pixels.roll(1, dims=1))
    torch.testing.assert_close(turned_hue(pixels, -third), pixels.roll(-1, dims=1))
    torch.testing.assert_close(turned_hue(turned_hue(pixels, third / 2), third / 2), pixels.roll(1, dims=1))


@pytest.mark.parametrize("turn", [-0.5, -0.31, 0.0, 0.07, 0.5])
def test_a_turned_hue_is_that_of_the_color_wheel(turn: float) -> None:
    pixels = images(6).double()

    def turned(color: list[float]) -> tuple[float, float, float]:
        hue, saturation, value = colorsys.rgb_to_hsv(*color)
        return colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)

    colors = pixels.permute(0, 2, 3, 1).reshape(-1, 3).tolist()
    expected = torch.tensor([turned(color) for color in colors], dtype=torch.float64)
    actual = turned_hue(pixels, torch.full((6,), turn, dtype=torch.float64))
    torch.testing.assert_close(actual.permute(0, 2, 3, 1).reshape(-1, 3), expected)
    assert torch.equal(pixels, images(6).double())


@pytest.mark.parametrize("seed", range(4))
def test_in_double_precision_the_colors_are_those_of_kornia(seed: int) -> None:
    torch.manual_seed(seed)
    slow, quick = (make(0.4, 0.4, 0.4, 0.5, p=1.0) for make in (kornia.ColorJitter, Jitter))
    pixels = images(9).double()
    drawn = slow.forward_parameters(pixels.shape)
    torch.testing.assert_close(quick(pixels, params=drawn), slow(pixels, params=drawn), atol=2e-6, rtol=0)
