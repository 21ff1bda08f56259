"""The loop of both algorithms: draw pairs, keep them, train the encoders, fit the classifier, repeat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer, check_number
from tammes.latent.contrastive_loss import contrastive_losses
from tammes.latent.data_set import DataSet
from tammes.latent.encoders import BatchedEncoders, EncoderShape
from tammes.latent.model import LatentModel, World
from tammes.latent.positive_samplers import SampledPositives
from tammes.latent.round_state import Anchors, RoundState, TrainedEncoders
from tammes.latent.strategy import Strategy
from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """Training of an encoder for each strategy and seed, all of them as one batched model.

    The runs of a seed share the data-generating process, the first weights and, unless a strategy chooses
    them, the anchors, so that strategies can be compared seed by seed. A run draws the same numbers alone as
    among others.

    Args:
        model: latent-variable model of the data.
        encoder: shape of f.
        temperature: temperature of the loss, above 0, by which similarities are divided.
        rounds: number of rounds T, at least 1.
        pairs: number of pairs m_t drawn in every round, at least 2.
        updates: steps of Adam in every round, at least 1.
        batch: pairs in a step, at least 2; a smaller D_t is used whole.
        learning_rate: learning rate of Adam, at least 0; 0 leaves the encoders untrained.
        accumulate: whether D_{t+1} contains D_t (Alg. 1, line 11) or the new pairs alone (Alg. 2, line 11).
        own_negatives: whether to draw a negative for each pair from p_data; else the other anchors of the
            batch are the negatives, which differ from p_data where a strategy chooses anchors.
        device: device of the computation.
        dtype: type of all floating-point numbers, float32 or float64.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), Alg. 1 and 2.

    Example:
        >>> from tammes.latent import Classes, GaussianNoise, Mixing, algorithm_2
        >>> classes = Classes(count=2, spread=GaussianNoise(scale=0.3))
        >>> model = LatentModel(informative=3, uninformative=3, classes=classes, mixing=Mixing(observed=16))
        >>> laboratory = Laboratory(
        ...     model=model, encoder=EncoderShape(dim=6, width=16), temperature=0.5, rounds=2, pairs=32
        ... )
        >>> trained = laboratory.train({"baseline": algorithm_2.baseline()}, seeds=(0, 1))
        >>> trained["baseline"].embed(10)[1].shape
        torch.Size([2, 10, 6])
    """

    model: LatentModel
    encoder: EncoderShape
    temperature: float
    rounds: int = 1000
    pairs: int = 128
    updates: int = 1
    batch: int = 128
    learning_rate: float = 1e-4
    accumulate: bool = False
    own_negatives: bool = False
    device: str = "cpu"
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        for name, minimum in (("rounds", 1), ("pairs", 2), ("updates", 1), ("batch", 2)):
            check_integer(f"Laboratory.{name}", vars(self)[name], minimum=minimum)
        check_number("Laboratory.temperature", self.temperature, above=0)
        check_number("Laboratory.learning_rate", self.learning_rate, minimum=0)

    def train(self, strategies: Mapping[str, Strategy], seeds: Sequence[int]) -> dict[str, TrainedEncoders]:
        """Train for all rounds, and return what `training` yields last.

        Raises:
            ValueError: for the reasons of `training`.
        """
        for _trained in self.training(strategies, seeds):
            pass
        return _trained

    def training(
        self, strategies: Mapping[str, Strategy], seeds: Sequence[int]
    ) -> Iterator[dict[str, TrainedEncoders]]:
        """Train, and yield the encoders after every round.

        Args:
            strategies: strategies by name, at least one.
            seeds: different integers of at least 0; each strategy has a run for each.

        Yields:
            For each strategy the current encoders of all seeds: measure them before the next round.

        Raises:
            ValueError: no strategy or seed, a repeated seed, a loss that is not finite, or input that a
                strategy refuses.

        Warns:
            OverlapWarning: the classes overlap too much at their spread.
        """
        if not strategies:
            raise ValueError("Laboratory expected at least one strategy, got none")
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds must differ, since equal ones give equal runs, got {tuple(seeds)}")
        runs = {name: slice(i * len(seeds), (i + 1) * len(seeds)) for i, name in enumerate(strategies)}
        run_seeds = tuple(seeds) * len(strategies)
        world = self.model.draw(run_seeds, device=self.device, dtype=self.dtype)
        encoders = BatchedEncoders(
            self.encoder, observed=self.model.mixing.observed, streams=self._streams(run_seeds, "encoder")
        )

        def states(known: Tensor, labels: Tensor | None, t: int) -> dict[str, RoundState]:
            return {
                name: RoundState(
                    world=world.part(own),
                    encoder=encoders.part(own),
                    known=known[own],
                    labels=None if labels is None else labels[own],
                    round=t,
                    streams=self._streams(seeds, f"round {t}"),
                )
                for name, own in runs.items()
            }

        optimizer = torch.optim.Adam(encoders.parameters(), lr=self.learning_rate, fused=True)
        batches = self._streams(run_seeds, "batches")
        first = world.sample(self.pairs, self._streams(run_seeds, "first"))  # D_0, for q_0 alone
        now = states(world.observe(first), first.labels, 0)
        tries = torch.zeros(len(run_seeds), dtype=torch.float64, device=self.device)
        missed, data = torch.zeros_like(tries), None
        updates = self.updates if self.learning_rate > 0 else 1  # at a rate of 0, a step changes nothing
        for t in range(self.rounds):
            drawn = {name: self._draw(strategies[name], state) for name, state in now.items()}
            for name, (_, positives) in drawn.items():
                tries[runs[name]] += self.pairs if positives.tries is None else positives.tries.sum(dim=1)
                missed[runs[name]] += 0 if positives.missed is None else positives.missed.sum(dim=1)
            new = self._data(list(drawn.values()), self._negatives(world, run_seeds, t))
            data = data.joined(new) if self.accumulate and data is not None else new
            for _ in range(updates):
                losses = self._step(encoders, optimizer, data.batch(self.batch, batches))
            self._check_finite(losses, list(strategies), seeds)
            now = states(data.anchors, data.labels, t + 1)
            positives_so_far = (t + 1) * self.pairs
            yield {
                name: TrainedEncoders(
                    seeds=tuple(seeds),
                    state=now[name],
                    tries=tries[own] / positives_so_far,
                    missed=missed[own] / positives_so_far,
                )
                for name, own in runs.items()
            }

    def _streams(self, seeds: Sequence[int], purpose: str) -> Streams:
        return Streams.of(seeds, purpose, device=self.device, dtype=self.dtype)

    def _draw(self, strategy: Strategy, state: RoundState) -> tuple[Anchors, SampledPositives]:
        anchors = strategy.anchors(self.pairs, state)
        positives = strategy.positives(anchors, state)
        if positives.observations.shape != anchors.observations.shape:
            raise ValueError(
                f"{type(strategy.positives).__name__} must give a positive for each anchor, "
                f"{tuple(anchors.observations.shape)}; got {tuple(positives.observations.shape)}"
            )
        return anchors, positives

    def _negatives(self, world: World, seeds: Sequence[int], t: int) -> Tensor | None:
        if not self.own_negatives:
            return None
        return world.observe(world.sample(self.pairs, self._streams(seeds, f"negatives {t}")))

    def _data(self, drawn: Sequence[tuple[Anchors, SampledPositives]], negatives: Tensor | None) -> DataSet:
        labels = [anchors.latents.labels for anchors, _ in drawn]
        return DataSet(
            anchors=torch.cat([anchors.observations for anchors, _ in drawn]),
            positives=torch.cat([positives.observations for _, positives in drawn]),
            negatives=negatives,
            labels=None if labels[0] is None else torch.cat([each for each in labels if each is not None]),
        )

    def _step(
        self, encoders: BatchedEncoders, optimizer: torch.optim.Optimizer, batch: DataSet
    ) -> Float[Tensor, " runs"]:
        """Update every run: the sum of the losses has each loss's gradient in the weights of its run."""
        rows = [batch.anchors, batch.positives] + ([] if batch.negatives is None else [batch.negatives])
        embeddings = encoders(torch.cat(rows, dim=1)).chunk(len(rows), dim=1)
        losses = contrastive_losses(*embeddings, temperature=self.temperature)
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        return losses.detach()

    def _check_finite(self, losses: Tensor, names: Sequence[str], seeds: Sequence[int]) -> None:
        """Raise ValueError if a run has diverged."""
        if not bool(losses.isfinite().all()):
            run = int((~losses.isfinite()).nonzero()[0])
            name, seed = names[run // len(seeds)], seeds[run % len(seeds)]
            raise ValueError(
                f"the loss of {name}, seed {seed}, is not finite: lower "
                f"the learning rate ({self.learning_rate:g}) or raise the temperature ({self.temperature:g})"
            )
