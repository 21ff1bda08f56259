"""Scores of encoders on data they were not trained on, and their table in the terminal."""

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from rich.table import Table
from torch import Tensor

from tammes.cli.options.data import Split
from tammes.data import Texts
from tammes.estimate import Estimate
from tammes.evaluation import (
    KNN,
    LabeledFeatures,
    LinearClassifier,
    LinearProbe,
    MeanClassifier,
)
from tammes.evaluation.knn import usual_knn
from tammes.evaluation.probe import draw_labels
from tammes.report import Floor, Scores
from tammes.training import Data, Model, Monitor, Run, embed
from tammes.training.examples import readable
from tammes.training.seeds import Purpose, derive

Featurize = Callable[[Data], Tensor]
CURVE_POINTS = 20
"""Number of points, about, from which the accuracy over the epochs is drawn."""
DRAWS = 10
# Measuring must not take longer than training.
MOST_MEASURED = 5_000
BATCH = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """The same measurements for every encoder, and for features that need no encoder.

    Args:
        train: labeled data that the classifiers learn from.
        test: labeled data that the classifiers are tested on.
        train_rows: number of rows that `train` was drawn from; 0 if it is all of them.
        test_rows: number of rows that `test` was drawn from; 0 if it is all of them.
        knn: vote of nearest neighbors; None for the majority of 20.

    Raises:
        ValueError: for more neighbors than there are rows to learn from.
    """

    train: Data
    test: Data
    train_rows: int = 0
    test_rows: int = 0
    knn: KNN | None = None

    def __post_init__(self) -> None:
        self.neighbors.check_points(len(self.train))

    @classmethod
    def of(cls, data: Data, held_out: Data, knn: KNN | None = None) -> "Measure":
        """Measure on at most 5,000 rows to learn from, and 5,000 of those held out."""
        return cls(
            knn=knn,
            train=readable(at_most(data, MOST_MEASURED)),
            test=readable(at_most(held_out, MOST_MEASURED)),
            train_rows=len(data),
            test_rows=len(held_out),
        )

    def monitor(self, *, every: int) -> Monitor:
        """Return the monitor of a training, which measures on the same rows as the scores.

        Args:
            every: epochs from one measurement to the next.
        """
        return Monitor(bank=self.train, held_out=self.test, every=every, knn=self.knn)

    @property
    def neighbors(self) -> KNN:
        """The vote of nearest neighbors."""
        return usual_knn(len(self.train)) if self.knn is None else self.knn

    def of_features(self, features: Featurize) -> "Measured":
        """Return the accuracies of these features, for texts by the classifiers of Ash et al. (2022).

        Args:
            features: function from n rows of data to (n, features).
        """
        train = LabeledFeatures(features=features(self.train), labels=self.train.required_labels())
        test = LabeledFeatures(features=features(self.test), labels=self.test.required_labels())
        named = self.neighbors.predict(train, test.features)
        right = tuple((named.cpu() == test.labels.cpu()).tolist())
        knn = sum(right) / len(right)
        if isinstance(self.test, Texts):
            found = LinearClassifier().predict(train, test.features)
            means = MeanClassifier().accuracy(train, test)
            scores = Scores(knn=knn, means=means, linear=_share_right(found, test))
            return Measured(scores=scores, labels=found, right=right)
        found = LinearProbe().predict(train, test.features)
        tenth = _few_labels(0.1, train, test)
        scores = Scores(
            knn=knn,
            probe=_share_right(found, test),
            probe_10_percent=tenth,
            probe_1_percent=tenth if self.draws_alike else _few_labels(0.01, train, test),
        )
        return Measured(scores=scores, labels=found, right=right)

    @property
    def draws_alike(self) -> bool:
        """Whether 10 % and 1 % of the labels are the same ones: both round to as many of each class."""
        labels = self.train.required_labels().cpu().numpy()
        tenth, hundredth = (draw_labels(labels, share, np.random.default_rng(0)) for share in (0.1, 0.01))
        return np.array_equal(tenth, hundredth)

    @property
    def extent(self) -> str | None:
        """Numbers of rows in words, if only a part of the data is measured on."""
        if self.train_rows <= len(self.train) and self.test_rows <= len(self.test):
            return None
        test, train = (
            f"{len(part):,} of {rows:,}"
            for part, rows in ((self.test, self.test_rows), (self.train, self.train_rows))
        )
        return f"on {test} held-out rows, with {train} rows to learn from, drawn at random"


def knn_of(source: Split) -> KNN | None:
    """Return the vote of nearest neighbors that the command line chooses; None for the usual one."""
    if source.neighbors is None and source.neighbor_temperature is None:
        return None
    neighbors = KNN().neighbors if source.neighbors is None else source.neighbors
    return KNN(neighbors=neighbors, temperature=source.neighbor_temperature)


def _share_right(found: Tensor, test: LabeledFeatures) -> float:
    return float((found.cpu() == test.labels.cpu()).to(torch.float64).mean())


