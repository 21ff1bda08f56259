"""The decoder of masked autoencoders: tokens of visible patches, and one for all hidden ones, to pixels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from tammes.checks import check_integer, check_multiple
from tammes.encoders.attention import Block
from tammes.encoders.vit import glorot, sine_cosine
from tammes.masked.masking import Mask

WAVES = 256
"""Sines and cosines of a noise level."""
WAVELENGTHS = 10_000.0


class Decoder(nn.Module):
    """Transformer from the tokens of visible patches to the pixels of all patches.

        z_t  =  token of patch t where it is visible, else the learned [M],
        x_t  =  W LayerNorm(blocks(E (z + p(sigma)) + position))_t

    p(sigma) tells the level of the noise: 256 sines and cosines of sigma, then a perceptron with one hidden
    layer (Figure 6-3).

    Args:
        features: width of the encoder's tokens.
        patches: number of patches of an image.
        pixels: numbers of a patch.
        config: settings.
        noise: whether it gets the level of the noise.

    Source: Robinson (2023), sections 6.2.1, 6.2.4 and D.3; He et al., Masked Autoencoders Are Scalable Vision
    Learners, 2022.

    Example:
        >>> from tammes.masked import draw_mask
        >>> decoder = DecoderConfig(width=32, depth=1, heads=4).build(features=48, patches=16, pixels=12)
        >>> decoder(torch.rand(2, 4, 48), draw_mask(2, 16, 0.75), torch.tensor([0.0, 0.05])).shape
        torch.Size([2, 16, 12])
    """

    def __init__(
        self, *, features: int, patches: int, pixels: int, config: DecoderConfig, noise: bool = True
    ) -> None:
        super().__init__()
        self.hidden_token = nn.Parameter(0.02 * torch.randn(features))
        level = nn.Sequential(nn.Linear(WAVES, features), nn.ReLU(), nn.Linear(features, features))
        self.noise_level = level if noise else None
        self.embedding = nn.Linear(features, config.width)
        self.position = nn.Buffer(sine_cosine(math.isqrt(patches), config.width))
        self.blocks = nn.Sequential(*[Block(config.width, heads=config.heads) for _ in range(config.depth)])
        self.norm = nn.LayerNorm(config.width)
        self.pixels = nn.Linear(config.width, pixels)
        self.apply(glorot)

    def forward(
        self,
        tokens: Float[Tensor, "batch kept features"],
        mask: Mask,
        noise: Float[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch patches pixels"]:
        """Return the predicted pixels of all patches.

        Args:
            tokens: tokens of the visible patches, in the order of `mask.visible`.
            mask: which patches are visible.
            noise: level of each image's noise; None where the decoder is not told.
        """
        # E is linear: what all hidden patches and all patches of an image share goes through it once.
        visible = self.embedding(tokens)
        hidden = linear(self.hidden_token.to(tokens.dtype), self.embedding.weight, self.embedding.bias)
        places = mask.visible[..., None].expand_as(visible)
        every = hidden.to(visible.dtype).expand(len(tokens), mask.patches, -1).scatter(1, places, visible)
        every = every + self.position
        if noise is not None:
            assert self.noise_level is not None
            told = self.noise_level(waves(noise).to(tokens.dtype))
            every = every + linear(told, self.embedding.weight)[:, None]
        return self.pixels(self.norm(self.blocks(every)))


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Settings of a `Decoder`. The source has a width of 512, 8 blocks and 16 heads beside ViT-B and ViT-L.

    Raises:
        ValueError: a number below 1, or a width that is no multiple of the heads and of 4.
    """

    width: int = 96
    """Width of the tokens."""

    depth: int = 2
    """Number of blocks."""

    heads: int = 3
    """Heads of the attention, which share the width."""

    def __post_init__(self) -> None:
        for name in ("width", "depth", "heads"):
            check_integer(name, getattr(self, name))
        check_multiple("width", self.width, "heads", self.heads)
        check_multiple("width", self.width, "sines and cosines in two directions", 4)

    def build(self, *, features: int, patches: int, pixels: int, noise: bool = True) -> Decoder:
        """Build the decoder of an encoder's tokens, with weights from torch's generator."""
        return Decoder(features=features, patches=patches, pixels=pixels, config=self, noise=noise)


def waves(levels: Float[Tensor, " batch"]) -> Float[Tensor, "batch waves"]:
    """Return 128 sines and 128 cosines of each level, as positions have them.

        sin(sigma w_k), cos(sigma w_k),        w_k = 10000^(-k / 128)

    Source: Vaswani et al., Attention Is All You Need, 2017; Robinson (2023), appendix D.3.

    Example:
        >>> waves(torch.tensor([0.0]))[0, [0, 127, 128, 255]]
        tensor([0., 0., 1., 1.])
    """
    half = WAVES // 2
    rates = WAVELENGTHS ** -(torch.arange(half, device=levels.device) / half)
    angles = levels.float()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)
