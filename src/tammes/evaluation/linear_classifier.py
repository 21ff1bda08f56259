"""The trained linear classifier of the study of negatives: logistic loss, Adam, small batches."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from tammes.evaluation.features import LabeledFeatures, check_comparable
from tammes.evaluation.mean_classifier import largest_products


@dataclass(frozen=True, kw_only=True)
class LinearClassifier:
    """A linear map of the features as they are, trained for some epochs; the best epoch's is kept.

        min over W  of  -(1/n) sum_i log softmax(W^T f(x_i))[y_i]

    There is no intercept and no penalty, and nothing is standardized: `LinearProbe` is the classifier for
    that, fitted until it converges. Best is the epoch with the smallest sum of losses over its batches.

    Args:
        epochs: how often every training point is visited.
        batch_size: points per step; the last batch of an epoch may be smaller.
        learning_rate: of Adam.
        seed: of the first weights and of the order of the points.

    Raises:
        ValueError: If a number is not positive.

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
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError(f"expected at least one epoch and a batch of at least one point, got {self}")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"expected a positive learning rate, got {self.learning_rate}")

    def accuracy(self, train: LabeledFeatures, test: LabeledFeatures) -> float:
        """The fraction of the test points, from 0 to 1, that get their label.

        Raises:
            ValueError: If the features differ in width.
        """
        check_comparable(train, test)
        return float((self.predict(train, test.features) == test.labels).to(torch.float64).mean())

    def predict(self, train: LabeledFeatures, features: Float[Tensor, "m features"]) -> Int[Tensor, " m"]:
        """The label of each row of `features` (m, features), as (m,)."""
        classes, targets = torch.unique(train.labels, return_inverse=True)
        known = train.features.detach()
        known = known if known.dtype == torch.float64 else known.float()
        weight = self.weight(known, targets, len(classes))
        with torch.no_grad():
            return classes[largest_products(features.to(weight.dtype), weight)]

    def weight(
        self, features: Float[Tensor, "n features"], targets: Int[Tensor, " n"], classes: int
    ) -> Float[Tensor, "classes features"]:
        """W^T, (classes, features), after the best epoch.

        Args:
            features: (n, features).
            targets: (n,), from 0 to classes - 1.
            classes: how many there are.
        """
        generator = torch.Generator().manual_seed(self.seed)
        # torch's default for a linear layer.
        bound = features.shape[1] ** -0.5
        first = torch.empty(classes, features.shape[1], dtype=features.dtype)
        weight = first.uniform_(-bound, bound, generator=generator).to(features.device).requires_grad_()
        optimizer = torch.optim.Adam([weight], lr=self.learning_rate, fused=True)
        best, least = weight.detach().clone(), math.inf
        for _ in range(self.epochs):
            total = torch.zeros((), dtype=torch.float64, device=features.device)
            order = torch.randperm(len(features), generator=generator).to(features.device)
            for rows in order.split(self.batch_size):
                loss = cross_entropy(features[rows] @ weight.T, targets[rows], reduction="sum")
                total += loss.detach()
                optimizer.zero_grad()
                (loss / len(rows)).backward()
                optimizer.step()
            if float(total) < least:
                best, least = weight.detach().clone(), float(total)
        return best
