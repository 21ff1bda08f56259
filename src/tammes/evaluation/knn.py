"""Nearest neighbors: how well an image's label can be read off the images its features are most like."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from tammes.evaluation.features import LabeledFeatures, check_comparable

# Elements of one block of similarities: 64 MB in float32, whatever the number of points.
BLOCK = 2**24


@dataclass(frozen=True, kw_only=True)
class KNN:
    """Classify by the k most similar training points, similarity s being the cosine.

        label(x) = argmax_c  sum over neighbors j of x with label c of  v_j,

    where v_j = 1 (the plain majority), or v_j = exp(s_j / temperature).

    Exact, in memory linear in the number of points. Ties are broken in the same way every time: of equally
    similar points the earlier is the neighbor; of classes with equal votes the one whose neighbors are
    more similar in sum wins, then the one with the smaller label. A feature vector of length zero has
    similarity 0 with everything.

    Raises:
        ValueError: If there is no neighbor, or a temperature that is not positive.

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
    """How many training points vote."""

    temperature: float | None = None
    """Weighs each vote by exp(similarity / temperature), 0.07 being usual; left out, votes are equal."""

    def __post_init__(self) -> None:
        if self.neighbors < 1:
            raise ValueError(f"expected at least one neighbor, got neighbors={self.neighbors}")
        if self.temperature is not None and not self.temperature > 0:
            raise ValueError(f"expected a positive temperature, got {self.temperature}")

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """The fraction of the test points, from 0 to 1, that get their label.

        Raises:
            ValueError: If there are more neighbors than training points, or the features differ in width.
        """
        check_comparable(train, test)
        predicted = self.predict(train, test.features)
        return float((predicted == test.labels).to(torch.float64).mean())

    @torch.no_grad()
    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """The label of each row of `features` (m, features), as (m,).

        Raises:
            ValueError: If there are more neighbors than training points.
        """
        n = len(train)
        if self.neighbors > n:
            raise ValueError(
                f"expected at most as many neighbors as training points, got neighbors={self.neighbors} "
                f"and {n} points; ask for fewer neighbors"
            )
        classes, labels = torch.unique(train.labels, return_inverse=True)
        references = _directions(train.features)
        queries = _directions(features)
        rows = max(1, BLOCK // n)
        votes = [self._vote(block @ references.T, labels, len(classes)) for block in queries.split(rows)]
        return classes[torch.cat(votes)]

    def _vote(
        self, similarity: Float[Tensor, "rows n"], labels: Int[Tensor, " n"], classes: int
    ) -> Int[Tensor, " rows"]:
        """The winning class of each row of similarities (rows, n), as (rows,)."""
        nearest = nearest_columns(similarity, self.neighbors)
        s = similarity.gather(1, nearest)
        neighbor_classes = labels[nearest]  # (rows, neighbors)
        if self.temperature is None:
            v = torch.ones_like(s)
        else:
            # Votes count relative to each other: the largest is 1, and none overflows.
            v = ((s - s.amax(dim=1, keepdim=True)) / self.temperature).exp()
        nothing = s.new_zeros(len(s), classes)
        votes = nothing.scatter_add(1, neighbor_classes, v)
        closeness = nothing.scatter_add(1, neighbor_classes, s)
        leading = votes == votes.amax(dim=1, keepdim=True)
        return closeness.where(leading, -torch.inf).argmax(dim=1)


def knn_accuracy(
    train_features: Tensor | NDArray[np.floating],
    train_labels: Tensor | NDArray[np.integer],
    test_features: Tensor | NDArray[np.floating],
    test_labels: Tensor | NDArray[np.integer],
    knn: KNN = KNN(),
) -> float:
    """The fraction of test points that their nearest training points classify rightly.

    Args:
        train_features: (n, features), tensor or array; the points that vote.
        train_labels: integers (n,).
        test_features: (m, features); the points that are classified.
        test_labels: integers (m,).
        knn: how many vote, and how.

    Raises:
        ValueError: As `LabeledFeatures` and `KNN` do.

    Example:
        >>> knn_accuracy(np.eye(3), np.array([0, 1, 1]), np.eye(3), np.array([0, 1, 0]), KNN(neighbors=1))
        0.6666666666666666
    """
    train = LabeledFeatures.of(train_features, train_labels)
    return knn.accuracy(train, LabeledFeatures.of(test_features, test_labels))


def nearest_columns(similarity: Float[Tensor, "rows columns"], k: int) -> Int[Tensor, "rows k"]:
    """The k columns of greatest similarity in each row, earlier columns first among equals.

    `torch.topk` leaves open which of equal values it takes.

    Args:
        similarity: (rows, columns), finite.
        k: how many, at most the number of columns.

    Returns:
        Column numbers (rows, k), ascending in each row.

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
    similarity: Float[Tensor, "rows columns"], least: Float[Tensor, "rows 1"], k: int
) -> Int[Tensor, "rows k"]:
    """All columns above the k-th greatest value of their row, and of those that equal it the first."""
    above, level = similarity > least, similarity == least
    room = k - above.sum(dim=1, keepdim=True)
    chosen = above | (level & (level.cumsum(dim=1) <= room))
    return chosen.nonzero()[:, 1].view(-1, k)  # nonzero goes row by row: (rows * k, 2) -> (rows, k)


def _directions(features: Float[Tensor, "n features"]) -> Float[Tensor, "n features"]:
    """Unit vectors, in float32 at least."""
    if features.dtype in (torch.float16, torch.bfloat16):
        features = features.float()
    # Scaled first, so that the squares of very large or small features neither overflow nor vanish.
    largest = features.abs().amax(dim=1, keepdim=True)
    return F.normalize(features / largest.where(largest > 0, 1), dim=1)
