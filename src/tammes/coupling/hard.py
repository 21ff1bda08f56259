"""Hard negatives: the more similar a negative is to the anchor, the larger its weight (HCL)."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from tammes.checks import check_number, is_number
from tammes.coupling.coupling import Coupling, Fit
from tammes.reduce import Engine, Exponent, Negatives
from tammes.reduce.terms import Clipped


@dataclass(frozen=True, kw_only=True)
class Hard(Coupling):
    """Weights exponential in the logit, w_ij ~ e^{beta l_ij} over the negatives.

    beta = 0 is `Uniform`; as beta grows, all weight goes to the hardest negative. The mean of e^{l_ij} is
    then log G_i = LSE_j((1 + beta) l_ij) - LSE_j(beta l_ij): two log-sum-exps in one pass over S.

    Args:
        beta: concentration, at least 0; multiplies the logit.
        detach: whether the weights are constants to the gradient. The paper's gradient flows through
            them.
        clip: bound on |l_ij| above 0; logits are clipped to [-clip, clip] inside the weights only. None
            clips nothing.

    Raises:
        ValueError: beta is negative or infinite, or clip is not positive.

    Source: Robinson (2023), eq. 3.10-3.12; appendix A.2 for the clip, on graphs. Differs: the published
    graph code reverses the sign of beta, and rescales by the batch's maximum instead of clipping; this
    follows the text.

    Example:
        >>> Hard(beta=1.0)
        Hard(beta=1.0, detach=False, clip=None)
    """

    beta: float
    detach: bool = False
    clip: float | None = None

    def __post_init__(self) -> None:
        check_number("beta", self.beta, minimum=0, reason="it is the concentration of the weights")
        if self.clip is not None and not (is_number(self.clip) and self.clip > 0):
            raise ValueError(f"clip must be a positive bound on logits, or None, got {self.clip}")

    @override
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        slope = self.beta / temperature
        # A clip beyond all logits clips nothing.
        if self.clip is None or slope == 0.0 or self.clip >= negatives.bound / temperature:
            return Fit(weight=Exponent(slope=slope, gradient_slope=0.0 if self.detach else slope))
        # l clipped to [-clip, clip] times beta is the product clipped to [-beta clip, beta clip].
        tilt = Clipped(gain=slope, bound=self.beta * self.clip)
        return Fit(weight=Exponent(tilt=tilt, tilt_has_gradient=not self.detach))
