"""What a run knows in round t of its training, and the encoders that the rounds have trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer
from tammes.latent.encoders import EncoderFunction
from tammes.latent.linear_boundary import LinearBoundary
from tammes.latent.model import Latents, World
from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True, eq=False)
class Anchors:
    """Anchors of every run.

    Attributes:
        latents: latents z of the anchors.
        observations: their observations x = g(z).
    """

    latents: Latents
    observations: Float[Tensor, "runs n observed"]

    @classmethod
    def of(cls, latents: Latents, world: World) -> Anchors:
        """Return latents with their observations."""
        return cls(latents=latents, observations=world.observe(latents))

    def map(self, change: Callable[[Tensor], Tensor]) -> Anchors:
        """Apply one change, such as a selection of rows, to all tensors."""
        return Anchors(latents=self.latents.map(change), observations=change(self.observations))


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundState:
    """Round t of some runs: the data-generating process, the encoder f_t and the classifier q_t.

    Attributes:
        world: data-generating process of each run. A sampler that may not see latents leaves it alone.
        encoder: f_t.
        known: observations that q_t learns from: the anchors of D_t.
        labels: class of each known observation, or None for a model without classes.
        round: t, from 0.
        streams: random numbers of this round.
    """

    world: World
    encoder: EncoderFunction
    known: Float[Tensor, "runs known observed"]
    labels: Int[Tensor, "runs known"] | None
    round: int
    streams: Streams

    @cached_property
    def classifier(self) -> LinearBoundary:
        """Classifier q_t, fitted on first use.

        Raises:
            ValueError: the model has no classes, or only one.
        """
        classes = self.world.classes
        if self.labels is None or classes is None:
            raise ValueError(
                "a classifier of latent classes needs labels, and this LatentModel has none: give it "
                "classes=Classes(...), or choose a strategy or a measure that does without"
            )
        count = classes.means.shape[1]
        if count < 2:
            raise ValueError("a class boundary needs two classes, got one: raise Classes.count")
        return LinearBoundary.fit(self._known_embeddings, self.labels, classes=count)

    @torch.no_grad()
    def distances(self, observations: Float[Tensor, "runs n observed"]) -> Float[Tensor, "runs n"]:
        """Return the distance of each f_t(x) from the boundary of q_t."""
        return self.classifier.distances(self.encoder(observations))

    @cached_property
    def known_distances(self) -> Float[Tensor, "runs known"]:
        """Distances of the known points from the boundary of q_t."""
        return self.classifier.distances(self._known_embeddings)

    @cached_property
    def _known_embeddings(self) -> Float[Tensor, "runs known dim"]:
        with torch.no_grad():
            return self.encoder(self.known)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainedEncoders:
    """Encoders of each seed after some rounds of one strategy: h = f o g, ready for `tammes.latent.recovery`.

    Attributes:
        seeds: seed of each run.
        state: what the next round would know: the process, f, the anchors of D_t, and the number of rounds
            done. The encoder changes if training continues.
        tries: mean number of candidates examined for a positive; 1 where a sampler takes the first.
        missed: share of the positives that are not what their sampler looks for; see `SampledPositives`.
    """

    seeds: tuple[int, ...]
    state: RoundState
    tries: Float[Tensor, " runs"]
    missed: Float[Tensor, " runs"]

    @torch.no_grad()
    def embed(self, n: int, purpose: str = "measure") -> tuple[Latents, Float[Tensor, "runs n dim"]]:
        """Draw n new latents of every run, and return them with their embeddings h.

        Args:
            n: number of latents, at least 1.
            purpose: any words; the same words give the same latents for every strategy.

        Raises:
            ValueError: n below 1, or embeddings that are not finite because training diverged.
        """
        check_integer("n", n)
        now = self.state.streams
        streams = Streams.of(self.seeds, purpose, device=now.device, dtype=now.dtype)
        latents = self.state.world.sample(n, streams)
        embeddings = self.state.encoder(self.state.world.observe(latents))
        if not bool(embeddings.isfinite().all()):
            raise ValueError("embeddings are infinite or NaN: train with a lower learning rate")
        return latents, embeddings
