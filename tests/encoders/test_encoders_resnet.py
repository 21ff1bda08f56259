import pytest
import torch

from tammes.encoders import ResNetConfig
from tammes.encoders.resnet import Residual


# torchvision's counts, which include a 1000-way classifier of features * 1000 + 1000.
@pytest.mark.parametrize(
    ("depth", "features", "published"), [(18, 512, 11_689_512), (34, 512, 21_797_672), (50, 2048, 25_557_032)]
)
def test_parameters_are_as_many_as_published(depth: int, features: int, published: int) -> None:
    encoder = ResNetConfig(depth=depth, small_image_stem=False).build(channels=3, size=224)
    classifier = features * 1000 + 1000
    assert encoder.features == features
    assert sum(p.numel() for p in encoder.parameters()) == published - classifier


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("depth", [18, 34, 50])
def test_features_have_their_width(depth: int, small: bool) -> None:
    encoder = ResNetConfig(depth=depth, small_image_stem=small).build(channels=3, size=32)
    features = encoder(torch.rand(2, 3, 32, 32))
    assert features.shape == (2, encoder.features)
    features.square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())


def test_the_small_stem_keeps_the_image_and_the_usual_one_quarters_it() -> None:
    images = torch.rand(1, 1, 32, 32)
    small, usual = (ResNetConfig(small_image_stem=flag).build(channels=1, size=32) for flag in (True, False))
    assert small.stem(images).shape == (1, 64, 32, 32)
    assert usual.stem(images).shape == (1, 64, 8, 8)
    assert small.blocks(small.stem(images)).shape == (1, 512, 4, 4)


@pytest.mark.equal_bits
def test_zero_init_makes_every_block_a_shortcut() -> None:
    encoder = ResNetConfig(zero_init_residual=True).build(channels=3, size=32).eval()
    blocks = [module for module in encoder.modules() if isinstance(module, Residual)]
    assert len(blocks) == 8
    x = torch.rand(1, 64, 8, 8)
    assert torch.equal(blocks[0](x), x)
    plain = ResNetConfig().build(channels=3, size=32).eval()
    assert not torch.equal(next(m for m in plain.modules() if isinstance(m, Residual))(x), x)


@pytest.mark.equal_bits
def test_the_seed_decides_the_weights() -> None:
    def weights(seed: int) -> torch.Tensor:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            encoder = ResNetConfig().build(channels=1, size=8)
        return torch.cat([p.flatten() for p in encoder.parameters()])

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="18, 34 or 50, got 20"):
        ResNetConfig(depth=20)
    with pytest.raises(ValueError, match="at least 32 pixels a side for this encoder, got size=16"):
        ResNetConfig(small_image_stem=False).build(channels=3, size=16)
    with pytest.raises(ValueError, match="channels must be an integer of at least 1, got 0"):
        ResNetConfig().build(channels=0, size=32)
