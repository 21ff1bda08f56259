"""One number or several of an encoder on a task, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

import torch
from jaxtyping import Bool, Float, Int64
from scipy.special import ndtri
from scipy.stats import rankdata
from torch import Tensor
from torch.nn.functional import normalize

from tammes.estimate import LEVEL, Estimate
from tammes.evaluation.features import LabeledFeatures
from tammes.evaluation.image_classifier import share
from tammes.evaluation.sentence_tasks.classification import LogisticProtocol
from tammes.evaluation.sentence_tasks.ranking import ranking_scores
from tammes.evaluation.sentence_tasks.tasks import (
    Embed,
    Retrieval,
    ScoredPairs,
    SentenceClasses,
    SentencePairs,
    Task,
    features_of,
)

PUBLISHED = LogisticProtocol()
"""Ten folds, and C from 1 to 256."""
DRAWS = 1_000
"""Bootstrap draws of the interval of F1."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskScore:
    """Scores of an encoder on a task.

    Args:
        task: name of the task.
        metrics: estimate of each number, the most usual first: "accuracy", "F1", "spearman", "pearson",
            "nDCG@10", "recall@1" and others; all from 0 to 1 but correlations.
        over: rows that the intervals are over, such as "500 test sentences".
        right: whether each row was classified correctly, for paired comparisons of encoders
            (`Estimate.of_outcomes`); None for tasks without classes.
        costs: C of each fold, or of the only classifier.

    Example:
        >>> estimate = Estimate.of_share(0.5, 100)
        >>> TaskScore(task="CR", metrics={"accuracy": estimate}, over="100 sentences").main.mean
        0.5
    """

    task: str
    metrics: dict[str, Estimate]
    over: str
    right: Bool[Tensor, " n"] | None = None
    costs: tuple[float, ...] = ()

    @property
    def main(self) -> Estimate:
        """The most usual number of the task."""
        return next(iter(self.metrics.values()))


def evaluate(task: Task, embed: Embed, protocol: LogisticProtocol = PUBLISHED) -> TaskScore:
    """Measure an encoder, or anything that makes features of sentences, on a task.

    | task | protocol | numbers |
    |---|---|---|
    | `SentenceClasses` | logistic regression in ten folds, or on the test set | accuracy |
    | `SentencePairs` | logistic regression on |u - v| and u * v, on the test set | accuracy, F1 |
    | `ScoredPairs` | cosine of u and v | Spearman's and Pearson's correlation with the scores |
    | `Retrieval` | documents in the order of their cosine with the query | nDCG@10, MRR@10, recall@k |

    Args:
        task: the task.
        embed: from n different sentences to their features (n, features).
        protocol: folds and values of C of the logistic regression.

    Raises:
        ValueError: features of another shape, NaN or infinity; a class with fewer sentences than folds, which
            the message names with the task.

    Example:
        >>> import torch
        >>> task = SentenceClasses(name="long", sentences=tuple("a" * n for n in range(1, 41)),
        ...     labels=torch.arange(40) // 20, classes=("short", "long"))
        >>> score = evaluate(task, lambda sentences: torch.tensor([[float(len(each))] for each in sentences]))
        >>> print(score.main.percent)
        100.0 [91.2, 100.0]
    """
    if isinstance(task, SentenceClasses | SentencePairs):
        _check_folds(task, protocol)  # before the sentences are embedded, which may take long
    if isinstance(task, SentenceClasses):
        return _classes(task, embed, protocol)
    if isinstance(task, SentencePairs):
        return _pairs(task, embed, protocol)
    if isinstance(task, ScoredPairs):
        return _scored(task, embed)
    return _retrieval(task, embed)


def _check_folds(task: SentenceClasses | SentencePairs, protocol: LogisticProtocol) -> None:
    """Raise ValueError for a class with fewer rows to learn from than folds."""
    classes: tuple[str, ...] = ("other meaning", "same meaning")
    rows = "pairs"
    if isinstance(task, SentenceClasses):
        classes, rows = task.classes, "sentences"
    counts = torch.bincount(task.labels.long(), minlength=len(classes)).tolist()
    fewest = min(counts)
    if fewest < protocol.folds:
        raise ValueError(
            f"{task.name}: expected at least {protocol.folds} {rows} of each class to learn from, one for "
            f"each fold, got {fewest} of {classes[counts.index(fewest)]!r}: add some, or leave the class out"
        )


def _classes(task: SentenceClasses, embed: Embed, protocol: LogisticProtocol) -> TaskScore:
    features = features_of(embed, task.sentences + task.tested)
    n = len(task.sentences)
    points = LabeledFeatures(features=features[:n], labels=task.labels)
    if task.tested_labels is None:
        found = protocol.in_folds(points)
        right, over = found.labels == task.labels, f"{n:,} sentences in {protocol.folds} folds"
    else:
        found = protocol.on_test(points, features[n:])
        right, over = found.labels == task.tested_labels, f"{len(task.tested):,} test sentences"
    return TaskScore(
        task=task.name, metrics={"accuracy": share(right)}, over=over, right=right, costs=found.costs
    )


