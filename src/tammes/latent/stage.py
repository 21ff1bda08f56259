"""What a sampling strategy knows in round t."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.latent.encoders import Encoder
from tammes.latent.linear_boundary import LinearBoundary
from tammes.latent.model import Latents, World
from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True, eq=False)
class Anchors:
    """Anchors of every run: their latents, and what is observed of them."""

    latents: Latents
    observations: Float[Tensor, "runs n observed"]

    @classmethod
    def of(cls, latents: Latents, world: World) -> Anchors:
        """Latents and x = g(z)."""
        return cls(latents=latents, observations=world.observe(latents))

    def each(self, change: Callable[[Tensor], Tensor]) -> Anchors:
        """All of it changed in the same way, such as a choice of rows."""
        return Anchors(latents=self.latents.each(change), observations=change(self.observations))


@dataclass(frozen=True, kw_only=True, eq=False)
class Known:
    """Points with labels, from which q_t is learned: the anchors of D_t.

    Attributes:
        observations: (runs, n, observed).
        labels: (runs, n), or None where the model has no classes.
    """

    observations: Float[Tensor, "runs n observed"]
    labels: Int[Tensor, "runs n"] | None

    def part(self, runs: slice) -> Known:
        """Those of some runs."""
        labels = None if self.labels is None else self.labels[runs]
        return Known(observations=self.observations[runs], labels=labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """Round t of some runs: the world, the encoder f_t, the classifier q_t, and random numbers.

    Attributes:
        world: the latent-variable model of each run; a strategy that may not see latents leaves it alone.
        encoder: f_t.
        known: what q_t is learned from.
        round: t, from 0.
        streams: random numbers of this round.
    """

    world: World
    encoder: Encoder
    known: Known
    round: int
    streams: Streams

    @cached_property
    def classifier(self) -> LinearBoundary:
        """q_t, learned when it is first asked for.

        Raises:
            ValueError: the model has no classes, or one.
        """
        classes = self.world.classes
        if self.known.labels is None or classes is None:
            raise ValueError(
                "a strategy that samples near a class boundary needs labels, and this LatentModel has none: "
                "give it classes=Classes(...), or choose a strategy that does without"
            )
        count = classes.means.shape[1]
        if count < 2:
            raise ValueError("a class boundary needs two classes, got one: raise Classes.count")
        with torch.no_grad():
            embeddings = self.encoder(self.known.observations)
        return LinearBoundary.learned(embeddings, self.known.labels, classes=count)

    @torch.no_grad()
    def distances(self, observations: Float[Tensor, "runs n observed"]) -> Float[Tensor, "runs n"]:
        """How far f_t(x) is from the boundary of q_t."""
        return self.classifier.distances(self.encoder(observations))
