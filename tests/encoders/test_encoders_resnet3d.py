import pytest
import torch
from torch import nn

from tammes.encoders import ResNet3DConfig


@pytest.mark.parametrize("size", [(8, 8, 8), (8, 16, 33), (24, 24, 24)])
def test_features_are_four_times_the_width_at_every_size(size: tuple[int, int, int]) -> None:
    encoder = ResNet3DConfig(width=8).build(size=size)
    assert encoder.features == 32
    assert encoder(torch.rand(2, 1, *size)).shape == (2, 32)


def test_the_first_convolution_shrinks_each_axis_to_at_most_sixteen_voxels() -> None:
    encoder = ResNet3DConfig(width=8).build(size=(8, 24, 40))
    assert encoder.layers[0](torch.rand(1, 1, 8, 24, 40)).shape == (1, 8, 8, 12, 14)


def test_it_has_nine_convolutions_of_which_three_pairs_are_skipped_at_first() -> None:
    encoder = ResNet3DConfig(width=8).build(size=(8, 8, 8))
    assert sum(isinstance(module, nn.Conv3d) for module in encoder.modules()) == 9
    volumes = torch.rand(2, 1, 8, 8, 8)
    without_blocks = nn.Sequential(*[layer for i, layer in enumerate(encoder.layers) if i not in (3, 7, 11)])
    assert torch.allclose(encoder(volumes), without_blocks(volumes).mean(dim=(2, 3, 4)), atol=1e-6)


def test_features_of_a_volume_depend_on_it_alone() -> None:
    encoder = ResNet3DConfig(width=8).build(size=(8, 8, 8)).train()
    volumes = torch.rand(3, 1, 8, 8, 8)
    assert torch.allclose(encoder(volumes)[1:2], encoder(volumes[1:2]), atol=1e-5)


def test_gradients_reach_every_weight_after_the_first_step() -> None:
    encoder = ResNet3DConfig(width=8).build(size=(8, 8, 8))
    weights, volumes = list(encoder.parameters()), torch.rand(2, 1, 8, 8, 8)
    first = torch.autograd.grad(encoder(volumes).square().sum(), weights)
    with torch.no_grad():
        for weight, gradient in zip(weights, first, strict=True):
            weight -= 0.01 * gradient
    second = torch.autograd.grad(encoder(volumes).square().sum(), weights)
    assert all(float(gradient.abs().max()) > 0 for gradient in second)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="a multiple of the channels of a group"):
        ResNet3DConfig(width=12)
    with pytest.raises(ValueError, match="at least 8 voxels along each axis, got 7x8x8"):
        ResNet3DConfig().build(size=(7, 8, 8))


def test_maps_have_channels_last_and_weights_the_usual_layout() -> None:
    encoder, maps = ResNet3DConfig(width=8).build(size=(16, 16, 16)), []
    encoder.layers[-1].register_forward_hook(lambda module, given, found: maps.append(found))
    encoder(torch.rand(2, 1, 16, 16, 16)).sum().backward()
    assert maps[0].is_contiguous(memory_format=torch.channels_last_3d)
    for weight in encoder.parameters():
        assert weight.grad is not None
        assert weight.is_contiguous()
        assert weight.grad.stride() == weight.stride(), "else DDP warns"
