"""Negatives weigh more the more similar they are to the anchor."""

from __future__ import annotations

from dataclasses import dataclass

from tammes.checks import is_finite, is_number
from tammes.coupling.coupling import Coupling, Fit
from tammes.reduce import Engine, Exponent, Negatives
from tammes.reduce.terms import Clipped


@dataclass(frozen=True, kw_only=True)
class Hard(Coupling):
    """w_ij proportional to e^{beta * l_ij} over the negatives.

    beta = 0 is `Uniform`; as beta grows, all weight goes to the hardest negative.

    Args:
        beta: concentration, at least 0; multiplies the logit.
        detach: whether the weights are constants to the gradient. The paper's gradient flows through
            them.
        clip: inside the weights only, logits are cut to [-clip, clip]; None leaves them as they are.

    Raises:
        ValueError: a negative or infinite beta, a clip that is not positive.

    Source: Robinson (2023), eq. 3.10-3.12; the clip is of appendix A.2,
    on graphs. Differs: the published graph code has the sign of beta reversed, and rescales by the
    batch's maximum instead of clipping; the text is followed.

    Example:
        >>> Hard(beta=1.0)
        Hard(beta=1.0, detach=False, clip=None)
    """

    beta: float
    detach: bool = False
    clip: float | None = None

    def __post_init__(self) -> None:
        if not (is_finite(self.beta) and self.beta >= 0):
            raise ValueError(f"beta (concentration) must be a finite number of at least 0, got {self.beta}")
        if self.clip is not None and not (is_number(self.clip) and self.clip > 0):
            raise ValueError(f"clip must be a positive bound on logits, or None, got {self.clip}")

    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        """See `Coupling.fit`; there is nothing to fit."""
        slope = self.beta / temperature
        if self.clip is None or slope == 0.0:
            return Fit(weight=Exponent(slope=slope, gradient_slope=0.0 if self.detach else slope))
        tilt = Clipped(gain=slope, bound=self.beta * self.clip)
        return Fit(weight=Exponent(tilt=tilt, tilt_has_gradient=not self.detach))
