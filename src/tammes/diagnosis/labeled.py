"""Measures that labels or pairs allow: accuracies, label errors, overlapping classes, collisions, advice."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from tammes.diagnosis.measure import Measure, row_jackknife, verdict_of, wilson
from tammes.diagnostics.alignment import alignment
from tammes.diagnostics.blocks import directions
from tammes.diagnostics.collisions import (
    TOO_LARGE,
    TOO_SMALL,
    collision_share,
    estimated_collision_share,
    range_of_share,
)
from tammes.diagnostics.label_checks import (
    classes_per_cluster,
    k_means,
    knn_correct,
    likely_label_errors,
    overlaps,
    votes,
)
from tammes.diagnostics.lidar import lidar
from tammes.theory import ClassDistribution, Recommendation, best_k

PROBED = 4_000
"""Rows at most that the linear probe learns from and is tested on, half each."""
WEIGHED = 2_048
"""Rows whose negatives are weighed."""
LIDAR_PAIRS = 10_000
"""Pairs at most, the first ones, of which LiDAR is measured."""
TEMPERATURE = 0.5
"""Temperature of the weights of hard negatives."""
CLUSTERED = 10_000
"""Rows at most that are clustered."""
MOST_CLUSTERS = 200
"""Clusters at most."""
ERRORS = 0.5
"""Share of likely errors among the rows that are outvoted from which they are a fault, not an overlap."""
OVERLAP = 0.2
"""Share of two classes' rows that vote for the other from which the classes count as overlapping."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Labels:
    """The class of each row.

    Args:
        index: number of each row's class.
        names: name of each class.
    """

    index: Int64[Tensor, " n"]
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelFindings:
    """What labels show, row by row.

    Args:
        predicted: class that each row's neighbors vote for.
        error: whether each row's label is likely wrong.
        score: share of the leading other class among the neighbors, less that of the label.
        confusion: share of each class's rows that vote for each class.
        advice: sentences on negatives, temperature, class prior and beta.
    """

    predicted: Int64[Tensor, " n"]
    error: Bool[Tensor, " n"]
    score: Float[Tensor, " n"]
    confusion: Float[Tensor, "classes classes"]
    advice: tuple[str, ...]


def label_measures(
    units: Float[Tensor, "n dim"],
    indices: Int64[Tensor, "n k"],
    labels: Labels,
    generator: torch.Generator,
    *,
    batch: int | None = None,
) -> tuple[dict[str, Measure], LabelFindings]:
    """Return the measures of labels, and what they show of each row.

    Args:
        units: unit vectors.
        indices: row numbers of the nearest neighbors of each row.
        labels: class of each row.
        generator: source of random samples.
        batch: pairs in a batch, for the advice; None if they are not known.
    """
    n, k = indices.shape
    classes = len(labels.names)
    predicted, correct = knn_correct(indices, labels.index)
    error, score = likely_label_errors(votes(indices, labels.index), labels.index, k)
    confusion = overlaps(predicted, labels.index, classes)
    frequencies = torch.bincount(labels.index, minlength=classes).double() / n
    chance = _vote_by_chance(labels, frequencies, k)
    value, low, high = wilson(int(correct.sum()), n)
    measures = {
        "knn_accuracy": Measure(
            value=value,
            low=low,
            high=high,
            ceiling=1.0,
            null=chance,
            verdict=_above(low, chance, f"{k} nearest neighbors, each row left out of its own vote"),
        ),
        "probe_accuracy": _probe(units, labels, float(frequencies.max()), generator),
        "label_errors": _errors(error, ~correct),
        "class_overlap": _overlap(confusion, labels),
        "classes_per_cluster": _clusters(units, labels, frequencies, generator),
    }
    known = ClassDistribution.of_counts(torch.bincount(labels.index).tolist())
    collisions, advice = _collisions(units, labels, known, generator, batch)
    found = LabelFindings(predicted=predicted, error=error, score=score, confusion=confusion, advice=advice)
    return measures | collisions, found


