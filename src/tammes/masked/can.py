"""CAN: contrast, masked autoencoding and denoising on one Vision Transformer; MAE and SimCLR are its ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from typing_extensions import override

from tammes import recipes
from tammes.checks import check_integer, check_number
from tammes.deferred import DeferredCheck, waits
from tammes.encoders.vit import VisionTransformer, from_patches
from tammes.masked.corrupted import Corrupted, check_targets
from tammes.masked.decoder import DecoderConfig
from tammes.masked.masking import Mask
from tammes.masked.weights import Weights
from tammes.module import Evaluates

TEMPERATURE = 0.1
"""Section 6.2.2."""
LARGEST = 100.0
"""Number that no pixel exceeds, from 0 to 1 or scaled to a variance of 1; those of 8 bits do."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Terms of a step, each before its weight; a term without weight is None.

    Args:
        contrastive: loss of the objective on the projections of both views.
        reconstruction: mean squared error of a pixel of the hidden patches, against the clean images.
        denoising: mean squared error of a pixel of the visible patches, against the noise.
        total: weighted sum, which is trained.
    """

    contrastive: Float[Tensor, ""] | None
    reconstruction: Float[Tensor, ""] | None
    denoising: Float[Tensor, ""] | None
    total: Float[Tensor, ""]


@dataclass(frozen=True, eq=False)
class Decoded:
    """Images before and after, for a picture.

    Args:
        mask: which patches were hidden.
        noisy: images as the encoder got them.
        patches: predicted pixels: the hidden patches, and the noise of the visible ones.
    """

    mask: Mask
    noisy: Float[Tensor, "batch channels size size"]
    patches: Float[Tensor, "batch patches pixels"]


class CAN(nn.Module):
    """Contrast, masked autoencoding and denoising on one encoder (contrastive, autoencoding, noise).

        x  :=  x + sigma e ,   sigma ~ U[0, noise],  e ~ N(0, 1)           for each image of each view
        z  =  encoder(visible patches of x) ,   u = projector(mean of z)
        L_InfoNCE  =  objective(u_a, u_b)
        L_rec      =  mean over hidden pixels of   (decoder(z)_t - x_t)^2       (x without noise)
        L_denoise  =  mean over visible pixels of  (decoder(z)_t - sigma e_t)^2

    Each view has a mask of its images alone. The encoder computes visible patches only. What has no weight
    is neither built nor computed, so that this one module is

    | | weights | rate | noise | views |
    |---|---|---|---|---|
    | CAN | `Weights.printed()` | 0.5 | 0.05 | 2 |
    | MAE | `Weights(contrast=0, reconstruction=1)` | 0.75 | 0 | 1, or 2 |
    | SimCLR | `Weights(contrast=1, reconstruction=0)` | 0 | 0 | 2 |

    and any objective takes the place of SimCLR's.

    Args:
        encoder: the Vision Transformer, which also serves alone afterwards.
        objective: contrastive objective of the two views; SimCLR at temperature 0.1 by default.
        weights: weights of the terms; `Weights.printed()` by default.
        rate: share of the patches that are hidden, from 0 to below 1; within 0.001 of a whole number of them.
        noise: largest level of the noise, in units of the pixels, which go from 0 to 1.
        tell_noise: whether the decoder gets the level of the noise, too (Table 6.4).
        normalize_targets: whether the pixels of a hidden patch are to be predicted with mean 0 and variance
            1 (He et al.).
        decoder: settings of the decoder; two blocks of width 96 by default.
        projector: widths of the hidden layers of the projector, and of its output; 4,096, 4,096 and 128 in
            the source.

    Raises:
        ValueError: another encoder; a part of another kind; a number out of its range; a reconstruction
            without hidden patches, or with normalized targets of one number; denoising without noise.

    Source: Robinson (2023), sections 6.2.1 to 6.2.5, appendix D.3. Differs: squares are means over pixels and
    not sums, with which the printed weights balance the terms (Table 6.3 prints means).

    Example:
        >>> from tammes.encoders import VisionTransformerConfig
        >>> encoder = VisionTransformerConfig(patch=4, width=24, depth=1, heads=3).build(channels=3, size=16)
        >>> can = CAN(encoder)
        >>> losses = can.losses(torch.rand(8, 3, 16, 16), torch.rand(8, 3, 16, 16))
        >>> losses.total.backward()
        >>> can.encoder(torch.rand(2, 3, 16, 16)).shape
        torch.Size([2, 24])
    """

    def __init__(
        self,
        encoder: VisionTransformer,
        objective: Evaluates | None = None,
        *,
        weights: Weights | None = None,
        rate: float = 0.5,
        noise: float = 0.05,
        tell_noise: bool = True,
        normalize_targets: bool = False,
        decoder: DecoderConfig | None = None,
        projector: Sequence[int] = (512, 512, 128),
    ) -> None:
        super().__init__()
        weights = Weights.printed() if weights is None else weights
        decoder = DecoderConfig() if decoder is None else decoder
        for name, part, kind in (
            ("encoder", encoder, VisionTransformer),
            ("weights", weights, Weights),
            ("decoder", decoder, DecoderConfig),
        ):
            if not isinstance(part, kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {type(part).__name__}")
        if not (objective is None or callable(objective)):
            raise ValueError(f"objective must be a loss of two views, got {objective!r}")
        patches = (encoder.size // encoder.patch) ** 2
        check_number("noise", noise, minimum=0)
        weights.check(rate=rate, noise=noise, patches=patches)
        self.encoder, self.weights, self.rate, self.noise = encoder, weights, rate, noise
        self.tell_noise, self.normalize_targets = tell_noise, normalize_targets
        self.objective = recipes.simclr(temperature=TEMPERATURE) if objective is None else objective
        decodes = weights.reconstruction > 0 or weights.denoising > 0
        pixels = encoder.embedding.in_features
        if weights.reconstruction and normalize_targets:
            check_targets(pixels)
        shape = {"features": encoder.features, "patches": patches, "pixels": pixels}
        self.decoder = decoder.build(**shape, noise=tell_noise and noise > 0) if decodes else None
        self.projector = projector_of(encoder.features, projector) if weights.contrast > 0 else None
        self._check: DeferredCheck | None = None
        for built in (self.decoder, self.projector):
            if built is not None:
                built.to(encoder.embedding.weight.dtype)

    def losses(
        self,
        view_a: Float[Tensor, "batch channels size size"],
        view_b: Float[Tensor, "batch channels size size"] | None = None,
        *,
        generator: Generator | None = None,
    ) -> Losses:
        """Return the terms of a step.

        Args:
            view_a: augmented images, from 0 to 1.
            view_b: the same images, augmented otherwise; None for one view, if the contrast has no weight.
            generator: source of the masks and of the noise, on the CPU; torch's by default.

        Raises:
            ValueError: one view where two are contrasted; views of different numbers of images, or of none;
                images of another size than the encoder's, of integers or numbers up to 255, of another type
                than the weights without autocast, or with NaN or infinity. A GPU makes nobody wait for checks
                of numbers: the next call raises their error. A compiled call leaves them out.
        """
        if self.projector is not None and view_b is None:
            raise ValueError(
                "expected two views of each image, got one: the contrast, which has a weight of "
                f"{self.weights.contrast:g}, compares two"
            )
        views = (view_a,) if view_b is None else (view_a, view_b)
        if view_b is not None and len(view_a) != len(view_b):
            raise ValueError(
                f"expected two views of the same images, got {len(view_a)} and {len(view_b)} images"
            )
        if view_b is not None and view_a.shape != view_b.shape:
            raise ValueError(
                f"expected two views of one shape, got {tuple(view_a.shape)} and {tuple(view_b.shape)}"
            )
        # Both views in one pass, as published SimCLR has it: batch normalization sees them together.
        images = torch.cat(views)
        drawn = self._draw(images, generator)
        if not torch.compiler.is_compiling():
            self._check_pixels(images)
        tokens = drawn.tokens(self.encoder)

        contrastive = reconstruction = denoising = None
        if self.projector is not None:
            contrastive = self.objective(*self.projector(tokens.mean(dim=1)).chunk(2))
        if self.decoder is not None:
            predicted = drawn.decoded(self.decoder, tokens, tell_noise=self.tell_noise)
            if self.weights.reconstruction:
                errors = drawn.reconstruction_errors(predicted, normalized=self.normalize_targets)
                reconstruction = errors.mean()
            if self.weights.denoising:
                denoising = drawn.denoising_errors(predicted).mean()
        weighted = [
            weight * term
            for weight, term in (
                (self.weights.contrast, contrastive),
                (self.weights.reconstruction, reconstruction),
                (self.weights.denoising, denoising),
            )
            if term is not None
        ]
        return Losses(contrastive, reconstruction, denoising, torch.stack(weighted).sum())

    @torch.no_grad()
    def decode(
        self, images: Float[Tensor, "batch channels size size"], *, generator: Generator | None = None
    ) -> Decoded:
        """Return what the decoder makes of masked, noisy images.

        Raises:
            ValueError: neither reconstruction nor denoising has a weight; no images, images of another size
                than the encoder's, of integers or numbers up to 255, of another type than the weights without
                autocast, or with NaN or infinity.
        """
        if self.decoder is None:
            raise ValueError(
                "expected a weight for reconstruction or denoising, got none: there is no decoder"
            )
        drawn = self._draw(images, generator)
        if (failure := _no_pixels(torch.stack(images.aminmax()).tolist())) is not None:
            raise failure
        predicted = drawn.decoded(self.decoder, drawn.tokens(self.encoder), tell_noise=self.tell_noise)
        return Decoded(drawn.mask, from_patches(drawn.noisy, self.encoder.patch), predicted)

    def _draw(self, images: Tensor, generator: Generator | None) -> Corrupted:
        """Return the patches of images with noise, some of them hidden."""
        if not len(images):
            raise ValueError("expected one image at least, got none")
        if not images.is_floating_point():
            raise ValueError(
                f"expected images of floating-point numbers from 0 to 1, got {images.dtype}: divide by 255"
            )
        weights = self.encoder.embedding.weight.dtype
        if images.dtype != weights and not torch.is_autocast_enabled(images.device.type):
            raise ValueError(
                f"expected images of {weights}, as the weights are, got {images.dtype}: convert one of them"
            )
        patches = self.encoder.patches(images)
        return Corrupted.draw(patches, rate=self.rate, noise=self.noise, generator=generator)

    def _check_pixels(self, images: Tensor) -> None:
        """Raise ValueError for what is no pixel: at once on a CPU, at the next call on other devices."""
        before, self._check = self._check, None
        if before is not None:
            before.raise_if_failed()
        ends = torch.stack(images.detach().aminmax())  # NaN if one is NaN
        if waits(images.device):
            self._check = DeferredCheck(ends, _no_pixels)
        elif (failure := _no_pixels(ends.tolist())) is not None:
            raise failure

    @override
    def __getstate__(self) -> dict[str, Any]:
        """Leave the unread check out of copies: it belongs to a call."""
        return {**vars(self), "_check": None}


def _no_pixels(ends: list[float]) -> ValueError | None:
    """Return the error for images with this smallest and largest number; None if they may be pixels."""
    if not all(map(math.isfinite, ends)):
        return ValueError("expected images of finite numbers, got NaN or infinity: check the augmentation")
    if ends[1] > LARGEST:
        return ValueError(
            f"expected images of numbers from 0 to 1, or scaled to a variance of 1, got {ends[1]:g}: divide "
            "by 255"
        )
    return None


def projector_of(features: int, widths: Sequence[int]) -> nn.Sequential:
    """Build the projector: each hidden layer with batch normalization and ReLU, then a linear map.

    The source has two hidden layers of 4,096 and 128 outputs beside ViT-B (appendix D.3).

    Raises:
        ValueError: no width, or one below 1.

    Example:
        >>> len(projector_of(24, (64, 64, 16)))
        7
    """
    if not widths:
        raise ValueError("expected a projector with the width of its output at least, got ()")
    *hidden, dim = [check_integer("projector", width) for width in widths]
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(features, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(inplace=True)]
        features = width
    return nn.Sequential(*layers, nn.Linear(features, dim))
