import pytest
import torch
from torch import nn

from tammes.encoders import ResNet9Config


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [8, 15, 28, 32, 64])
def test_features_are_four_times_the_width_at_every_size(channels: int, size: int) -> None:
    encoder = ResNet9Config(width=8).build(channels=channels, size=size)
    assert encoder.features == 32
    assert encoder(torch.rand(3, channels, size, size)).shape == (3, 32)


@pytest.mark.parametrize(("size", "side"), [(8, 8), (16, 16), (17, 9), (28, 14), (32, 16), (64, 16)])
def test_the_first_convolution_shrinks_to_at_most_sixteen_pixels(size: int, side: int) -> None:
    encoder = ResNet9Config(width=8).build(channels=1, size=size)
    assert encoder.layers[0](torch.rand(1, 1, size, size)).shape == (1, 8, side, side)


def test_it_has_nine_convolutions_of_which_three_pairs_are_skipped_at_first() -> None:
    encoder = ResNet9Config(width=8).build(channels=3, size=32).eval()
    assert sum(isinstance(module, nn.Conv2d) for module in encoder.modules()) == 9
    images = torch.rand(2, 3, 32, 32)
    without_blocks = nn.Sequential(*[layer for i, layer in enumerate(encoder.layers) if i not in (3, 7, 11)])
    assert torch.allclose(encoder(images), without_blocks(images).mean(dim=(2, 3)), atol=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_are_last_in_memory_whatever_the_images_have(channels: int) -> None:
    encoder, maps = ResNet9Config(width=8).build(channels=channels, size=32).eval(), []
    encoder.layers[-1].register_forward_hook(lambda module, given, found: maps.append(found))
    images = torch.rand(2, channels, 32, 32)
    assert torch.equal(encoder(images), encoder(images.contiguous(memory_format=torch.channels_last)))
    assert len(maps) == 2
    assert all(each.is_contiguous(memory_format=torch.channels_last) for each in maps)


def test_gradients_reach_every_weight_after_the_first_step() -> None:
    """At the first one the blocks are the identity, and only the last factors of their branches move."""
    encoder = ResNet9Config(width=8).build(channels=1, size=8)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        encoder(torch.rand(4, 1, 8, 8)).square().mean().backward()
        optimizer.step()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in encoder.parameters())


def test_after_sixteen_steps_images_alone_have_the_features_that_they_have_in_a_batch() -> None:
    """An epoch of 4,096 images; with a tenth of each batch, 0.6 of the features would be wrong."""
    encoder, images = ResNet9Config(width=8).build(channels=3, size=16), torch.rand(64, 3, 16, 16)
    with torch.no_grad():
        for _ in range(16):
            in_batch = encoder(images)
        alone = encoder.eval()(images)
    assert (alone - in_batch).norm() < 0.1 * in_batch.norm()


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of the numbers of a product, got 12 and 8"):
        ResNet9Config(width=12)
    with pytest.raises(ValueError, match="width must be an integer of at least 1, got 0"):
        ResNet9Config(width=0)
    with pytest.raises(ValueError, match="at least 8 pixels a side for this encoder, got size=4"):
        ResNet9Config().build(channels=1, size=4)