def pair_measures(
    points: Float[Tensor, "n dim"], pairs: Int64[Tensor, "pairs 2"], *, batch: int | None = None
) -> tuple[dict[str, Measure], tuple[str, ...]]:
    """Return alignment, LiDAR and the estimated collisions of pairs of views, and advice.

    Args:
        points: embeddings of any length above 0.
        pairs: row numbers of the two views of each pair, two pairs at least.
        batch: pairs in a batch, for the advice; None if they are not known.
    """
    a, b = points[pairs[:, 0]], points[pairs[:, 1]]
    x, y = directions(a), directions(b)
    squares = (x - y).square().sum(dim=1)
    value, low, high = row_jackknife(lambda rows: float(rows.double().mean()), squares)
    value = alignment(a, b)
    aligned = verdict_of(
        "note" if value > 1 else "fine", f"mean squared distance of {len(pairs):,} pairs at length one"
    )
    count, dim = min(len(a), LIDAR_PAIRS), a.shape[1]

    def rank(rows: Tensor) -> float | None:
        return lidar(a[rows], b[rows]) if len(rows) > 1 else None

    lidar_value, lidar_low, lidar_high = row_jackknife(rank, torch.arange(count))
    measures = {
        "alignment": Measure(value=value, low=low, high=high, ceiling=0.0, null=2.0, verdict=aligned),
        "lidar": Measure(
            value=lidar_value,
            low=lidar_low,
            high=lidar_high,
            ceiling=min(dim, count - 1),
            null=_gaussian_lidar(count, dim),
            verdict=verdict_of("fine", f"of {count:,} pairs of two views; delta 1e-4, epsilon 1e-8"),
        ),
    }
    rows = min(len(a), 4 * WEIGHED)
    share = estimated_collision_share(a[:rows], b[:rows])
    low, high = range_of_share(share) if share > 0 else (None, None)
    off = f"up to {TOO_LARGE:.0f} times too large or {TOO_SMALL:.0f} times too small"
    measures["collision_share"] = Measure(
        value=share,
        low=low,
        high=high,
        ceiling=1.0,
        verdict=verdict_of("note", f"estimated from pairs of views: {off}"),
    )
    if not 0 < share <= 0.5:
        return measures, ()
    return measures, Recommendation(class_prior=share, pairs=batch, between=range_of_share(share)).sentences


def _vote_by_chance(labels: Labels, frequencies: Tensor, k: int) -> float:
    """Return the accuracy of the vote of k random rows: of many, nearly always the commonest class wins."""
    n, generator = len(labels.index), torch.Generator().manual_seed(0)
    predicted, _ = knn_correct(torch.randint(n, (n, k), generator=generator), labels.index)
    return float(frequencies[predicted].mean())


def _gaussian_lidar(count: int, dim: int) -> float:
    generator = torch.Generator().manual_seed(0)
    views = torch.randn(2, min(count, 4_096), dim, generator=generator)
    return lidar(views[0], views[1])


def _above(low: float, chance: float, words: str) -> str:
    if low <= chance:
        return verdict_of("note", f"not above chance, {100 * chance:.1f} %; {words}")
    return verdict_of("fine", words)


