"""Encoders after some rounds of one strategy, with the worlds that they were trained on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.latent.encoders import Encoder
from tammes.latent.model import Latents, World
from tammes.latent.stage import Known
from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True, eq=False)
class Tries:
    """What rejection has cost so far, a number for each run.

    Attributes:
        mean: candidates looked at for a positive, on average; 1 where the first is taken.
        missed: the share of positives for which no candidate was accepted.
    """

    mean: Float[Tensor, " runs"]
    missed: Float[Tensor, " runs"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """h = f o g of each seed, to be measured: see `tammes.latent.recovery`.

    Attributes:
        seeds: of the runs.
        world: the latent-variable model of each run.
        encoder: f; it changes if training goes on.
        known: the anchors of D_t.
        round: how many rounds are done.
        tries: what rejection has cost.
        device: where its random numbers are drawn.
        dtype: of its numbers.
    """

    seeds: tuple[int, ...]
    world: World
    encoder: Encoder
    known: Known
    round: int
    tries: Tries
    device: torch.device
    dtype: torch.dtype

    @torch.no_grad()
    def embedded(self, n: int, purpose: str = "measure") -> tuple[Latents, Float[Tensor, "runs n dim"]]:
        """N new latents of every run, and h of them.

        Args:
            n: how many.
            purpose: any words; the same words give the same latents, for every strategy.

        Raises:
            ValueError: for n below 1, and for an encoder that is lost in numbers that are not finite.
        """
        check_integer("n", n, minimum=1)
        streams = Streams.of(self.seeds, purpose, device=self.device, dtype=self.dtype)
        latents = self.world.sample(n, streams)
        embeddings = self.encoder(self.world.observe(latents))
        if not bool(embeddings.isfinite().all()):
            raise ValueError("embeddings are infinite or NaN: train with a lower learning rate")
        return latents, embeddings
