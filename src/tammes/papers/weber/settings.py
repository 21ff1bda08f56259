"""Everything that Weber and Bachman (2022) leave open about their experiments on latents.

docs/latent.md says how the values were chosen; the seeds for choosing are not those of the tables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from tammes.evaluation import KNN
from tammes.latent import (
    ClassAccuracy,
    Classes,
    EncoderShape,
    GaussianNoise,
    Laboratory,
    LatentModel,
    Mixing,
    NearBoundary,
    RandomMeans,
    Strategy,
    TrainedEncoders,
    algorithm_1,
    algorithm_2,
    boundary_accuracy,
)
from tammes.positives import Quantile

SEEDS = 10
BASELINE, INFO_ACTIVE, ACTIVE, CLASS_PRESERVING = "baseline", "info-active", "active", "class-preserving"
RANDOM, DOUBLE_ACTIVE = "random", "double-active"
SQUARED, SIGNED = "adversarial, squared", "adversarial, signed"
UNTRAINED, UNTRAINED_NEAR = "untrained", "untrained, double-active"
"""Controls: encoders with their first weights, measured as the others are; the second with the anchors of
double-active, since the classifier learns from the anchors, and better from those near its boundary."""
SEARCHED_ON = "other worlds (seeds 100 to 103), by the distance of the paper's first column from ours"
MEASURED_ON = "new latents of each seed's world"
Outcome = tuple[Mapping[str, TrainedEncoders], dict[str, Tensor], dict[str, Tensor]]
"""Encoders, reported accuracies and last accuracies by strategy, (seeds,) each."""


@dataclass(frozen=True, kw_only=True)
class Settings1:
    """Settings of Algorithm 1 in a row of Table I.

    The paper gives those of the row, the class noise, the perturbation and the learning rate. The two class
    means are independent and uniform: in many dimensions nearly orthogonal.

    Args:
        latents: dimensions of the latents.
        observed: dimensions of an observation.
        total_updates: N, number of updates in all.
        class_noise: standard deviation around the class means (the paper's: 0.3).
        perturbation: standard deviation of the noise on observations (the paper's: 0.2).
        share: fraction of the points of D_t that are as near to the boundary as an active positive must be.
        tries: largest number of candidates for a positive.
        anchors_of: number of points of which a double-active anchor is the nearest to the boundary.
        mixing_depth: number of layers of g with a tanh.
        mixing_width: width of these layers, as a multiple of the latents.
        condition: condition number of each linear map of g.
        gain: gain of g; the larger, the less linear is g.
        dim: dimensions of the embeddings; 0 for as many as the latents.
        width: width of the hidden layers of f.
        depth: number of hidden layers of f.
        temperature: temperature of the loss.
        pairs: m_t, number of pairs drawn in every round.
        updates: number of updates in every round.
        batch: pairs in an update.
        learning_rate: learning rate of Adam (the paper's: 1e-4).
    """

    ROW: ClassVar = ("latents", "observed", "total_updates")
    CONTROLS: ClassVar = (UNTRAINED, UNTRAINED_NEAR)
    SEARCH: ClassVar = {"class means": ("opposite", "independent")}

    latents: int = 48
    observed: int = 256
    total_updates: int = 200
    class_noise: float = 0.3
    perturbation: float = 0.2
    share: float = 0.25
    tries: int = 32
    anchors_of: int = 4
    mixing_depth: int = 2
    mixing_width: int = 2
    condition: float = 2.0
    gain: float = 1.0
    dim: int = 0
    width: int = 64
    depth: int = 2
    temperature: float = 0.5
    pairs: int = 64
    updates: int = 10
    batch: int = 64
    learning_rate: float = 1e-4

    @property
    def row(self) -> str:
        """Row of the table, in words."""
        return f"{self.latents} latents, {self.observed} observed, {self.total_updates} updates"

    @property
    def short(self) -> str:
        """Numbers of the row."""
        return f"{self.latents}/{self.observed}/{self.total_updates}"

    @property
    def chance(self) -> float:
        """Accuracy of a guess."""
        return 0.5

    def laboratory(self, updates: int) -> Laboratory:
        """Return the laboratory that trains the row, for the given number of updates in all."""
        return Laboratory(
            model=LatentModel(
                informative=self.latents,
                classes=Classes(count=2, spread=GaussianNoise(scale=self.class_noise), means=RandomMeans()),
                mixing=_mixing(self, width=self.mixing_width * self.latents),
            ),
            encoder=EncoderShape(dim=self.dim or self.latents, width=self.width, depth=self.depth),
            temperature=self.temperature,
            rounds=max(1, updates // self.updates),
            pairs=self.pairs,
            updates=min(updates, self.updates),
            batch=self.batch,
            learning_rate=self.learning_rate,
            accumulate=True,
            own_negatives=True,
        )

    def strategies(self) -> dict[str, Strategy]:
        """Return the strategies of the paper's columns, and two readings of the one without a column."""
        acceptance = Quantile(share=self.share)
        return {
            RANDOM: algorithm_1.random(scale=self.perturbation),
            ACTIVE: algorithm_1.active(acceptance=acceptance, scale=self.perturbation, tries=self.tries),
            DOUBLE_ACTIVE: algorithm_1.double_active(
                acceptance=acceptance, scale=self.perturbation, tries=self.tries, of=self.anchors_of
            ),
            SQUARED: algorithm_1.adversarial(scale=self.perturbation, radius=self.perturbation),
            SIGNED: algorithm_1.adversarial(scale=self.perturbation, radius=self.perturbation, signed=True),
        }

    def trained(self, strategies: Mapping[str, Strategy], seeds: Sequence[int], updates: int) -> Outcome:
        """Train a run of each strategy for each seed; report the best accuracy after any round."""
        best = {name: torch.zeros(len(seeds), dtype=torch.float64) for name in strategies}
        trained, last = {}, best
        for trained in self.laboratory(updates).training(strategies, seeds):
            last = {name: boundary_accuracy(each) for name, each in trained.items()}
            best = {name: torch.maximum(best[name], accuracy) for name, accuracy in last.items()}
        return trained, best, last

    def untrained(self, seeds: Sequence[int], updates: int) -> Outcome:
        """Report untrained encoders likewise: the best of as many classifiers, of as many anchors."""
        random = algorithm_1.random(scale=self.perturbation)
        near = dataclasses.replace(random, anchors=NearBoundary(of=self.anchors_of))
        strategies = {UNTRAINED: random, UNTRAINED_NEAR: near}
        return dataclasses.replace(self, learning_rate=0.0).trained(strategies, seeds, updates)


@dataclass(frozen=True, kw_only=True)
class Settings2:
    """Settings of Algorithm 2 in a row of Table II.

    The paper gives those of the row, the perturbations, the learning rate, updates and resamples. The class
    means are as far apart as possible.

    Args:
        classes: number of classes.
        informative: number of informative dimensions.
        uninformative: number of uninformative dimensions.
        class_noise: standard deviation around the class means ("little overlap").
        scale: length of the uninformative latents, the informative ones having length 1. A perturbation is
            in the same units, so it turns latents on a larger sphere less.
        observed: dimensions of an observation.
        mixing_depth: number of layers of g with a tanh.
        mixing_width: width of these layers.
        condition: condition number of each linear map of g.
        gain: gain of g; the larger, the less linear is g.
        dim: dimensions of the embeddings; 0 for as many as the latents.
        width: width of the hidden layers of f.
        depth: number of hidden layers of f.
        temperature: temperature of the loss.
        batch: pairs in an update, all of them new.
        learning_rate: learning rate of Adam (the paper's: 1e-4).
        neighbors: neighbors of the kNN classifier.
        train: number of points that vote.
        test: number of points to be classified.
        resamples: resamples of both (the paper's: 10).
    """

    ROW: ClassVar = ("classes", "informative", "uninformative")
    CONTROLS: ClassVar = (UNTRAINED,)
    SEARCH: ClassVar = {
        "class means": ("independent", "as far apart as possible"),
        "length of the uninformative latents": ("1", "2", "2.5", "4 to 10"),
        "depth of g": (2, 4),
        "temperature": (0.2, 0.5, 1),
        "neighbors": (5, 20),
        "dimensions of the embedding": ("informative ones", "all"),
    }

    classes: int = 4
    informative: int = 4
    uninformative: int = 4
    class_noise: float = 0.35
    scale: float = 2.5
    observed: int = 32
    mixing_depth: int = 2
    mixing_width: int = 64
    condition: float = 2.0
    gain: float = 1.0
    dim: int = 0
    width: int = 128
    depth: int = 2
    temperature: float = 0.5
    batch: int = 128
    learning_rate: float = 1e-4
    neighbors: int = 20
    train: int = 1000
    test: int = 500
    resamples: int = 10

    @property
    def row(self) -> str:
        """Row of the table, in words."""
        return f"{self.classes} classes, {self.informative} + {self.uninformative} latents"

    @property
    def short(self) -> str:
        """Numbers of the row."""
        return f"{self.classes}, {self.informative} + {self.uninformative}"

    @property
    def chance(self) -> float:
        """Accuracy of a guess."""
        return 1 / self.classes

    @property
    def latents(self) -> int:
        """Number of all latent dimensions."""
        return self.informative + self.uninformative

    def laboratory(self, updates: int) -> Laboratory:
        """Return the laboratory that trains the row, for the given number of updates."""
        return Laboratory(
            model=LatentModel(
                informative=self.informative,
                uninformative=self.uninformative,
                uninformative_scale=self.scale,
                classes=Classes(count=self.classes, spread=GaussianNoise(scale=self.class_noise)),
                mixing=_mixing(self, width=self.mixing_width),
            ),
            encoder=EncoderShape(dim=self.dim or self.latents, width=self.width, depth=self.depth),
            temperature=self.temperature,
            rounds=updates,
            pairs=self.batch,
            batch=self.batch,
            learning_rate=self.learning_rate,
        )

    def strategies(self) -> dict[str, Strategy]:
        """Return the strategies of the paper's columns."""
        return {
            BASELINE: algorithm_2.baseline(radius=self.scale),
            INFO_ACTIVE: algorithm_2.info_active(),
            ACTIVE: algorithm_2.active(radius=self.scale),
            CLASS_PRESERVING: algorithm_2.class_preserving(),
        }

    def trained(self, strategies: Mapping[str, Strategy], seeds: Sequence[int], updates: int) -> Outcome:
        """Train a run of each strategy for each seed; report the kNN accuracy after the last update."""
        trained = self.laboratory(updates).train(strategies, seeds)
        accuracy = ClassAccuracy(
            classifier=KNN(neighbors=self.neighbors),
            train=self.train,
            test=self.test,
            resamples=self.resamples,
        )
        found = {name: accuracy(each) for name, each in trained.items()}
        return trained, found, found

    def untrained(self, seeds: Sequence[int], updates: int) -> Outcome:
        """Report untrained encoders likewise; they are the same after any number of updates."""
        strategies = {UNTRAINED: algorithm_2.baseline(radius=self.scale)}
        return dataclasses.replace(self, learning_rate=0.0).trained(strategies, seeds, min(updates, 1))


# Rows of the paper's tables, with the accuracies of its columns.
TABLE_1: Mapping[Settings1, Mapping[str, float]] = {
    Settings1(latents=latents, observed=observed, total_updates=updates): dict(
        zip((RANDOM, ACTIVE, DOUBLE_ACTIVE), accuracies, strict=True)
    )
    for (latents, observed, updates), accuracies in (
        ((48, 256, 200), (0.937, 0.951, 0.945)),
        ((48, 512, 200), (0.946, 0.955, 0.955)),
        ((64, 512, 200), (0.907, 0.916, 0.901)),
        ((64, 256, 500), (0.903, 0.907, 0.927)),
        ((64, 1024, 500), (0.922, 0.920, 0.927)),
    )
}
TABLE_2: Mapping[Settings2, Mapping[str, float]] = {
    Settings2(classes=classes, informative=informative, uninformative=uninformative): dict(
        zip((BASELINE, INFO_ACTIVE, ACTIVE, CLASS_PRESERVING), accuracies, strict=True)
    )
    for (classes, informative, uninformative), accuracies in (
        ((4, 4, 4), (0.777, 0.956, 0.936, 0.986)),
        ((8, 4, 4), (0.609, 0.867, 0.817, 0.900)),
        ((4, 2, 6), (0.728, 0.967, 0.942, 0.974)),
        ((8, 2, 6), (0.408, 0.692, 0.611, 0.687)),
        ((4, 2, 16), (0.759, 0.969, 0.949, 0.975)),
    )
}
PAPER = {settings.row: accuracies for table in (TABLE_1, TABLE_2) for settings, accuracies in table.items()}
"""Accuracies of the paper by row, in words, and strategy."""


def _mixing(settings: Settings1 | Settings2, *, width: int) -> Mixing:
    return Mixing(
        observed=settings.observed,
        depth=settings.mixing_depth,
        width=width,
        condition=settings.condition,
        gain=settings.gain,
    )


def in_words(settings: Settings1 | Settings2) -> dict[str, str]:
    """Return all settings but those of the row, as a page shows them.

    Example:
        >>> in_words(Settings2())["class noise"]
        '0.35'
    """
    return {
        field.name.replace("_", " "): f"{getattr(settings, field.name):g}"
        for field in dataclasses.fields(settings)
        if field.name not in settings.ROW
    }
