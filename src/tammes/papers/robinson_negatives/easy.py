"""Easy negatives: the weights of hard ones with the sign reversed, as in the published code for graphs."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from tammes.checks import check_number
from tammes.coupling import Coupling
from tammes.coupling.coupling import Fit
from tammes.reduce import Engine, Exponent, Negatives
from tammes.reduce.terms import Clipped


@dataclass(frozen=True, kw_only=True)
class Easy(Coupling):
    """Weights that fall with the logit, w_ij ~ e^{-beta l_ij}, with l clipped to [-clip, clip] inside them.

    The published graph code computes this where the text has e^{+beta l_ij}: what it reports as hard
    negatives are the least similar ones.

    Args:
        beta: concentration, above 0; multiplies the logit.
        clip: bound of the logits inside the weights.

    Raises:
        ValueError: beta or clip is not positive.

    Source: the code of Robinson (2023), appendix A.2. Differs: it rescales by the largest logit of the batch
    instead of clipping.

    Example:
        >>> Easy(beta=1.0)
        Easy(beta=1.0, clip=2.0)
    """

    beta: float
    clip: float = 2.0

    def __post_init__(self) -> None:
        check_number("beta", self.beta, above=0)
        check_number("clip", self.clip, above=0)

    @override
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        tilt = Clipped(gain=-self.beta / temperature, bound=self.beta * self.clip)
        return Fit(weight=Exponent(tilt=tilt, tilt_has_gradient=True))
