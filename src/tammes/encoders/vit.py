"""A Vision Transformer: patches of an image as tokens, all of them or the visible ones alone."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.utils.checkpoint import checkpoint

from tammes.checks import check_integer, check_multiple, check_number
from tammes.encoders.attention import Block
from tammes.encoders.encoder import Encoder, check_images

Positions = Literal["sine-cosine", "learned"]
WAVELENGTHS = 10_000.0
"""Longest wavelength of sine-cosine positions, over 2 pi."""


class VisionTransformer(Encoder):
    """Vision Transformer without a class token; its features are the mean of the last layer's tokens.

        z_t  =  E patch_t + position_t ,        f(x)  =  mean over t of  LayerNorm(blocks(z))_t

    `tokens` encodes some patches of each image alone, as masked autoencoders do: hidden patches are left out
    of every product, and cost nothing.

    The arguments are those of `VisionTransformerConfig`, and `channels` and `size` of the images.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words, 2021. Differs: a mean of the tokens in place of
    the class token (Robinson 2023, section 6.2.2), weights by Glorot (D.3).

    Example:
        >>> import torch
        >>> encoder = VisionTransformerConfig(patch=4, width=48, depth=2, heads=3).build(channels=3, size=32)
        >>> encoder(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 48])
        >>> patches = encoder.patches(torch.rand(2, 3, 32, 32))
        >>> patches.shape  # 8 x 8 patches of 4 x 4 pixels in 3 channels
        torch.Size([2, 64, 48])
        >>> encoder.tokens(patches[:, :16], torch.arange(16).expand(2, 16)).shape
        torch.Size([2, 16, 48])
    """

    def __init__(self, *, channels: int, size: int, config: VisionTransformerConfig) -> None:
        super().__init__()
        self.channels, self.size, self.patch = channels, size, config.patch
        self.features = config.width
        self.checkpointing = config.checkpointing
        self.embedding = nn.Linear(channels * config.patch**2, config.width)
        self.position = position_table(size // config.patch, config.width, config.positions)
        # Later blocks are dropped more often, the first one never.
        shares = [config.drop_path * place / max(1, config.depth - 1) for place in range(config.depth)]
        self.blocks = nn.ModuleList(
            [Block(config.width, heads=config.heads, drop_path=share) for share in shares]
        )
        self.norm = nn.LayerNorm(config.width)
        self.apply(glorot)

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        """Return the features of images."""
        return self.tokens(self.patches(images)).mean(dim=1)

    def patches(
        self, images: Float[Tensor, "batch channels size size"]
    ) -> Float[Tensor, "batch patches pixels"]:
        """Return the patches of images, row by row, each with its pixels as (channels, patch, patch).

        Raises:
            ValueError: images of another size than the encoder's.
        """
        if images.shape[1:] != (self.channels, self.size, self.size):
            raise ValueError(
                f"expected images of shape (batch, {self.channels}, {self.size}, {self.size}), got "
                f"{tuple(images.shape)}; `with_size` makes the encoder of another size"
            )
        return to_patches(images, self.patch)

    def tokens(
        self,
        patches: Float[Tensor, "batch kept pixels"],
        places: Int[Tensor, "batch kept"] | None = None,
    ) -> Float[Tensor, "batch kept features"]:
        """Return a token of each patch, which knows of the other patches that are given.

        Args:
            patches: pixels of the patches to be encoded.
            places: place of each patch in its image, from 0, row by row; None where all are given in order.
        """
        position = self.position if places is None else self.position[places]
        tokens = self.embedding(patches) + position
        for block in self.blocks:
            if self.checkpointing and self.training:
                tokens = checkpoint(block, tokens, use_reentrant=False)
            else:
                tokens = block(tokens)
        return self.norm(tokens)

    def attention(
        self, images: Float[Tensor, "batch channels size size"]
    ) -> Float[Tensor, "batch heads patches patches"]:
        """Return how much each patch attends to each other one in the last block; rows sum to 1."""
        tokens = self.embedding(self.patches(images)) + self.position
        for block in self.blocks[:-1]:
            tokens = block(tokens)
        last = self.blocks[-1]
        assert isinstance(last, Block)
        return last.attention.weights(last.first_norm(tokens))

    def with_size(self, size: int) -> VisionTransformer:
        """Return a copy of this encoder for images of another size.

        Weights, dtype, device, mode and what is frozen stay as they are. Learned positions are interpolated
        between their places (bicubic); others are computed anew.

        Args:
            size: height and width of the images in pixels, a multiple of the patches.

        Raises:
            ValueError: a size that is no multiple of the patches.

        Example:
            >>> encoder = VisionTransformerConfig(width=8, depth=1, heads=1).build(channels=1, size=8)
            >>> encoder.with_size(16)(torch.rand(2, 1, 16, 16)).shape
            torch.Size([2, 8])
        """
        check_integer("size", size, minimum=self.patch, reason=f"patches have {self.patch} pixels a side")
        if size % self.patch:
            below = size - size % self.patch
            raise ValueError(
                f"expected a size that patches of {self.patch} pixels divide, got {size}; the nearest are "
                f"{below} and {below + self.patch}"
            )
        other = copy.deepcopy(self)
        other.size = size
        side = size // self.patch
        if isinstance(self.position, nn.Parameter):
            positions = resized_positions(self.position.detach(), side)
            other.position = nn.Parameter(positions, requires_grad=self.position.requires_grad)
        else:
            other.position = nn.Buffer(sine_cosine(side, self.features).to(self.position))
        return other


@dataclass(frozen=True, kw_only=True)
class VisionTransformerConfig:
    """Settings of a `VisionTransformer`.

    `of("base")` has the usual sizes: "tiny" (192 wide, 12 blocks, 3 heads), "small" (384, 12, 6), "base"
    (768, 12, 12) and "large" (1,024, 24, 16).

    Raises:
        ValueError: a number out of its range, or a width that is no multiple of the heads, or of 4 for
            sine-cosine positions.

    Example:
        >>> VisionTransformerConfig.of("small", patch=8).width
        384
    """

    patch: int = 4
    """Height and width of a patch, in pixels."""

    width: int = 192
    """Width of the tokens, and of the features."""

    depth: int = 6
    """Number of blocks."""

    heads: int = 3
    """Heads of the attention, which share the width."""

    positions: Positions = "sine-cosine"
    """Positions of the patches: fixed sines and cosines in both directions, or learned."""

    drop_path: float = 0.0
    """Largest share of examples for which a branch of a block is left out in training, from 0 to below 1."""

    checkpointing: bool = False
    """Whether blocks are computed anew in the backward pass, which saves memory and takes time."""

    def __post_init__(self) -> None:
        for name in ("patch", "width", "depth", "heads"):
            check_integer(name, getattr(self, name))
        check_multiple("width", self.width, "heads", self.heads)
        if self.positions not in ("sine-cosine", "learned"):
            raise ValueError(f'positions must be "sine-cosine" or "learned", got {self.positions!r}')
        if self.positions == "sine-cosine":
            check_multiple("width", self.width, "sines and cosines in two directions", 4)
        check_number("drop_path", self.drop_path, minimum=0, below=1)

    @classmethod
    def of(
        cls, size: Literal["tiny", "small", "base", "large"], *, patch: int = 16
    ) -> VisionTransformerConfig:
        """Return the settings of one of the usual sizes.

        Raises:
            ValueError: another name.
        """
        if size not in SIZES:
            raise ValueError(f"expected a size of {', '.join(SIZES)}, got {size!r}")
        width, depth, heads = SIZES[size]
        return cls(patch=patch, width=width, depth=depth, heads=heads)

    def build(self, channels: int, size: int) -> VisionTransformer:
        """Build the encoder for images (batch, channels, size, size), with weights from torch's generator."""
        check_images(channels, size, smallest=self.patch)
        check_patch(self.patch, size)
        return VisionTransformer(channels=channels, size=size, config=self)


