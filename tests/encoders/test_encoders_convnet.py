import pytest
import torch

from tammes.encoders import ConvNetConfig


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [8, 15, 28, 32, 64])
def test_features_are_four_times_the_width_at_every_size(channels: int, size: int) -> None:
    encoder = ConvNetConfig(width=16).build(channels=channels, size=size)
    images = torch.rand(3, channels, size, size)
    assert encoder.features == 64
    assert encoder(images).shape == (3, 64)
    assert encoder.layers(images).shape[-1] == 2


@pytest.mark.parametrize(("size", "side"), [(8, 8), (16, 16), (17, 9), (28, 14), (32, 16), (64, 16)])
def test_the_first_convolution_shrinks_to_at_most_sixteen_pixels(size: int, side: int) -> None:
    encoder = ConvNetConfig(width=8).build(channels=1, size=size)
    assert encoder.layers[0](torch.rand(1, 1, size, size)).shape == (1, 8, side, side)


def test_what_an_image_becomes_depends_on_it_alone() -> None:
    encoder = ConvNetConfig(width=8).build(channels=1, size=8)
    images = torch.rand(6, 1, 8, 8)
    together = encoder(images)
    assert torch.allclose(together[2:4], encoder(images[2:4]), atol=1e-6)
    assert torch.allclose(together, encoder.eval()(images), atol=1e-6)
    assert not list(encoder.buffers())


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_are_last_in_memory_whatever_the_images_have(channels: int) -> None:
    encoder, maps = ConvNetConfig(width=8).build(channels=channels, size=32), []
    encoder.layers[-1].register_forward_hook(lambda module, given, found: maps.append(found))
    images = torch.rand(2, channels, 32, 32)
    features = encoder(images)
    assert torch.equal(features, encoder(images.contiguous(memory_format=torch.channels_last)))
    assert len(maps) == 2
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in maps)
    features.sum().backward()
    for weight in encoder.parameters():
        assert weight.grad is not None
        assert weight.is_contiguous()
        assert weight.grad.stride() == weight.stride(), "else DDP warns"


def test_gradients_reach_every_weight() -> None:
    encoder = ConvNetConfig(width=8).build(channels=1, size=8)
    encoder(torch.rand(4, 1, 8, 8)).square().mean().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of the channels of a group, got 12 and 8"):
        ConvNetConfig(width=12)
    with pytest.raises(ValueError, match="width must be an integer of at least 1, got 0"):
        ConvNetConfig(width=0)
    with pytest.raises(ValueError, match="at least 8 pixels a side for this encoder, got size=4"):
        ConvNetConfig().build(channels=1, size=4)
