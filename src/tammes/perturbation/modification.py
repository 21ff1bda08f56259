"""Implicit feature modification: the worst case of embeddings that move against the anchor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.perturbation.forms import ModificationForm, Shifted
from tammes.perturbation.perturbation import Perturbation
from tammes.reduce import Displacement


@dataclass(frozen=True, kw_only=True)
class FeatureModification(Perturbation):
    """(L + alpha L_epsilon) / (1 + alpha), L_epsilon the worst loss in an epsilon-ball about each embedding.

    The worst case moves positives along minus the anchor and negatives along it, so that
    l+ becomes l+ - epsilon |v| / t and l_j becomes l_j + epsilon |v| / t, with |v| = 1 on the sphere.
    The coupling's weights are those of the unmoved embeddings; a correction acts on the moved negatives.

    Args:
        epsilon: radius of the ball, in similarity (for `BeforeNormalization` in the unit of the embeddings);
            at least 0.
        alpha: weight of the perturbed loss, at least 0; infinity takes L_epsilon alone.
        divisor: number by which the sum is divided: 2 as the text prints it, 1 for a plain sum; None for
            1 + alpha.
        form: form of the move: `Shifted()`, `Renormalized()`, `BeforeNormalization(steps=...)`,
            `Ellipsoid(axes=...)`.

    Raises:
        ValueError: a field out of its range; a divisor with an infinite alpha; an epsilon that the form does
            not allow.

    Source: Robinson (2023), Definition 2, Lemma 4 and eq. 4.2; appendix B.1.1 for the forms. Differs: the
    text divides by 2 whatever alpha, and Fig. B-5 by nothing; at the text's alpha = 1, 2 is the default.

    Example:
        >>> FeatureModification(epsilon=0.1).shift(1.0, temperature=0.5)
        0.2
        >>> FeatureModification(epsilon=0.1, alpha=math.inf).takes_plain
        False
    """

    epsilon: float
    alpha: float = 1.0
    divisor: float | None = None
    form: ModificationForm = field(default_factory=Shifted)

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, minimum=0)
        if self.alpha != math.inf:
            check_number("alpha", self.alpha, minimum=0, reason="infinity takes the modified loss alone")
        if self.divisor is not None:
            check_number("divisor", self.divisor, above=0)
            if self.alpha == math.inf:
                raise ValueError(
                    f"alpha=inf takes the modified loss alone, so divisor={self.divisor} divides no sum: "
                    "leave one out"
                )
        if not isinstance(self.form, ModificationForm):
            raise ValueError(f"form must be a ModificationForm, such as Shifted(), got {self.form!r}")
        self.form.displacement(self.epsilon)  # refuses an epsilon that the form does not allow

    @property
    def share(self) -> float:
        """Share alpha / (1 + alpha) of the modified loss; 1 where it is taken alone."""
        return 1.0 if self.alpha == math.inf else self.alpha / (1 + self.alpha)

    @property
    @override
    def factor(self) -> float:
        """Factor (1 + alpha) / divisor of the average; 1 by default."""
        return 1.0 if self.divisor is None else (1 + self.alpha) / self.divisor

    @property
    @override
    def takes_plain(self) -> bool:
        return self.alpha != math.inf

    @property
    @override
    def stretch(self) -> float | None:
        return self.form.stretch

    @property
    @override
    def displacement(self) -> Displacement | None:
        return self.form.displacement(self.epsilon)

    @override
    def lengths(self, anchors: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        return self.form.lengths(anchors)

    @override
    def shift(self, lengths: Tensor | float, temperature: float) -> Tensor | float:
        return self.epsilon * lengths / temperature

    @override
    def combine(self, plain: Tensor | None, perturbed: Tensor) -> Tensor:
        if plain is None:
            return perturbed
        # As a share of two losses: alpha times a large one would overflow.
        mean = plain.lerp(perturbed, self.share)
        return mean if self.factor == 1.0 else self.factor * mean