def _few_labels(fraction: float, train: LabeledFeatures, test: LabeledFeatures) -> float:
    """Return the mean over several draws: the draw of few labels changes more than the encoder does."""
    return statistics.mean(
        LinearProbe(fraction=fraction, seed=seed).accuracy(train, test) for seed in range(DRAWS)
    )


def encoded(model: Model) -> Featurize:
    """Return the function from data to the encoder's features."""
    return lambda data: embed(model, data)[0]


def at_most(data: Data, count: int) -> Data:
    """Return all rows, or a random part of them that is the same every time, in their order."""
    return data if len(data) <= count else data.subset(sorted(shuffled_rows(data)[:count]))


def shuffled_rows(data: Data, most: int | None = None) -> list[int]:
    """Return the numbers of all rows, or the first `most`, in a random order that is the same every time."""
    generator = torch.Generator().manual_seed(derive(0, Purpose.HOLDOUT, len(data)))
    return torch.randperm(len(data), generator=generator)[:most].tolist()


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """Measurements of features on the test data.

    Args:
        scores: accuracies.
        labels: labels (rows,) by the linear probe with all labels, for texts by the linear classifier; None
            if nothing was measured.
        right: whether the nearest neighbors name the class of each row.
    """

    scores: Scores = field(default_factory=Scores)
    labels: Tensor | None = None
    right: tuple[bool, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """An objective, or a floor that any objective must beat: measurements and a run for each seed.

    Args:
        name: its name.
        measured: measurements of each seed.
        runs: run of each seed; empty for a floor.

    Example:
        >>> seeds = Measured(scores=Scores(knn=0.5)), Measured(scores=Scores(knn=0.75))
        >>> Trial(name="hcl", measured=seeds).mean.knn
        0.625
    """

    name: str
    measured: tuple[Measured, ...]
    runs: tuple[Run, ...] = ()

    @property
    def scores(self) -> tuple[Scores, ...]:
        """Accuracies of each seed."""
        return tuple(each.scores for each in self.measured)

    @property
    def labels(self) -> tuple[Tensor, ...]:
        """Labels of the linear classifier for each seed that was measured."""
        return tuple(each.labels for each in self.measured if each.labels is not None)

    @property
    def mean(self) -> Scores:
        """Mean over the seeds of each accuracy that was measured."""
        measured = {
            field.name: [vars(score)[field.name] for score in self.scores]
            for field in dataclasses.fields(Scores)
        }
        known = {name: [value for value in values if value is not None] for name, values in measured.items()}
        return Scores(**{name: statistics.mean(values) for name, values in known.items() if values})

    @property
    def floor(self) -> Floor:
        """The trial as a floor of the report."""
        return Floor(name=self.name, scores=self.mean, seeds=self.scores)


# Accuracies by the titles of their columns.
OF_IMAGES = {"kNN": "knn", "probe, all labels": "probe", "10 %": "probe_10_percent", "1 %": "probe_1_percent"}
OF_TEXTS = {"kNN": "knn", "class means": "means", "linear classifier": "linear"}


def score_table(
    data: Data,
    first: str,
    rows: Iterable[tuple[str, Sequence[Scores], Sequence[str]]],
    *,
    test_rows: int,
    more: Sequence[str] = (),
    baselines: Sequence[Trial] = (),
    measured_on: str = "data held out of training",
) -> Table:
    """Return a table of accuracies in per cent with their 95 % intervals.

    The interval is Student's over several seeds, and Wilson's over the test rows for one.

    Args:
        data: data that decides the columns.
        test_rows: number of rows behind each accuracy; 0 if none was measured, and the table has no
            accuracies.
        first: title of the column of names.
        rows: for each row its name, the scores of each seed, and the cells behind the accuracies.
        more: titles of the columns behind the accuracies.
        baselines: rows of a second section.
        measured_on: what the caption says of the test rows.
    """
    columns = (OF_TEXTS if isinstance(data, Texts) else OF_IMAGES) if test_rows else {}
    caption = f"accuracies in per cent with 95 % intervals, on {measured_on}" if test_rows else None
    table = Table(caption=caption)
    table.add_column(first, overflow="fold")
    for title in (*columns, *more):
        table.add_column(title, justify="right")

    def add(name: str, scores: Sequence[Scores], cells: Sequence[str]) -> None:
        accuracies = [_accuracy([vars(run)[of] for run in scores], test_rows) for of in columns.values()]
        table.add_row(name, *accuracies, *cells)

    for row in rows:
        add(*row)
    table.add_section()
    for trial in baselines:
        add(trial.name, trial.scores, ["-"] * len(more))
    return table


def seconds_of(runs: Sequence[Run]) -> str:
    """Return the mean seconds of the runs; a dash without runs."""
    seconds = [run.seconds for run in runs if run.seconds is not None]
    return f"{statistics.mean(seconds):.1f}" if seconds else "-"


def _accuracy(values: Sequence[float | None], rows: int) -> str:
    """Return an accuracy in percent with its interval; a dash if it was not measured."""
    known = [value for value in values if value is not None]
    return Estimate.of_accuracies(known, rows).percent if known else "-"