SIZES = {"tiny": (192, 12, 3), "small": (384, 12, 6), "base": (768, 12, 12), "large": (1024, 24, 16)}
"""Width, blocks and heads of the usual sizes."""


def to_patches(
    images: Float[Tensor, "batch channels height width"], patch: int
) -> Float[Tensor, "batch patches pixels"]:
    """Return the patches of images, row by row, each with its pixels as (channels, patch, patch).

    Example:
        >>> to_patches(torch.arange(16.0).view(1, 1, 4, 4), 2)[0, 1]
        tensor([2., 3., 6., 7.])
    """
    # (batch, channels, rows, patch, columns, patch) -> (batch, rows, columns, channels, patch, patch)
    cut = images.unflatten(3, (-1, patch)).unflatten(2, (-1, patch)).permute(0, 2, 4, 1, 3, 5)
    return cut.flatten(3).flatten(1, 2)


def from_patches(
    patches: Float[Tensor, "batch patches pixels"], patch: int
) -> Float[Tensor, "batch channels height width"]:
    """Return the square images whose patches these are.

    Example:
        >>> images = torch.rand(2, 3, 8, 8)
        >>> bool(torch.equal(from_patches(to_patches(images, 4), 4), images))
        True
    """
    rows = math.isqrt(patches.shape[1])
    cut = patches.unflatten(2, (-1, patch, patch)).unflatten(1, (rows, rows))
    return cut.permute(0, 3, 1, 4, 2, 5).flatten(4).flatten(2, 3)