def _probe(units: Tensor, labels: Labels, chance: float, generator: torch.Generator) -> Measure:
    # scikit-learn takes as long to import as all the rest.
    from tammes.evaluation.features import LabeledFeatures
    from tammes.evaluation.probe import LinearProbe

    rows = torch.randperm(len(units), generator=generator)[:PROBED]
    train, test = rows[: (len(rows) + 1) // 2], rows[(len(rows) + 1) // 2 :]
    if len(test) == 0 or len(labels.index[train].unique()) < 2:
        return Measure(verdict="not measured: too few rows of two classes")
    known = LabeledFeatures(features=units[train], labels=labels.index[train])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = LinearProbe(iterations=300).predict(known, units[test])
    value, low, high = wilson(int((predicted == labels.index[test]).sum()), len(test))
    words = f"logistic regression on {len(train):,} random rows, tested on {len(test):,} others"
    return Measure(
        value=value, low=low, high=high, ceiling=1.0, null=chance, verdict=_above(low, chance, words)
    )


def _errors(error: Tensor, missed: Tensor) -> Measure:
    """Return the share of likely label errors; where most missed rows are none, classes overlap instead."""
    count, n = int(error.sum()), len(error)
    value, low, high = wilson(count, n)
    words = f"label errors: {count:,} of {n:,} labels are denied by nearly all neighbors"
    if count and count >= ERRORS * int((missed | error).sum()):
        verdict = verdict_of("fault", words)
    elif count:
        verdict = verdict_of("note", f"{words}, but classes overlap: {int(missed.sum()):,} are outvoted")
    else:
        verdict = verdict_of("fine", "no label stands out")
    return Measure(value=value, low=low, high=high, ceiling=0.0, null=0.0, verdict=verdict)


def _overlap(confusion: Tensor, labels: Labels) -> Measure:
    """Return the largest share of two classes' rows that vote for the other class."""
    counts = torch.bincount(labels.index, minlength=len(labels.names)).double()
    missed = confusion.double() * counts[:, None]
    both = (missed + missed.T).fill_diagonal_(0)
    share = both / (counts[:, None] + counts)
    a, b = divmod(int(share.argmax()), len(labels.names))
    value, low, high = wilson(int(both[a, b].round()), int(counts[a] + counts[b]))
    words = f"{labels.names[a]} and {labels.names[b]} overlap most: {100 * value:.0f} % of their rows vote"
    return Measure(
        value=value,
        low=low,
        high=high,
        ceiling=0.0,
        verdict=verdict_of("note" if low > OVERLAP else "fine", f"{words} for the other"),
    )


def _clusters(units: Tensor, labels: Labels, frequencies: Tensor, generator: torch.Generator) -> Measure:
    rows = torch.randperm(len(units), generator=generator)[:CLUSTERED]
    count = min(len(labels.names), MOST_CLUSTERS, len(rows))
    points, of = units[rows], labels.index[rows]
    clusters = k_means(points, count, generator=generator)
    value, low, high = row_jackknife(
        lambda kept: classes_per_cluster(clusters[kept], of[kept]), torch.arange(len(rows))
    )
    return Measure(
        value=value,
        low=None if low is None else max(1.0, low),
        high=high,
        ceiling=1.0,
        null=float(torch.special.entr(frequencies).sum().exp()),
        verdict=verdict_of("fine", f"effective number of classes in each of {count} clusters (k-means)"),
    )


def _collisions(
    units: Tensor,
    labels: Labels,
    known: ClassDistribution,
    generator: torch.Generator,
    batch: int | None,
) -> tuple[dict[str, Measure], tuple[str, ...]]:
    """Return how many negatives are false, at random and weighted by hardness in this embedding."""
    share = collision_share(labels.index)
    rows = torch.randperm(len(units), generator=generator)[:WEIGHED]
    hard = _hard_shares(units[rows], labels.index[rows])
    value, low, high = row_jackknife(lambda shares: float(shares.mean()), hard)
    # A batch draws rows without repetition. So this is the counted share, which leaves out the row itself,
    # and not the sum of squared frequencies.
    recommendation = Recommendation(class_prior=share, pairs=batch, classes=known)
    k = best_k(known)
    times = "" if share == 0 or value is None else f", {value / share:.1f} times those at random"
    advice = (
        *recommendation.sentences,
        f"Class prior: of these labels it is {recommendation.class_prior:.3g}.",
        f"Beta: in this embedding, weights of hard negatives (beta 1, temperature {TEMPERATURE}) lie to "
        f"{100 * (value or 0):.1f} % on false ones{times}.",
        f"Negatives: the bound on the readout is least at k = {k:,}.",
    )
    measures = {
        "collision_share": Measure(
            value=share,
            low=share,
            high=share,
            ceiling=1.0,
            verdict=verdict_of("fine", "share of random negatives with the anchor's class, counted"),
        ),
        "hard_collision_share": Measure(
            value=value,
            low=low,
            high=high,
            ceiling=1.0,
            null=share,
            verdict=verdict_of(
                "fine", f"share of the weight of hard negatives, beta 1 at temperature {TEMPERATURE}"
            ),
        ),
        "best_k": Measure(
            value=k, low=k, high=k, verdict=verdict_of("fine", "negatives at which the bound is least")
        ),
    }
    return measures, advice


def _hard_shares(units: Tensor, index: Tensor) -> Tensor:
    """Return the share of each anchor's hard weight that lies on rows of its class."""
    logits = units @ units.T / TEMPERATURE
    logits.fill_diagonal_(-torch.inf)
    weights = logits.double().softmax(dim=1)
    return weights.where(index[:, None] == index, 0).sum(dim=1)