def _pairs(task: SentencePairs, embed: Embed, protocol: LogisticProtocol) -> TaskScore:
    features = _pair_features(*_sides(embed, task.pairs + task.tested))
    n = len(task.pairs)
    points = LabeledFeatures(features=features[:n], labels=task.labels)
    found = protocol.on_test(points, features[n:])
    right = found.labels == task.tested_labels
    metrics = {"accuracy": share(right), "F1": _f1(found.labels, task.tested_labels)}
    over = f"{len(task.tested):,} test pairs"
    return TaskScore(task=task.name, metrics=metrics, over=over, right=right, costs=found.costs)


def _sides(
    embed: Embed, pairs: tuple[tuple[str, str], ...]
) -> tuple[Float[Tensor, "n features"], Float[Tensor, "n features"]]:
    # n pairs -> 2n sentences, encoded in one go
    features = features_of(embed, [first for first, _ in pairs] + [second for _, second in pairs])
    return features[: len(pairs)], features[len(pairs) :]


def _pair_features(u: Tensor, v: Tensor) -> Float[Tensor, "n twice"]:
    return torch.cat([(u - v).abs(), u * v], dim=1)


def _scored(task: ScoredPairs, embed: Embed) -> TaskScore:
    u, v = _sides(embed, task.pairs)
    cosine = (normalize(u.double(), dim=1) * normalize(v.double(), dim=1)).sum(dim=1)
    scores = task.scores.double()
    ranks = [torch.from_numpy(rankdata(each.numpy())) for each in (cosine, scores)]
    metrics = {
        "spearman": _correlation(ranks[0], ranks[1], of_ranks=True),
        "pearson": _correlation(cosine, scores, of_ranks=False),
    }
    return TaskScore(task=task.name, metrics=metrics, over=f"{len(task.pairs):,} pairs")


def _correlation(first: Tensor, second: Tensor, *, of_ranks: bool) -> Estimate:
    """Return the correlation with Fisher's interval, wider for ranks (Bonett and Wright, 2000)."""
    if bool((first == first[0]).all()):
        return Estimate(mean=0.0)  # an encoder that gives every pair one cosine orders none
    found = Estimate.of_correlation(first.tolist(), second.tolist())
    if abs(found.mean) == 1:
        return Estimate(mean=found.mean)  # of which Fisher's interval has no width
    if not of_ranks or not found.is_known:
        return found
    middle, r = math.atanh(found.mean), found.mean
    half = float(ndtri((1 + LEVEL) / 2)) * math.sqrt((1 + r * r / 2) / (len(first) - 3))
    return Estimate(mean=r, low=math.tanh(middle - half), high=math.tanh(middle + half))


def _retrieval(task: Retrieval, embed: Embed) -> TaskScore:
    features = features_of(embed, task.queries + task.documents)
    queries, documents = features[: len(task.queries)], features[len(task.queries) :]
    found = ranking_scores(queries, documents, task.relevance)
    metrics = {name: _over_queries(values) for name, values in found.items()}
    over = f"{len(task.queries):,} queries of {len(task.documents):,} documents"
    return TaskScore(task=task.name, metrics=metrics, over=over)


def _over_queries(values: list[float]) -> Estimate:
    if len(values) == 1:
        return Estimate(mean=values[0])
    if set(values) <= {0.0, 1.0} or len(set(values)) == 1:  # equal values have no spread of their own
        return Estimate.of_share(fmean(values), len(values))
    found = Estimate.over_seeds(values)
    return Estimate(mean=fmean(values), low=max(0.0, found.low), high=min(1.0, found.high))


def _f1(found: Int64[Tensor, " n"], true: Int64[Tensor, " n"]) -> Estimate:
    """Return F1 of class 1 with the percentile interval of a bootstrap over the pairs."""
    # A draw is a draw of the four counts, since F1 depends on nothing else.
    cells = torch.bincount(2 * true + found, minlength=4).double()
    generator = torch.Generator().manual_seed(0)
    rows = torch.multinomial(cells, DRAWS * int(cells.sum()), replacement=True, generator=generator)
    drawn = torch.nn.functional.one_hot(rows.view(DRAWS, -1), 4).sum(dim=1).double()
    values = _f1_of(drawn)
    ends = torch.quantile(values, torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2], dtype=torch.float64))
    if ends[0] == ends[1]:
        # No draw differs: F1 = 2 J / (1 + J), with Wilson's interval of the share J of hits.
        others = int(cells[1:].sum())
        hits = Estimate.of_share(float(cells[3]) / max(1, others), max(1, others))
        mean, low, high = (2 * each / (1 + each) for each in (hits.mean, hits.low, hits.high))
        return Estimate(mean=mean, low=low, high=high)
    return Estimate(mean=float(_f1_of(cells[None])[0]), low=float(ends[0]), high=float(ends[1]))


def _f1_of(cells: Float[Tensor, "draws 4"]) -> Float[Tensor, " draws"]:
    # 2 * true + found: 0 true negatives, 1 false positives, 2 false negatives, 3 true positives
    wrong, right = cells[:, 1] + cells[:, 2], 2 * cells[:, 3]
    return right / (right + wrong).clamp(min=1)