def check_patch(patch: int, size: int) -> None:
    """Raise ValueError unless patches divide the image; the message names the nearest that do.

    Args:
        patch: height and width of a patch, at most those of the image.
        size: height and width of the image.
    """
    if size % patch:
        # There is one on either side: 1 divides every size, and a size divides itself.
        fitting = [side for side in range(1, size + 1) if size % side == 0]
        nearest = max(each for each in fitting if each < patch), min(each for each in fitting if each > patch)
        sizes = size // patch * patch or patch, (size // patch + 1) * patch
        raise ValueError(
            f"expected patches that divide images of {size} pixels a side, got patches of {patch}; the "
            f"nearest that do are {nearest[0]} and {nearest[1]}, or take images of {sizes[0]} or {sizes[1]}"
        )


def position_table(side: int, width: int, positions: Positions) -> Tensor:
    """Return the positions of side x side patches: a parameter where they are learned."""
    if positions == "learned":
        return nn.Parameter(0.02 * torch.randn(side * side, width))
    return nn.Buffer(sine_cosine(side, width))


def sine_cosine(side: int, width: int) -> Float[Tensor, "patches width"]:
    """Return fixed positions: a quarter of the width each for sine and cosine of the row and the column.

        sin(p w_k), cos(p w_k),        w_k = 10000^(-4k / width)

    Source: Vaswani et al., Attention Is All You Need, 2017, in two directions as in He et al. (2022).

    Example:
        >>> sine_cosine(2, 4)
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.0000, 1.0000, 0.8415, 0.5403],
                [0.8415, 0.5403, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.8415, 0.5403]])
    """
    place = torch.arange(side, dtype=torch.float64)
    rates = WAVELENGTHS ** -(torch.arange(width // 4, dtype=torch.float64) / (width // 4))
    waves = place[:, None] * rates  # (side, width / 4)
    one = torch.cat([waves.sin(), waves.cos()], dim=1)  # (side, width / 2)
    return torch.cat([one.repeat_interleave(side, 0), one.repeat(side, 1)], dim=1).float()


def resized_positions(table: Float[Tensor, "patches width"], side: int) -> Float[Tensor, "others width"]:
    """Return learned positions for side x side patches, between the places of the old ones (bicubic)."""
    old = math.isqrt(len(table))
    grid = table.unflatten(0, (old, old)).permute(2, 0, 1)[None]  # (1, width, old, old)
    resized = interpolate(grid, size=(side, side), mode="bicubic", align_corners=False)
    return resized[0].permute(1, 2, 0).flatten(0, 1)


def glorot(module: nn.Module) -> None:
    """Draw the weights of a linear layer by Glorot's uniform distribution, and set its biases to zero."""
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
