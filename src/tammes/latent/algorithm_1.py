"""The strategies of Algorithm 1, which work on observations and the boundary of a classifier.

Each is nothing but a constructor that fills in the parts of a `Strategy`.

Source: Weber and Bachman (2022), Alg. 1 and sec. III.B.
"""

from __future__ import annotations

from tammes.latent.active import Active
from tammes.latent.adversarial import Adversarial
from tammes.latent.anchor_choice import NearBoundary
from tammes.latent.positives import Observed
from tammes.latent.strategy import Strategy
from tammes.latent.thresholds import Threshold


def random(*, scale: float = 0.2) -> Strategy:
    """(i): positives by random augmentation.

    Args:
        scale: standard deviation of the noise on observations.

    Example:
        >>> random().positives
        Observed(scale=0.2)
    """
    return Strategy(positives=Observed(scale=scale))


def active(*, threshold: Threshold, scale: float = 0.2, tries: int = 64) -> Strategy:
    """(ii): augmented until the image lies within a_t of the boundary.

    Args:
        threshold: a_t.
        scale: standard deviation of the noise on observations.
        tries: most candidates for an anchor.

    Example:
        >>> from tammes.latent import Quantile
        >>> active(threshold=Quantile(share=0.3)).positives.tries
        64
    """
    return Strategy(positives=Active(proposal=Observed(scale=scale), threshold=threshold, tries=tries))


def double_active(*, threshold: Threshold, scale: float = 0.2, tries: int = 64, of: int = 4) -> Strategy:
    """The same, and anchors are drawn with a bias to the boundary as well.

    Args:
        threshold: a_t.
        scale: standard deviation of the noise on observations.
        tries: most candidates for an anchor.
        of: an anchor is the nearest to the boundary of so many points.

    Example:
        >>> from tammes.latent import Quantile
        >>> double_active(threshold=Quantile(share=0.3)).anchors
        NearBoundary(of=4)
    """
    return Strategy(
        anchors=NearBoundary(of=of),
        positives=Active(proposal=Observed(scale=scale), threshold=threshold, tries=tries),
    )


def adversarial(*, scale: float = 0.2, radius: float = 0.2) -> Strategy:
    """(iii): the augmentation that moves the classification most.

    Args:
        scale: standard deviation of the noise from which the ascent starts.
        radius: how far it may go, as a root mean square over the coordinates.

    Example:
        >>> adversarial(radius=0.1).positives.radius
        0.1
    """
    return Strategy(positives=Adversarial(proposal=Observed(scale=scale), radius=radius))
