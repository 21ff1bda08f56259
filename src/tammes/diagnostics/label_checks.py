"""What the neighbors of a row say of its label: accuracy, likely errors, overlapping classes, clusters."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

EXPECTED_FALSE = 0.05
"""Expected number of rows that `likely_label_errors` flags where all labels are right."""


def votes(indices: Int64[Tensor, "n k"], labels: Int64[Tensor, " all"]) -> Float[Tensor, "n classes"]:
    """Return the share of each class among the neighbors of each row.

    Args:
        indices: row numbers of the k neighbors of each row, without the row itself.
        labels: class of each row, numbered from 0.

    Example:
        >>> votes(torch.tensor([[1, 2]]), torch.tensor([0, 1, 1])).tolist()
        [[0.0, 1.0]]
    """
    classes = int(labels.max()) + 1
    counts = torch.zeros(len(indices), classes)
    of = labels[indices]
    return counts.scatter_add_(1, of, torch.ones(of.shape)) / indices.shape[1]


def knn_correct(
    indices: Int64[Tensor, "n k"], labels: Int64[Tensor, " n"]
) -> tuple[Int64[Tensor, " n"], Bool[Tensor, " n"]]:
    """Return the class that each row's neighbors vote for, and whether it is the row's.

    The row itself does not vote (leave one out). Of classes with equal votes the one of the nearest neighbor
    among them wins.

    Args:
        indices: row numbers of the k neighbors of each row, nearest first.
        labels: class of each row, numbered from 0.

    Example:
        >>> knn_correct(torch.tensor([[1, 2], [0, 2], [1, 0]]), torch.tensor([0, 0, 1]))[1].tolist()
        [True, True, False]
    """
    share = votes(indices, labels)
    of = labels[indices]
    leading = share.gather(1, of) == share.amax(dim=1, keepdim=True)
    predicted = of.gather(1, leading.int().argmax(dim=1, keepdim=True))[:, 0]
    return predicted, predicted == labels


def likely_label_errors(
    share: Float[Tensor, "n classes"], labels: Int64[Tensor, " n"], k: int
) -> tuple[Bool[Tensor, " n"], Float[Tensor, " n"]]:
    """Return the rows whose label the neighbors deny, and a score of each row.

    With the lower quartile a_c of the share of neighbors of its own class over rows of class c, row i is
    flagged if

        another class has half of its neighbors   and
        P( Binomial(k, a_c) <= own neighbors of i )  <=  0.05 / n

    so that random labels, and classes that overlap everywhere, flag nothing. A row deep within another class
    may have the right label all the same: look at it.

    Args:
        share: share of each class among the k neighbors of each row, as `votes` returns it.
        labels: class of each row.
        k: number of neighbors.

    Returns:
        Flags, and scores: the share of the leading other class less that of the label, from -1 to 1.

    Source: the idea of self-confidence is that of Northcutt et al. (2021), section 3.

    Example:
        >>> labels = torch.tensor([0] * 30 + [1] * 30)
        >>> share = torch.eye(2)[labels]
        >>> share[0] = torch.tensor([0.0, 1.0])
        >>> likely_label_errors(share, labels, 20)[0].nonzero().tolist()
        [[0]]
    """
    n, classes = share.shape
    own = share.gather(1, labels[:, None])[:, 0]
    others = share.scatter(1, labels[:, None], -1.0)
    leading = others.amax(dim=1)
    agreement = torch.stack([_quartile(own[labels == each]) for each in range(classes)])[labels]
    count = (own * k).round().double()
    # P(Binomial(k, a) <= m) = I_{1-a}(k - m, m + 1); summed directly, k is small.
    a = agreement.double().clamp(1e-9, 1 - 1e-9)
    tail = torch.zeros(n, dtype=torch.float64)
    for m in range(k + 1):
        log_choose = math.lgamma(k + 1.0) - math.lgamma(m + 1.0) - math.lgamma(k - m + 1.0)
        term = (log_choose + m * a.log() + (k - m) * torch.log1p(-a)).exp()
        tail += term.where(count >= m, 0)
    flagged = (leading >= 0.5) & (tail <= EXPECTED_FALSE / n)
    return flagged, leading - own


def overlaps(
    predicted: Int64[Tensor, " n"], labels: Int64[Tensor, " n"], classes: int
) -> Float[Tensor, "classes classes"]:
    """Return the confusion of classes: the share of each class's rows whose neighbors vote for each class.

    Args:
        predicted: class that each row's neighbors vote for.
        labels: class of each row.
        classes: number of classes; each has a row at least.

    Example:
        >>> overlaps(torch.tensor([0, 1, 1, 1]), torch.tensor([0, 0, 1, 1]), 2).tolist()
        [[0.5, 0.5], [0.0, 1.0]]
    """
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2).view(classes, classes)
    return (counts / counts.sum(dim=1, keepdim=True).clamp(min=1)).float()


def classes_per_cluster(clusters: Int64[Tensor, " n"], labels: Int64[Tensor, " n"]) -> float:
    """Return the effective number of classes in a cluster, averaged over rows.

        sum over clusters g of  n_g / n  exp( -sum_c p(c | g) log p(c | g) )

    Args:
        clusters: cluster of each row, numbered from 0.
        labels: class of each row, numbered from 0.

    Returns:
        From 1, where each cluster has one class, to the number of classes.

    Example:
        >>> classes_per_cluster(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 1, 1]))
        1.5
    """
    classes, groups = int(labels.max()) + 1, int(clusters.max()) + 1
    counts = torch.bincount(clusters * classes + labels, minlength=groups * classes).view(groups, classes)
    sizes = counts.sum(dim=1).double()
    p = counts.double() / sizes.clamp(min=1)[:, None]
    number = torch.special.entr(p).sum(dim=1).exp()
    return float((sizes * number).sum() / sizes.sum())


def k_means(
    points: Float[Tensor, "n dim"], clusters: int, *, generator: torch.Generator, steps: int = 15
) -> Int64[Tensor, " n"]:
    """Return clusters of points by Lloyd's algorithm from random points; clusters may be empty.

    Args:
        points: n points.
        clusters: number of clusters, at most n.
        generator: source of the first centers.
        steps: number of steps.

    Example:
        >>> x = torch.tensor([[0.0], [0.1], [9.0], [9.1]])
        >>> found = k_means(x, 2, generator=torch.Generator().manual_seed(0))
        >>> bool(found[0] == found[1]), bool(found[2] == found[3])
        (True, True)
    """
    centers = points[torch.randperm(len(points), generator=generator)[:clusters]].clone()
    nearest = torch.zeros(len(points), dtype=torch.int64)
    for _ in range(steps):
        nearest = (points @ centers.T - centers.square().sum(dim=1) / 2).argmax(dim=1)
        sums = torch.zeros_like(centers).index_add_(0, nearest, points)
        counts = torch.bincount(nearest, minlength=clusters)
        filled = counts > 0
        centers[filled] = sums[filled] / counts[filled, None]
    return nearest


def _quartile(values: Tensor) -> Tensor:
    """Return the lower quartile, which a class that overlaps in part has low, and few errors leave high."""
    return values.quantile(0.25) if len(values) else torch.tensor(0.0)
