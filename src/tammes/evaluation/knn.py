"""The nearest-neighbor classifier, with the cosine as similarity."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_integer, check_number
from tammes.evaluation.features import LabeledFeatures, check_comparable, check_tested
from tammes.products import product

# Elements of one block of similarities: 64 MiB in float32, whatever the number of points.
BLOCK = 2**24


@dataclass(frozen=True, kw_only=True)
class KNN:
    """Classifier by the k most similar training points, with the cosine s as similarity.

        label(x) = argmax_c  sum over neighbors j of x with label c of  v_j,

    with v_j = 1 (majority vote) or v_j = exp(s_j / temperature).

    The search is exact, in memory linear in the number of points, and breaks ties deterministically. Of
    equally similar points the earlier is the neighbor. Of classes with equal votes the one with the larger
    sum of similarities wins, then the one with the smaller label. A feature vector of length zero has
    similarity 0 to all others.

    Raises:
        ValueError: no neighbor, or a temperature that is not positive.

    Source: the weighted vote is that of Wu et al., Unsupervised Feature Learning via Non-Parametric
    Instance Discrimination, 2018, section 3.4.

    Example:
        >>> train = LabeledFeatures(features=torch.eye(3), labels=torch.tensor([0, 1, 1]))
        >>> features = torch.tensor([[2.0, 1, 0], [0, 1, 1]])
        >>> test = LabeledFeatures(features=features, labels=torch.tensor([0, 1]))
        >>> KNN(neighbors=1).accuracy(train, test)
        1.0
    """

    neighbors: int = 20
    """Number of training points that vote, at least 1."""

    temperature: float | None = None
    """Temperature of the votes exp(similarity / temperature), usually 0.07; None gives equal votes."""

    def __post_init__(self) -> None:
        check_integer("neighbors", self.neighbors)
        if self.temperature is not None:
            check_number("temperature", self.temperature, above=0)

    def check_points(self, count: int) -> None:
        """Raise ValueError for more neighbors than training points."""
        if self.neighbors > count:
            raise ValueError(
                f"neighbors must be at most the number of training points, got {self.neighbors} neighbors "
                f"and {count} points; choose fewer"
            )

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """Return the fraction of test points classified correctly, from 0 to 1.

        Raises:
            ValueError: more neighbors than training points, or features that differ in width.
        """
        check_comparable(train, test)
        predicted = self.predict(train, test.features)
        return float((predicted == test.labels).to(torch.float64).mean())

    @torch.no_grad()
    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """Return the predicted label of each row of `features`.

        Raises:
            ValueError: more neighbors than training points, or features that are of another width, NaN or
                infinite.
        """
        n = len(train)
        self.check_points(n)
        check_tested(train, features)
        classes, labels = torch.unique(train.labels, return_inverse=True)
        references = _directions(train.features)
        queries = _directions(features).to(references.dtype)
        rows = max(1, BLOCK // n)
        votes = [
            self._vote(product(block, references.T), labels, len(classes)) for block in queries.split(rows)
        ]
        return classes[torch.cat(votes)]

    def _vote(
        self, similarity: Float[Tensor, "rows n"], labels: Int[Tensor, " n"], classes: int
    ) -> Int[Tensor, " rows"]:
        """Return the winning class of each row of similarities."""
        nearest = nearest_columns(similarity, self.neighbors)
        s = similarity.gather(1, nearest)
        neighbor_classes = labels[nearest]  # (rows, neighbors)
        if self.temperature is None:
            v = torch.ones_like(s)
        else:
            # Only ratios of votes matter: with the largest at 1, none overflows.
            # In float64, since a temperature below float32's smallest number would be 0 there, and 0 / 0 NaN.
            v = ((s - s.amax(dim=1, keepdim=True)).double() / self.temperature).exp().to(s.dtype)
        nothing = s.new_zeros(len(s), classes)
        votes = nothing.scatter_add(1, neighbor_classes, v)
        closeness = nothing.scatter_add(1, neighbor_classes, s)
        leading = votes == votes.amax(dim=1, keepdim=True)
        return closeness.where(leading, -torch.inf).argmax(dim=1)


def usual_knn(points: int) -> KNN:
    """Return the majority vote of 20 neighbors, or of all training points if these are fewer.

    Example:
        >>> usual_knn(1000).neighbors, usual_knn(12).neighbors
        (20, 12)
    """
    return KNN(neighbors=min(KNN().neighbors, points))


def knn_accuracy(
    train_features: Tensor | NDArray[np.floating],
    train_labels: Tensor | NDArray[np.integer],
    test_features: Tensor | NDArray[np.floating],
    test_labels: Tensor | NDArray[np.integer],
    knn: KNN = KNN(),
) -> float:
    """Return the fraction of test points that their nearest training points classify correctly.

    Args:
        train_features: features of the training points, (n, features), which vote.
        train_labels: integer labels (n,).
        test_features: features of the test points, (m, features).
        test_labels: integer labels (m,).
        knn: classifier.

    Raises:
        ValueError: input that `LabeledFeatures` or `KNN` refuses.

    Example:
        >>> knn_accuracy(np.eye(3), np.array([0, 1, 1]), np.eye(3), np.array([0, 1, 0]), KNN(neighbors=1))
        0.6666666666666666
    """
    train = LabeledFeatures.of(train_features, train_labels)
    return knn.accuracy(train, LabeledFeatures.of(test_features, test_labels))


def nearest_columns(similarity: Float[Tensor, "rows columns"], k: int) -> Int[Tensor, "rows k"]:
    """Return the k columns of largest similarity in each row, earlier columns first among equals.

    `torch.topk` does not specify which of equal values it returns.

    Args:
        similarity: finite similarities.
        k: number of columns to return, at most all of them.

    Returns:
        Column numbers, ascending in each row.

    Example:
        >>> nearest_columns(torch.tensor([[0.5, 0.9, 0.5, 0.5]]), k=2)
        tensor([[0, 1]])
    """
    columns = similarity.shape[1]
    values, nearest = similarity.topk(min(k + 1, columns), dim=1)
    if k == columns:
        return nearest.sort(dim=1).values
    nearest = nearest[:, :k].sort(dim=1).values
    tied = values[:, k - 1] == values[:, k]
    if tied.any():
        nearest[tied] = _earlier_first(similarity[tied], values[tied, k - 1, None], k)
    return nearest


def _earlier_first(
    similarity: Float[Tensor, "rows columns"], kth: Float[Tensor, "rows 1"], k: int
) -> Int[Tensor, "rows k"]:
    """Return the columns above the k-th largest value of their row, and the first of those equal to it."""
    above, level = similarity > kth, similarity == kth
    room = k - above.sum(dim=1, keepdim=True)
    chosen = above | (level & (level.cumsum(dim=1) <= room))
    return chosen.nonzero()[:, 1].view(-1, k)  # nonzero goes row by row: (rows * k, 2) -> (rows, k)


def _directions(features: Float[Tensor, "n features"]) -> Float[Tensor, "n features"]:
    """Return unit vectors in float32 or float64."""
    if features.dtype in (torch.float16, torch.bfloat16):
        features = features.float()
    # By the largest entry first, so that the squares of extreme features neither overflow nor underflow.
    largest = features.abs().amax(dim=1, keepdim=True)
    return F.normalize(features / largest.where(largest > 0, 1), dim=1)
