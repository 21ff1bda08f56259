"""Classifiers by inner products: with the mean of each class, or with weights that are trained."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from tammes.checks import check_integer, check_number, check_seed
from tammes.evaluation.features import LabeledFeatures, accuracy_of, check_tested

# Elements of one block of scores: 64 MiB in float32, whatever the number of points.
BLOCK = 2**24


@dataclass(frozen=True, kw_only=True)
class MeanClassifier:
    """Classifier by the inner product with the mean features of each class, without training.

        label(x) = argmax_c  f(x) . v_c,        v_c = mean of f(x) over the training points x of class c

    The features are not normalized: their lengths count. Of equal products the smaller label wins.

    Source: Ash et al. (2022), sec. 2 and appendix D.1.

    Example:
        >>> train = LabeledFeatures(features=torch.eye(3), labels=torch.tensor([0, 1, 1]))
        >>> MeanClassifier().predict(train, torch.tensor([[2.0, 1, 0], [0, 1, 1]]))
        tensor([0, 1])
    """

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """Return the fraction of test points classified correctly, from 0 to 1.

        Raises:
            ValueError: the features differ in width.
        """
        return accuracy_of(self.predict, train, test)

    @torch.no_grad()
    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """Return the predicted label of each row of `features`.

        Raises:
            ValueError: features that are of another width, NaN or infinite.
        """
        check_tested(train, features)
        classes, means = class_means(train)
        return classes[largest_products(features.to(means.dtype), means)]


def class_means(points: LabeledFeatures) -> tuple[Int[Tensor, " classes"], Float[Tensor, "classes features"]]:
    """Return the labels that occur, ascending, and the mean of the features of each.

    Example:
        >>> points = LabeledFeatures(features=torch.eye(3), labels=torch.tensor([4, 2, 4]))
        >>> class_means(points)
        (tensor([2, 4]), tensor([[0.0000, 1.0000, 0.0000],
                [0.5000, 0.0000, 0.5000]]))
    """
    classes, row_class, counts = torch.unique(points.labels, return_inverse=True, return_counts=True)
    features = points.features.detach()
    features = features if features.dtype == torch.float64 else features.float()
    sums = features.new_zeros(len(classes), features.shape[1]).index_add_(0, row_class, features)
    return classes, sums / counts[:, None]


def largest_products(
    features: Float[Tensor, "m features"], directions: Float[Tensor, "classes features"]
) -> Int[Tensor, " m"]:
    """Return the direction with the largest inner product for each row, the first among equals.

    Raises:
        ValueError: products that are too large for the type.

    Example:
        >>> largest_products(torch.tensor([[0.0, 2.0]]), torch.eye(2))
        tensor([1])
    """
    rows = max(1, BLOCK // len(directions))
    return torch.cat([_largest(block @ directions.T) for block in features.split(rows)])


def _largest(products: Float[Tensor, "m classes"]) -> Int[Tensor, " m"]:
    if not bool(products.amax(dim=1).isfinite().all()):
        raise ValueError(
            f"expected features whose inner products {products.dtype} can hold, got larger ones: divide all "
            "features by a constant"
        )
    return products.argmax(dim=1)


@dataclass(frozen=True, kw_only=True)
class LinearClassifier:
    """Linear classifier trained by Adam on the raw features, with the weights of the best epoch.

        min over W  of  -(1/n) sum_i log softmax(W^T f(x_i))[y_i]

    It has no intercept and no penalty, and does not standardize the features; `LinearProbe` does, and
    converges. The best epoch is the one with the smallest sum of losses over its batches.

    Args:
        epochs: number of passes over the training points, at least 1.
        batch_size: points per step, at least 1; the last batch of an epoch may be smaller.
        learning_rate: learning rate of Adam, above 0.
        seed: random seed of the first weights and of the order of the points.

    Raises:
        ValueError: a number out of its range.

    Source: Ash et al. (2022), appendix D.1; the defaults are those of Table 1. The paper does not name the
    batch size of this classifier; 1,000 is that of its representations.

    Example:
        >>> points = LabeledFeatures(features=torch.eye(4), labels=torch.tensor([0, 0, 1, 1]))
        >>> LinearClassifier().accuracy(points, points)
        1.0
    """

    epochs: int = 50
    batch_size: int = 1000
    learning_rate: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs)
        check_integer("batch_size", self.batch_size)
        check_number("learning_rate", self.learning_rate, above=0)
        check_seed("seed", self.seed)

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """Return the fraction of test points classified correctly, from 0 to 1.

        Raises:
            ValueError: the features differ in width.
        """
        return accuracy_of(self.predict, train, test)

    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """Return the predicted label of each row of `features`.

        Raises:
            ValueError: features that are of another width, NaN or infinite.
        """
        check_tested(train, features)
        classes, targets = torch.unique(train.labels, return_inverse=True)
        known = train.features.detach()
        known = known if known.dtype == torch.float64 else known.float()
        weight = self.weight(known, targets, len(classes))
        with torch.no_grad():
            return classes[largest_products(features.to(weight.dtype), weight)]

    def weight(
        self, features: Float[Tensor, "n features"], targets: Int[Tensor, " n"], classes: int
    ) -> Float[Tensor, "classes features"]:
        """Return W^T after the best epoch.

        Args:
            features: features of the training points.
            targets: class of each point, from 0 to classes - 1.
            classes: number of classes.
        """
        generator = torch.Generator().manual_seed(self.seed)
        # The range of torch's default for a linear layer.
        bound = features.shape[1] ** -0.5
        first = torch.empty(classes, features.shape[1], dtype=features.dtype)
        weight = first.uniform_(-bound, bound, generator=generator).to(features.device).requires_grad_()
        optimizer = torch.optim.Adam([weight], lr=self.learning_rate, fused=True)
        best, lowest = weight.detach().clone(), math.inf
        for _ in range(self.epochs):
            total = torch.zeros((), dtype=torch.float64, device=features.device)
            order = torch.randperm(len(features), generator=generator).to(features.device)
            for rows in order.split(self.batch_size):
                loss = cross_entropy(features[rows] @ weight.T, targets[rows], reduction="sum")
                total += loss.detach()
                optimizer.zero_grad()
                (loss / len(rows)).backward()
                optimizer.step()
            if float(total) < lowest:
                best, lowest = weight.detach().clone(), float(total)
        return best
