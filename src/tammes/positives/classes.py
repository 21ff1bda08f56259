"""The classes between which active positives look for a boundary: those of labels, or clusters."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn
from torch import Tensor

from tammes.positives.boundary import Boundary, on_sphere
from tammes.positives.numbered import expect_numbered


class Classes(ABC):
    """Classes of rows, and a linear classifier of them on the present embedding."""

    @abstractmethod
    def count(self, labels: Int64[Tensor, " n"] | None, *, rows: int) -> int:
        """How many classes there are among so many rows.

        Args:
            labels: int64 (n,), where there are any.
            rows: how many rows the classifier learns from.

        Raises:
            ValueError: where there cannot be such classes.
        """

    @abstractmethod
    def sample(self, labels: Int64[Tensor, " n"] | None, *, n: int, rows: int, seed: int) -> Tensor:
        """The rows, int64 (at most `rows`,), out of n that the classifier learns from."""

    @abstractmethod
    def boundary(
        self, embeddings: Float[Tensor, "rows dim"], labels: Int64[Tensor, " rows"] | None, *, seed: int
    ) -> Boundary:
        """The boundary of a classifier of these embeddings.

        Args:
            embeddings: (rows, dim), on the CPU.
            labels: int64 (rows,), or None.
            seed: of what is drawn.

        Raises:
            ValueError: For embeddings that are not finite, and labels below 0.
        """


@dataclass(frozen=True, kw_only=True)
class Labels(Classes):
    """The classes of the labels, told apart by logistic regression without intercept, q(z) = W z.

    The rows it learns from are drawn class by class, so that each class is among them. Labels count from 0;
    one below, such as -1 for rows without a label, is refused and not taken for a class.

    Source: Weber and Bachman (2022), sec. III.A.1.

    Example:
        >>> points = torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
        >>> boundary = Labels().boundary(points, torch.tensor([0, 0, 1, 1]), seed=0)
        >>> boundary.distance(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).round(decimals=3)
        tensor([0., 1.])
    """

    def count(self, labels: Int64[Tensor, " n"] | None, *, rows: int) -> int:
        if labels is None:
            raise ValueError(
                "active positives were to find the boundary between classes of labels, but there are no "
                "labels: give them, or take classes=Clusters(number=...) (positives.classes:clusters)"
            )
        expect_numbered(labels)
        number = len(labels.unique())
        if number < 2:
            raise ValueError("a boundary needs two classes, but all labels are the same")
        if number > rows:
            raise ValueError(
                f"the classifier needs a row of each of {number} classes, got sample={rows}: choose a larger "
                "one (--positives.sample)"
            )
        return number

    def sample(self, labels: Int64[Tensor, " n"] | None, *, n: int, rows: int, seed: int) -> Tensor:
        assert labels is not None
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
        by_class = order[labels[order].argsort(stable=True)]
        sizes = labels.unique(return_counts=True)[1]
        place = torch.arange(n) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
        return by_class[place.argsort(stable=True)][:rows]  # the first of each class, then the second ...

    def boundary(
        self, embeddings: Float[Tensor, "rows dim"], labels: Int64[Tensor, " rows"] | None, *, seed: int
    ) -> Boundary:
        assert labels is not None
        expect_numbered(labels)
        z = _finite(embeddings)
        classifier = LogisticRegression(fit_intercept=False, max_iter=300, tol=1e-3)
        with threadpool_limits(1), warnings.catch_warnings():
            # A boundary that is nearly the best one serves as well: a new one comes soon.
            warnings.simplefilter("ignore", ConvergenceWarning)
            classifier.fit(z.double().numpy(), labels.numpy())
        weight = torch.from_numpy(classifier.coef_).to(z.dtype)
        if len(weight) == 1:  # of two classes scikit-learn gives the difference
            weight = torch.cat([torch.zeros_like(weight), weight])
        return Boundary(weight=weight, offset=weight.new_zeros(len(weight)))


@dataclass(frozen=True, kw_only=True)
class Clusters(Classes):
    """Clusters of the embedding by k-means, for rows without labels; a row is of the nearest center.

    Args:
        number: of clusters.

    Raises:
        ValueError: For fewer than two.

    Example:
        >>> points = torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]])
        >>> boundary = Clusters(number=2).boundary(points, None, seed=0)
        >>> boundary.distance(torch.tensor([[0.0, 1.0]])).round(decimals=3)
        tensor([0.])
    """

    number: int = 10

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int) or self.number < 2:
            raise ValueError(
                f"a boundary needs two clusters or more, as a whole number, got number={self.number!r} "
                "(--positives.classes.number)"
            )

    def count(self, labels: Int64[Tensor, " n"] | None, *, rows: int) -> int:
        if self.number > rows:
            raise ValueError(
                f"{rows} images cannot make {self.number} clusters: choose fewer "
                "(--positives.classes.number), or let the classifier learn from more (--positives.sample)"
            )
        return self.number

    def sample(self, labels: Int64[Tensor, " n"] | None, *, n: int, rows: int, seed: int) -> Tensor:
        return torch.randperm(n, generator=torch.Generator().manual_seed(seed))[:rows]

    def boundary(
        self, embeddings: Float[Tensor, "rows dim"], labels: Int64[Tensor, " rows"] | None, *, seed: int
    ) -> Boundary:
        z = _finite(embeddings)
        clusters = KMeans(self.number, n_init=1, random_state=seed % 2**32)
        # On one thread: on several the centers are summed in an order that changes from run to run.
        with threadpool_limits(1), warnings.catch_warnings():
            # Fewer distinct embeddings than clusters: centers fall together, and nothing lies between them.
            warnings.simplefilter("ignore", ConvergenceWarning)
            clusters.fit(z.numpy())
        return Boundary.between(torch.from_numpy(clusters.cluster_centers_).to(z.dtype))


def _finite(embeddings: Tensor) -> Tensor:
    z = on_sphere(embeddings)
    if not torch.isfinite(z).all():
        raise ValueError(
            "the classifier of active positives got embeddings that are NaN or infinite: lower the learning "
            "rate, raise the temperature, or look for odd data"
        )
    return z
