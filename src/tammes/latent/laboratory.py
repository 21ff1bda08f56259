"""The loop of both algorithms: draw pairs, keep them, train the encoders, learn the classifier, again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tammes.checks import check_integer, is_finite
from tammes.latent.contrastive_loss import contrastive_losses
from tammes.latent.data_set import DataSet, Fresh, Memory
from tammes.latent.encoders import Encoders, EncoderShape
from tammes.latent.model import LatentModel, World
from tammes.latent.positives import Drawn
from tammes.latent.stage import Anchors, Known, Stage
from tammes.latent.strategy import Strategy
from tammes.latent.streams import Streams
from tammes.latent.trained import Trained, Tries


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """Trains an encoder for each strategy and seed, all of them as one batched model.

    The runs of a seed have the same world, the same first weights and, where they do not choose them, the
    same anchors, so that strategies are compared pair by pair. A run draws what it would draw alone.

    Args:
        model: what the data come from.
        encoder: the shape of f.
        temperature: of the loss, divides similarities.
        rounds: T.
        pairs: m_t, drawn in every round.
        updates: steps of Adam in every round.
        batch: pairs in a step; where D_t has no more, all of it.
        learning_rate: of Adam.
        memory: what D_{t+1} keeps of D_t.
        own_negatives: whether negatives are drawn for themselves, from p_data, or the other anchors of the
            batch serve; those are no draw from p_data where a strategy chooses anchors.
        device: where it is computed.
        dtype: of all numbers.

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
        >>> trained["baseline"].embedded(10)[1].shape
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
    memory: Memory = field(default_factory=Fresh)
    own_negatives: bool = False
    device: str = "cpu"
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        for name, least in (("rounds", 1), ("pairs", 2), ("updates", 1), ("batch", 2)):
            check_integer(f"Laboratory.{name}", vars(self)[name], minimum=least)
        for name in ("temperature", "learning_rate"):
            value = vars(self)[name]
            if not (is_finite(value) and value > 0):
                raise ValueError(f"Laboratory.{name} must be a positive number, got {value!r}")

    def train(self, strategies: Mapping[str, Strategy], seeds: Sequence[int]) -> dict[str, Trained]:
        """What `training` gives after the last round, by strategy.

        Raises:
            ValueError: as `training` does.
        """
        for _trained in self.training(strategies, seeds):
            pass
        return _trained

    def training(
        self, strategies: Mapping[str, Strategy], seeds: Sequence[int]
    ) -> Iterator[dict[str, Trained]]:
        """Train, and show the encoders after every round.

        Args:
            strategies: by any names.
            seeds: whole numbers of at least 0, a run of each strategy for each.

        Yields:
            For each strategy the encoders of all seeds as they are now: measure them before going on.

        Raises:
            ValueError: no strategy or seed, a seed that is given twice, a loss that is not finite; what a
                strategy refuses.

        Warns:
            OverlapWarning: more classes than can be told apart at their noise.
        """
        if not strategies:
            raise ValueError("Laboratory expected at least one strategy, got none")
        if len(set(seeds)) < len(seeds):
            raise ValueError(f"seeds must differ, since equal ones give equal runs, got {tuple(seeds)}")
        runs = {name: slice(i * len(seeds), (i + 1) * len(seeds)) for i, name in enumerate(strategies)}
        own_seeds = tuple(seeds) * len(strategies)
        world = self.model.drawn(own_seeds, device=self.device, dtype=self.dtype)
        encoders = Encoders(
            self.encoder, observed=self.model.mixing.observed, streams=self._streams(own_seeds, "encoder")
        )
        optimizer = torch.optim.Adam(encoders.parameters(), lr=self.learning_rate, fused=True)
        shuffling = self._streams(own_seeds, "batches")
        known = self._first(world, own_seeds)
        count, data = _Count(len(own_seeds), self.device), None
        for t in range(self.rounds):
            stages = {
                name: Stage(
                    world=world.part(own),
                    encoder=encoders.part(own),
                    known=known.part(own),
                    round=t,
                    streams=self._streams(seeds, f"round {t}"),
                )
                for name, own in runs.items()
            }
            drawn = [self._drawn(strategies[name], stage) for name, stage in stages.items()]
            count.add([positives for _, positives in drawn], self.pairs)
            data = self.memory(data, self._data(drawn, self._negatives(world, own_seeds, t)))
            for _ in range(self.updates):
                losses = self._step(encoders, optimizer, data.batch(self.batch, shuffling))
            self._check_finite(losses, list(strategies), seeds)
            known = Known(observations=data.anchors, labels=data.labels)
            yield {
                name: self._trained(stages[name], known.part(own), count.tries(t + 1, self.pairs, own), seeds)
                for name, own in runs.items()
            }

    def _trained(self, stage: Stage, known: Known, tries: Tries, seeds: Sequence[int]) -> Trained:
        """The stage's encoders, which have been trained on since."""
        return Trained(
            seeds=tuple(seeds),
            world=stage.world,
            encoder=stage.encoder,
            known=known,
            round=stage.round + 1,
            tries=tries,
            device=torch.device(self.device),
            dtype=self.dtype,
        )

    def _streams(self, seeds: Sequence[int], purpose: str) -> Streams:
        return Streams.of(seeds, purpose, device=self.device, dtype=self.dtype)

    def _first(self, world: World, seeds: Sequence[int]) -> Known:
        """D_0: points with their labels, for q_0 alone."""
        latents = world.sample(self.pairs, self._streams(seeds, "first"))
        return Known(observations=world.observe(latents), labels=latents.labels)

    def _drawn(self, strategy: Strategy, stage: Stage) -> tuple[Anchors, Drawn]:
        anchors = strategy.anchors(self.pairs, stage)
        positives = strategy.positives(anchors, stage)
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

    def _data(self, drawn: Sequence[tuple[Anchors, Drawn]], negatives: Tensor | None) -> DataSet:
        labels = [anchors.latents.labels for anchors, _ in drawn]
        return DataSet(
            anchors=torch.cat([anchors.observations for anchors, _ in drawn]),
            positives=torch.cat([positives.observations for _, positives in drawn]),
            negatives=negatives,
            labels=None if labels[0] is None else torch.cat([each for each in labels if each is not None]),
        )

    def _step(self, encoders: Encoders, optimizer: torch.optim.Optimizer, batch: DataSet) -> Tensor:
        """One step of every run: the sum of their losses has the gradient of each in its own weights."""
        rows = [batch.anchors, batch.positives]
        rows += [] if batch.negatives is None else [batch.negatives]
        anchors, positives, *negatives = encoders(torch.cat(rows, dim=1)).chunk(len(rows), dim=1)
        losses = contrastive_losses(
            anchors, positives, negatives[0] if negatives else None, temperature=self.temperature
        )
        optimizer.zero_grad()
        losses.sum().backward()
        optimizer.step()
        return losses.detach()

    def _check_finite(self, losses: Tensor, names: Sequence[str], seeds: Sequence[int]) -> None:
        """Refuse to go on with a run that is lost."""
        if not bool(losses.isfinite().all()):
            run = int((~losses.isfinite()).nonzero()[0])
            name, seed = names[run // len(seeds)], seeds[run % len(seeds)]
            raise ValueError(
                f"the loss of {name}, seed {seed}, is not finite: lower "
                f"the learning rate ({self.learning_rate:g}) or raise the temperature ({self.temperature:g})"
            )


class _Count:
    """Adds up what rejection costs."""

    def __init__(self, runs: int, device: str) -> None:
        self._tries = torch.zeros(runs, dtype=torch.float64, device=device)
        self._missed = torch.zeros_like(self._tries)

    def add(self, drawn: Sequence[Drawn], pairs: int) -> None:
        """Those of one round, strategy after strategy."""
        first = 0
        for each in drawn:
            own = slice(first, first := first + len(each.observations))
            self._tries[own] += pairs if each.tries is None else each.tries.sum(dim=1)
            if each.missed is not None:
                self._missed[own] += each.missed.sum(dim=1)

    def tries(self, rounds: int, pairs: int, runs: slice) -> Tries:
        """The means of some runs so far."""
        return Tries(mean=self._tries[runs] / (rounds * pairs), missed=self._missed[runs] / (rounds * pairs))
