"""The classes between which active positives look for a boundary: those of labels, or clusters.

The functions that need scikit-learn import it: their settings need none.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn
from torch import Tensor

from tammes.checks import check_integer
from tammes.positives.boundary import Boundary, on_sphere
from tammes.positives.same_class import check_class_numbers, shuffled_by_class


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Classes of the labels, separated by logistic regression without intercept, q(z) = W z.

    The sample that the classifier learns from is drawn class by class, so that each class is in it. Labels
    count from 0; a negative one, such as -1 for rows without a label, raises an error.

    Source: Weber and Bachman (2022), sec. III.A.1.

    Example:
        >>> points = torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
        >>> boundary = Labels().boundary(points, torch.tensor([0, 0, 1, 1]), seed=0)
        >>> boundary.distance(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).round(decimals=3)
        tensor([0., 1.])
    """

    def count(self, labels: Int64[Tensor, " n"] | None, *, rows: int) -> int:
        """Return the number of classes.

        Args:
            labels: class of each row of the data, or None.
            rows: number of rows that the classifier learns from.

        Raises:
            ValueError: no labels, a negative one, a single class, or more classes than rows.
        """
        if labels is None:
            raise ValueError(
                "classes=Labels() finds the boundary between classes of labels, and the data have none: "
                "give labels, or choose classes=Clusters(number=...)"
            )
        check_class_numbers(labels)
        number = len(labels.unique())
        if number < 2:
            raise ValueError("a boundary needs two classes, but all labels are the same")
        if number > rows:
            raise ValueError(f"sample must be at least {number}, one row of each class of labels, got {rows}")
        return number

    def sample(
        self, labels: Int64[Tensor, " n"] | None, *, n: int, rows: int, seed: int
    ) -> Int64[Tensor, " sampled"]:
        """Draw the rows that the classifier learns from, at most `rows` of n, equally many of each class."""
        assert labels is not None
        order, place, _ = shuffled_by_class(labels, torch.Generator().manual_seed(seed))
        return order[place.argsort(stable=True)][:rows]  # the first of each class, then the second ...

    def boundary(
        self, embeddings: Float[Tensor, "rows dim"], labels: Int64[Tensor, " rows"] | None, *, seed: int
    ) -> Boundary:
        """Fit the classifier, and return its boundary.

        Args:
            embeddings: embeddings of the sample, on the CPU.
            labels: class of each row of the sample.
            seed: unused: the fit draws nothing.

        Raises:
            ValueError: embeddings that are not finite, or a negative label.
        """
        assert labels is not None
        check_class_numbers(labels)
        from sklearn.linear_model import LogisticRegression

        z = _finite(embeddings)
        classifier = LogisticRegression(fit_intercept=False, max_iter=300, tol=1e-3)
        _fit(classifier, z.double(), labels)
        weight = torch.from_numpy(classifier.coef_).to(z.dtype)
        if len(weight) == 1:  # for two classes scikit-learn returns the difference of their weights
            weight = torch.cat([torch.zeros_like(weight), weight])
        return Boundary(weight=weight, offset=weight.new_zeros(len(weight)))


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Clusters of the embedding by k-means, for data without labels; a row has the class of its center.

    Args:
        number: number of clusters, at least 2.

    Raises:
        ValueError: fewer than two clusters.

    Example:
        >>> points = torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
        >>> boundary = Clusters(number=2).boundary(points, None, seed=0)
        >>> boundary.distance(torch.tensor([[0.0, 1.0]])).round(decimals=3)
        tensor([0.])
    """

    number: int = 10

    def __post_init__(self) -> None:
        check_integer("number", self.number, minimum=2, reason="a boundary needs two clusters")

    def count(self, labels: Int64[Tensor, " n"] | None, *, rows: int) -> int:
        """Return the number of clusters.

        Raises:
            ValueError: more clusters than rows to learn from.
        """
        if self.number > rows:
            raise ValueError(
                f"number must be at most the {rows} rows that the classifier learns from, got {self.number}: "
                "choose fewer clusters, or raise sample where there are more data"
            )
        return self.number

    def sample(
        self, labels: Int64[Tensor, " n"] | None, *, n: int, rows: int, seed: int
    ) -> Int64[Tensor, " sampled"]:
        """Draw the rows that the classifier learns from, at most `rows` of n."""
        return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:rows]

    def boundary(
        self, embeddings: Float[Tensor, "rows dim"], labels: Int64[Tensor, " rows"] | None, *, seed: int
    ) -> Boundary:
        """Find the clusters, and return the boundary between them.

        Args:
            embeddings: embeddings of the sample, on the CPU.
            labels: unused.
            seed: random seed of the first centers.

        Raises:
            ValueError: embeddings that are not finite.
        """
        from sklearn.cluster import KMeans

        z = _finite(embeddings)
        clusters = KMeans(self.number, n_init=1, random_state=seed % 2**32)
        _fit(clusters, z)
        return Boundary.between(torch.from_numpy(clusters.cluster_centers_).to(z.dtype))


def _fit(model: Any, z: Tensor, labels: Tensor | None = None) -> None:
    """Fit a classifier or a clustering of scikit-learn."""
    from sklearn.exceptions import ConvergenceWarning

    # One thread, since several would sum the centers in an order that changes from run to run. No warnings: a
    # nearly optimal boundary serves until the next round, and centers of coinciding embeddings coincide.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(z.numpy(), None if labels is None else labels.numpy())


def _finite(embeddings: Tensor) -> Tensor:
    z = on_sphere(embeddings)
    if not torch.isfinite(z).all():
        raise ValueError(
            "the classifier of active positives got embeddings that are NaN or infinite: lower the learning "
            "rate, raise the temperature, or look for outliers in the data"
        )
    return z
