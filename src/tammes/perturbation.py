"""Perturbations: adversarial shifts of the logits, so that the encoder must use more than one feature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number


class Perturbation(ABC):
    """Shift of all logits, and the combination of the perturbed loss with the plain one."""

    @abstractmethod
    def shift(self, lengths: Tensor | float, temperature: float) -> Tensor | float:
        """Return the shift in logits, by which negatives rise and positives fall.

        Args:
            lengths: `(n,)` lengths of the anchors; 1 for unit vectors.
            temperature: l = s / temperature.
        """

    @abstractmethod
    def combine(self, plain: Tensor, perturbed: Tensor) -> Tensor:
        """Return `(n,)` one loss from the plain and the perturbed one."""


@dataclass(frozen=True, kw_only=True)
class FeatureModification(Perturbation):
    """(L + alpha L_epsilon) / (1 + alpha), L_epsilon the worst loss in an epsilon-ball about each embedding.

    The worst case moves positives along minus the anchor and negatives along it, so that
    l+ becomes l+ - epsilon |v| / t and l_j becomes l_j + epsilon |v| / t, with |v| = 1 on the sphere.
    The coupling's weights are those of the unmoved embeddings; a correction acts on the moved negatives.

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
        check_number("epsilon", self.epsilon, minimum=0)
        check_number("alpha", self.alpha, minimum=0)

    @override
    def shift(self, lengths: Tensor | float, temperature: float) -> Tensor | float:
        return self.epsilon * lengths / temperature

    @override
    def combine(self, plain: Tensor, perturbed: Tensor) -> Tensor:
        # As a share of two losses: alpha times a large one would overflow.
        return plain.lerp(perturbed, self.alpha / (1 + self.alpha))
