"""What is measured of an encoder: nearest neighbors and linear probes, on data it was not trained on."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from tammes.data import Images, Texts, as_floats
from tammes.evaluation import KNN, LabeledFeatures, LinearClassifier, LinearProbe, MeanClassifier
from tammes.report import Scores
from tammes.training import Data, Model, Monitor, embed
from tammes.training.seeds import Purpose, derive

Featurize = Callable[[Data], Tensor]
NEIGHBORS = 20
DRAWS = 10
# Measuring must not take longer than training.
MOST_WATCHED = 2_000
MOST_MEASURED = 5_000
# Of pixels as features.
LARGEST_SIDE = 16
BATCH = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """The same measurements for every encoder, and for what needs none.

    Args:
        train: labeled data that the classifiers learn from.
        test: labeled images that they are tried on.
    """

    train: Data
    test: Data

    @classmethod
    def of(cls, data: Data, held_out: Data) -> "Measure":
        """On at most 5,000 rows to learn from and 5,000 of those held out."""
        return cls(train=at_most(data, MOST_MEASURED), test=at_most(held_out, MOST_MEASURED))

    def monitor(self, *, every: int) -> Monitor:
        """What watches an encoder learn: the accuracy after every so many epochs, on at most 2,000 images."""
        # Sentences are embedded so quickly that all can be watched.
        most = MOST_MEASURED if isinstance(self.test, Texts) else MOST_WATCHED
        return Monitor(bank=at_most(self.train, most), held_out=at_most(self.test, most), every=every)

    def scores(self, features: Featurize) -> Scores:
        """The accuracies that these features reach: of texts, by the classifiers of Ash et al. (2022).

        Args:
            features: maps n rows to (n, features).
        """
        train = LabeledFeatures(features=features(self.train), labels=self.train.required_labels())
        test = LabeledFeatures(features=features(self.test), labels=self.test.required_labels())
        knn = KNN(neighbors=min(NEIGHBORS, len(train))).accuracy(train, test)
        if isinstance(self.test, Texts):
            means, linear = (each.accuracy(train, test) for each in (MeanClassifier(), LinearClassifier()))
            return Scores(knn=knn, means=means, linear=linear)
        return Scores(
            knn=knn,
            probe=LinearProbe().accuracy(train, test),
            probe_10_percent=_few_labels(0.1, train, test),
            probe_1_percent=_few_labels(0.01, train, test),
        )


def _few_labels(fraction: float, train: LabeledFeatures, test: LabeledFeatures) -> float:
    """The mean over several draws: which few labels are drawn makes more of a difference than the encoder."""
    return statistics.mean(
        LinearProbe(fraction=fraction, seed=seed).accuracy(train, test) for seed in range(DRAWS)
    )


def encoded(model: Model) -> Featurize:
    """The encoder's features."""
    return lambda data: embed(model, data)[0]


def pixels(images: Data) -> Tensor:
    """The pixels themselves as features; those of large images averaged down to 16x16.

    That bounds the memory they take, and the time of the probes.
    """
    assert isinstance(images, Images)
    side, rows = min(images.size, LARGEST_SIDE), range(len(images))
    batches = (as_floats(images.batch(rows[start : start + BATCH])) for start in rows[::BATCH])
    return torch.cat([adaptive_avg_pool2d(batch, side).flatten(1) for batch in batches])


def at_most(data: Data, count: int) -> Data:
    """All rows, or a random part of them that is the same every time; their order stays."""
    return data if len(data) <= count else data.subset(sorted(shuffled_rows(data)[:count]))


def shuffled_rows(data: Data) -> list[int]:
    """The numbers of all rows, in a random order that is the same every time."""
    generator = torch.Generator().manual_seed(derive(0, Purpose.HOLDOUT, len(data)))
    return torch.randperm(len(data), generator=generator).tolist()
