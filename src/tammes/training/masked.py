"""Masked autoencoding and denoising beside the objective (CAN), with MAE and SimCLR as ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from tammes.checks import check_number
from tammes.encoders import VisionTransformer
from tammes.group import Group
from tammes.masked import Corrupted, Decoder, DecoderConfig, Weights
from tammes.masked.corrupted import check_targets
from tammes.masked.masking import hidden_count
from tammes.training.seeds import Purpose, derive

if TYPE_CHECKING:
    from tammes.training.model import Model
    from tammes.training.sampler import Shard


@dataclass(frozen=True, kw_only=True)
class Masked:
    """Reconstruction of hidden patches and denoising of visible ones, beside the objective (CAN).

        L  =  contrast L_objective  +  reconstruction L_rec  +  denoising L_denoise

    Each view gets noise and loses some of its patches, which the encoder, a Vision Transformer, never
    computes; its features are the mean of the visible tokens. A decoder predicts the hidden patches without
    noise, and the noise of the visible ones. A finished run embeds whole images without noise.

    A weight of 0 leaves a term out, and its part of the network is not built. Without contrast a step takes
    one view of each image and no head (MAE); without the two others it is the objective's training on views
    that lack `rate` of their patches.

    With a queue the second views are embedded by the momentum encoder, without a gradient: reconstruction and
    denoising are then those of the first views.

    Args:
        contrast: Weight of the objective.
        reconstruction: Weight of the mean squared error of a pixel of the hidden patches.
        denoising: Weight of the mean squared error of a pixel of the visible patches, against the noise.
        rate: Share of the patches that are hidden, from 0 to below 1; within 0.001 of a whole number of them.
        noise: Largest level of the noise, in units of the pixels, which go from 0 to 1.
        tell_noise: Whether the decoder gets the level of the noise.
        normalize_targets: Whether a hidden patch is to be predicted with mean 0 and variance 1.
        decoder_width: Width of the decoder's tokens.
        decoder_depth: Number of the decoder's blocks.
        decoder_heads: Heads of the decoder's attention, which share its width.

    Raises:
        ValueError: a negative weight, or none above 0; a reconstruction without hidden patches, denoising
            without noise; numbers out of their ranges.

    Source: Robinson (2023), section 6.2; appendix D.3 for the settings, whose decoder beside ViT-B and ViT-L
    has a width of 512, 8 blocks and 16 heads. See `tammes.masked.CAN` for what differs.

    Example:
        >>> Masked().weights
        Weights(contrast=0.03, reconstruction=0.679, denoising=0.291)
        >>> Masked.mae().rate
        0.75
    """

    contrast: float = 0.03
    reconstruction: float = 0.679
    denoising: float = 0.291
    rate: float = 0.5
    noise: float = 0.05
    tell_noise: bool = True
    normalize_targets: bool = False
    decoder_width: int = 96
    decoder_depth: int = 2
    decoder_heads: int = 3

    def __post_init__(self) -> None:
        check_number("rate", self.rate, minimum=0, below=1)
        check_number("noise", self.noise, minimum=0)
        _ = self.decoder  # checks its own numbers
        self.weights.check_tasks(rate=self.rate, noise=self.noise)

    @classmethod
    def mae(cls) -> Masked:
        """Return the settings of a masked autoencoder: three quarters hidden, no contrast, no noise.

        Source: He et al., Masked Autoencoders Are Scalable Vision Learners, 2022; Robinson (2023), Table D.4.
        """
        return cls(contrast=0.0, reconstruction=1.0, denoising=0.0, rate=0.75, noise=0.0)

    @classmethod
    def contrast_alone(cls) -> Masked:
        """Return the settings of the objective on whole images without noise: with SimCLR's, SimCLR."""
        return cls(contrast=1.0, reconstruction=0.0, denoising=0.0, rate=0.0, noise=0.0)

    @property
    def weights(self) -> Weights:
        """Weights of the terms."""
        return Weights(contrast=self.contrast, reconstruction=self.reconstruction, denoising=self.denoising)

    @property
    def decoder(self) -> DecoderConfig:
        """Settings of the decoder."""
        return DecoderConfig(width=self.decoder_width, depth=self.decoder_depth, heads=self.decoder_heads)

    def build_decoder(self, encoder: VisionTransformer) -> Decoder | None:
        """Build the decoder beside an encoder, with weights from torch's generator; None if it has no task.

        Raises:
            ValueError: a rate that hides all patches, or no whole number of them; normalized targets of
                patches of one number.
        """
        patches = (encoder.size // encoder.patch) ** 2
        self.weights.check(rate=self.rate, noise=self.noise, patches=patches)
        if not (self.reconstruction or self.denoising):
            return None
        pixels = encoder.embedding.in_features
        if self.reconstruction and self.normalize_targets:
            check_targets(pixels)
        told = self.tell_noise and self.noise > 0
        return self.decoder.build(features=encoder.features, patches=patches, pixels=pixels, noise=told)


class MaskedNetwork(nn.Module):
    """Network of a training with masks: rows of `Corrupted` to embeddings, each followed by its errors.

    The columns are the embedding if the contrast has a weight, then the error of the hidden patches and that
    of the visible ones, if they have weights and there is a decoder. So a cache of gradients
    (`GradientCache`) takes it as any network.

    Args:
        masked: settings.
        model: encoder, head and decoder.
        with_errors: whether to decode; False for the keys of a queue.
    """

    def __init__(self, masked: Masked, model: Model, *, with_errors: bool = True) -> None:
        super().__init__()
        self.masked = masked
        assert isinstance(model.encoder, VisionTransformer)  # the configuration has no others
        self.encoder = model.encoder
        self.head = model.head if masked.contrast else None
        self.decoder = model.decoder if with_errors else None

    def forward(self, rows: Float[Tensor, "batch patches columns"]) -> Float[Tensor, "batch outputs"]:
        """Return embeddings and errors of packed images."""
        masked = self.masked
        hidden = hidden_count(rows.shape[1], masked.rate)
        drawn = Corrupted.of_rows(rows, pixels=self.encoder.embedding.in_features, hidden=hidden)
        tokens = drawn.tokens(self.encoder)
        columns = [] if self.head is None else [self.head(tokens.mean(dim=1))]
        if self.decoder is not None:
            predicted = drawn.decoded(self.decoder, tokens, tell_noise=masked.tell_noise)
            if masked.reconstruction:
                errors = drawn.reconstruction_errors(predicted, normalized=masked.normalize_targets)
                columns.append(errors[:, None])
            if masked.denoising:
                columns.append(drawn.denoising_errors(predicted)[:, None])
        return torch.cat(columns, dim=1)


@dataclass(frozen=True, kw_only=True)
class MaskedStep:
    """What a training step does with masks: draws them, and adds the terms to the objective.

    Args:
        masked: settings.
        dim: width of the embeddings.
        seed: seed of the run.
        shard: part of each batch that this process handles.
    """

    masked: Masked
    dim: int
    seed: int
    shard: Shard

    @staticmethod
    def of(masked: Masked | None, model: Model, *, seed: int, shard: Shard) -> MaskedStep | None:
        """Return the step of a training, None for one without masks."""
        if masked is None:
            return None
        return MaskedStep(masked=masked, dim=model.dim if masked.contrast else 0, seed=seed, shard=shard)

    def rows(
        self, encoder: nn.Module, views: Sequence[object], step: int
    ) -> tuple[Float[Tensor, "batch patches columns"], ...]:
        """Return each view with its own masks and noise, packed.

        They are drawn for the whole batch, of which this process takes its rows, so that they do not depend
        on the number of processes.

        Args:
            encoder: the Vision Transformer.
            views: images (batch, channels, size, size) of each view.
            step: number of steps before.

        Raises:
            ValueError: images of another size than the encoder's.
        """
        assert isinstance(encoder, VisionTransformer)
        packed = []
        for number, view in enumerate(views):
            assert isinstance(view, Tensor)
            generator = Generator().manual_seed(derive(self.seed, Purpose.MASKS, step, number))
            drawn = Corrupted.draw(
                encoder.patches(view),
                rate=self.masked.rate,
                noise=self.masked.noise,
                generator=generator,
                first_row=self.shard.first_row,
                batch_size=self.shard.batch_size,
            )
            packed.append(drawn.rows())
        return tuple(packed)

    def split(self, outputs: Sequence[Tensor]) -> tuple[tuple[Tensor, ...], Tensor]:
        """Return the embeddings of all views, and the errors (rows of all views, terms)."""
        with_errors = [each[:, self.dim :] for each in outputs if each.shape[1] > self.dim]
        errors = torch.cat(with_errors) if with_errors else outputs[0].new_zeros(len(outputs[0]), 0)
        return tuple(each[:, : self.dim] for each in outputs), errors

    def losses(
        self, contrast: Float[Tensor, ""] | None, errors: Float[Tensor, "rows terms"], *, group: Group
    ) -> tuple[Float[Tensor, ""], Mapping[str, Float[Tensor, ""]]]:
        """Return the weighted sum of the terms, and the terms by name, those without weight left out.

        Args:
            contrast: value of the objective; None if it has no weight.
            errors: errors of the rows of this process.
            group: processes of the run, over whose rows the errors are averaged.
        """
        weights = self.masked.weights
        terms = {} if contrast is None else {"contrastive": contrast}
        names = [name for name in ("reconstruction", "denoising") if vars(weights)[name]]
        for name, column in zip(names, errors.unbind(dim=1), strict=True):
            terms[name] = group.mean(column)
        of_terms = {"contrastive": weights.contrast, **vars(weights)}
        total = torch.stack([of_terms[name] * term for name, term in terms.items()]).sum()
        return total, {f"{name}_loss": term for name, term in terms.items()}
