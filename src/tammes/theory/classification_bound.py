"""The bound on a classifier's margin loss by the contrastive loss of its representation."""

import math
from dataclasses import dataclass

from tammes.checks import check_integer, check_number


@dataclass(frozen=True, kw_only=True)
class ClassificationBound:
    """Bound on the margin loss of the mean classifier by the unsupervised loss of a representation.

        L_class(f)  <=  ( L_un - c  +  4 L_alpha R  +  sqrt( log(1/delta) / (2 n) ) ) / (1 - c) ,

    with c the probability that a negative is false, and R the Rademacher complexity. A margin loss is at
    most 1: from 1 on the bound is vacuous, and for c = 1 it is infinite.

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
        unsupervised_loss: loss L_un, at least 0, with A.13 for the printed bounds and the convex loss for
            `corrected`.
        collision: probability rho that one negative has the anchor's class.
        negatives: number m of negatives of an anchor, at least 1.
        margin: margin gamma in the reconstructed space, above 0.
        alpha: probability that a class is not recovered, below 1/2.
        complexity: Rademacher complexity R, the mean over signs of the largest (1/n) <sigma, f>; A.16 leaves
            1/n out.
        samples: number n of anchors, at least 1.
        delta: probability that the bound fails, above 0 and below 1.

    Raises:
        ValueError: a number out of its range.

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
        check_number("unsupervised_loss", self.unsupervised_loss, minimum=0)
        check_number("complexity", self.complexity, minimum=0)
        check_number("collision", self.collision, minimum=0, maximum=1)
        check_number("margin", self.margin, above=0)
        check_number("alpha", self.alpha, minimum=0, below=0.5)
        check_number("delta", self.delta, above=0, below=1)

    @property
    def printed(self) -> float:
        """Bound of Theorem A.3, with c = m rho; infinite from c = 1 on."""
        return self._bound(self.negatives * self.collision, self._printed_lipschitz, 1.0)

    @property
    def main_text(self) -> float:
        """Bound of Theorem 3.1, with c = rho; infinite for c = 1."""
        return self._bound(self.collision, self._printed_lipschitz, 1.0)

    @property
    def corrected(self) -> float:
        """Bound that the proof gives for the convex loss, with c = 1 - (1 - rho)^m; infinite for c = 1."""
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
