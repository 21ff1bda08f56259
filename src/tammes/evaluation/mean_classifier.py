"""The mean classifier, which compares a point with the means of the classes."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.evaluation.features import LabeledFeatures, check_comparable

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
        check_comparable(train, test)
        return float((self.predict(train, test.features) == test.labels).to(torch.float64).mean())

    @torch.no_grad()
    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """Return the predicted label of each row of `features`."""
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

    Example:
        >>> largest_products(torch.tensor([[0.0, 2.0]]), torch.eye(2))
        tensor([1])
    """
    rows = max(1, BLOCK // len(directions))
    return torch.cat([(block @ directions.T).argmax(dim=1) for block in features.split(rows)])
