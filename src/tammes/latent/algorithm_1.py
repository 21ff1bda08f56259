"""The strategies of Algorithm 1, which use observations and the boundary of a classifier.

Each is a constructor that fills in the parts of a `Strategy`.

Source: Weber and Bachman (2022), Alg. 1 and sec. III.B.
"""

from __future__ import annotations

from tammes.latent.active_selection import ActiveSelection
from tammes.latent.adversarial import Adversarial
from tammes.latent.positive_samplers import ObservationNoise
from tammes.latent.strategy import NearBoundary, Strategy
from tammes.positives import Halving, Quantile


def random(*, scale: float = 0.2) -> Strategy:
    """Return strategy (i): positives by random augmentation.

    Args:
        scale: standard deviation of the noise on observations, at least 0.

    Example:
        >>> random().positives
        ObservationNoise(scale=0.2)
    """
    return Strategy(positives=ObservationNoise(scale=scale))


def active(*, acceptance: Halving | Quantile, scale: float = 0.2, tries: int = 64) -> Strategy:
    """Return strategy (ii): random augmentation, repeated until the result lies within a_t of the boundary.

    Args:
        acceptance: threshold a_t of each round.
        scale: standard deviation of the noise on observations, at least 0.
        tries: most candidates of an anchor.

    Example:
        >>> active(acceptance=Quantile(share=0.3)).positives.tries
        64
    """
    proposal = ObservationNoise(scale=scale)
    return Strategy(positives=ActiveSelection(proposal=proposal, acceptance=acceptance, tries=tries))


def double_active(
    *, acceptance: Halving | Quantile, scale: float = 0.2, tries: int = 64, of: int = 4
) -> Strategy:
    """Return strategy (ii) with anchors that are near the boundary as well.

    Args:
        acceptance: threshold a_t of each round.
        scale: standard deviation of the noise on observations, at least 0.
        tries: most candidates of an anchor.
        of: number of points of which the nearest to the boundary becomes an anchor.

    Example:
        >>> double_active(acceptance=Quantile(share=0.3)).anchors
        NearBoundary(of=4)
    """
    positives = active(acceptance=acceptance, scale=scale, tries=tries).positives
    return Strategy(anchors=NearBoundary(of=of), positives=positives)


def adversarial(*, scale: float = 0.2, radius: float = 0.2, signed: bool = False) -> Strategy:
    """Return strategy (iii): the augmentation that moves the classification most, or out of the class.

    Args:
        scale: standard deviation of the noise from which the ascent starts, at least 0.
        radius: largest change, as a root mean square over the coordinates, above 0.
        signed: whether to maximize the signed margin, toward other classes; else the squared change.

    Example:
        >>> adversarial(radius=0.1).positives.radius
        0.1
    """
    proposal = ObservationNoise(scale=scale)
    return Strategy(positives=Adversarial(proposal=proposal, radius=radius, signed=signed))
