"""The bound on a classifier's margin loss by the contrastive loss of its representation, as a number."""

import math
from dataclasses import dataclass

from tammes.checks import check_integer


@dataclass(frozen=True, kw_only=True)
class ClassificationBound:
    """What bounds the margin loss of the classes' means by the unsupervised loss of a representation.

        L_class(f)  <=  ( L_un - c  +  4 L_alpha R  +  sqrt( log(1/delta) / (2 n) ) ) / (1 - c) ,

    with c the probability that a negative is false, and R the Rademacher complexity. A margin loss is at
    most 1: from 1 on the bound says nothing, and where c reaches 1 it is infinite.

    Differs: `printed` is the supplement's, with c = m rho; `main_text` has c = rho, which is the former for
    m = 1. Neither holds. The proof replaces expectations by means within the loss A.13, which is not convex:
    where images of a class differ, a false negative costs 1/2, not 1, and L_un falls below c, so that the
    bound is negative (`tests/theory/test_theory_classification_bound.py` has such a representation). What
    the proof gives is `corrected`: L_un with the convex max(0, 1 - v/gamma), which is at least A.13; c the
    probability that at least one of m negatives is false, since m rho is larger and the bound falls with c;
    L_alpha = 2 / (gamma (1 - 2 alpha)), as in Natarajan et al. (2013), where the paper multiplies, and noise
    would help; and the last term times the largest value of the loss, 1 + 2 / gamma for unit vectors. Even
    so L_class is against the classes that the negatives of an anchor happen to have: all others for two
    classes, else only some of them.

    Args:
        unsupervised_loss: L_un, with A.13 for what is printed, with the convex loss for `corrected`.
        collision: rho, the probability that one negative has the anchor's class.
        negatives: m, of an anchor.
        margin: gamma, in the reconstructed space.
        alpha: the probability that a class is not recovered, below 1/2.
        complexity: R, the mean over signs of the largest (1/n) <sigma, f>; A.16 leaves 1/n out.
        samples: n, anchors.
        delta: the bound holds with probability 1 - delta.

    Raises:
        ValueError: For a number outside its range.

    Source: Weber and Bachman (2022), Theorems 3.1 and A.3.

    Example:
        >>> bound = ClassificationBound(
        ...     unsupervised_loss=0.5, collision=0.1, negatives=4, margin=0.5, samples=10_000)
        >>> round(bound.printed, 3), round(bound.main_text, 3), round(bound.corrected, 3)
        (0.187, 0.458, 0.331)
    """

    unsupervised_loss: float
    collision: float
    negatives: int = 1
    margin: float
    alpha: float = 0.0
    complexity: float = 0.0
    samples: int
    delta: float = 0.05

    def __post_init__(self) -> None:
        check_integer("negatives", self.negatives)
        check_integer("samples", self.samples)
        for name, value in (("unsupervised_loss", self.unsupervised_loss), ("complexity", self.complexity)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a number of 0 or more, got {value}")
        if not 0 <= self.collision <= 1:
            raise ValueError(f"collision must be a probability from 0 to 1, got {self.collision}")
        if not (math.isfinite(self.margin) and self.margin > 0):
            raise ValueError(f"margin must be a positive number, got {self.margin}")
        if not 0 <= self.alpha < 0.5:
            raise ValueError(f"alpha must be from 0 to below 1/2, got {self.alpha}")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must be above 0 and below 1, got {self.delta}")

    @property
    def printed(self) -> float:
        """As Theorem A.3 has it, c = m rho; infinite where that is 1 or more."""
        return self._bound(self.negatives * self.collision, self._printed_lipschitz, 1.0)

    @property
    def main_text(self) -> float:
        """As Theorem 3.1 has it, c = rho; infinite where that is 1."""
        return self._bound(self.collision, self._printed_lipschitz, 1.0)

    @property
    def corrected(self) -> float:
        """What the proof gives for the convex loss, c = 1 - (1 - rho)^m; infinite where that is 1."""
        if self.collision == 1:
            return math.inf
        lipschitz = 2 / (self.margin * (1 - 2 * self.alpha))
        collision = -math.expm1(self.negatives * math.log1p(-self.collision))
        return self._bound(collision, lipschitz, 1 + 2 / self.margin)

    @property
    def _printed_lipschitz(self) -> float:
        return 2 / self.margin * (1 - 2 * self.alpha)

    def _bound(self, collision: float, lipschitz: float, largest: float) -> float:
        if collision >= 1:
            return math.inf
        chance = largest * math.sqrt(math.log(1 / self.delta) / (2 * self.samples))
        excess = self.unsupervised_loss - collision + 4 * lipschitz * self.complexity + chance
        return excess / (1 - collision)
