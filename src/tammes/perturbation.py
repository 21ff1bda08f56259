"""Perturbations: logits moved against the encoder, so that it must use more than one feature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from tammes.checks import is_finite


class Perturbation(ABC):
    """A shift of all logits, and how the perturbed loss joins the plain one."""

    @abstractmethod
    def shift(self, norms: Tensor | float, temperature: float) -> Tensor | float:
        """In logits: negatives rise by it, positives fall by it. `norms` are the anchors' lengths."""

    @abstractmethod
    def combine(self, plain: Tensor, perturbed: Tensor) -> Tensor:
        """One loss from the two."""


@dataclass(frozen=True, kw_only=True)
class FeatureModification(Perturbation):
    """(L + alpha L_epsilon) / (1 + alpha), L_epsilon the worst loss in an epsilon-ball about each embedding.

    The worst case moves positives along minus the anchor and negatives along it, so that
    l+ becomes l+ - epsilon |v| / t and l_j becomes l_j + epsilon |v| / t, with |v| = 1 on the sphere.
    The coupling's weights are those of the unmoved embeddings; the moved negatives are what a correction
    then corrects.

    Args:
        epsilon: radius of the ball, in similarity; at least 0.
        alpha: weight of the perturbed loss; at least 0.

    Raises:
        ValueError: a field below zero or not finite.

    Source: Robinson (2023), Definition 2, Lemma 4 and
    eq. 4.2. Differs: the text divides by 2 whatever alpha; at its alpha = 1 that is the same.

    Example:
        >>> FeatureModification(epsilon=0.1).shift(1.0, temperature=0.5)
        0.2
    """

    epsilon: float
    alpha: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("alpha", self.alpha)):
            if not (is_finite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0, got {value}")

    def shift(self, norms: Tensor | float, temperature: float) -> Tensor | float:
        """See `Perturbation.shift`."""
        return self.epsilon * norms / temperature

    def combine(self, plain: Tensor, perturbed: Tensor) -> Tensor:
        """See `Perturbation.combine`."""
        return (plain + self.alpha * perturbed) / (1 + self.alpha)
