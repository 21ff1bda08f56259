"""The strategies of Algorithm 2, which perturb informative latents in one way and the others in another.

Each is nothing but a constructor that fills in the parts of a `Strategy`; the numbers are the paper's.

Source: Weber and Bachman (2022), Alg. 2 and sec. E.
"""

from __future__ import annotations

from tammes.latent.kernel import GaussianNoise, Uniform
from tammes.latent.positives import Perturbed, SameClass
from tammes.latent.strategy import Strategy


def baseline(*, scale: float = 0.3, radius: float = 1.0) -> Strategy:
    """Perturbations of equal size of all latents.

    Args:
        scale: standard deviation of the noise on each latent, before it is brought back to its sphere.
        radius: of the uninformative sphere as g sees it, the model's `uninformative_scale`: noise of a given
            size turns latents on a larger sphere less.

    Example:
        >>> baseline().positives.uninformative
        GaussianNoise(scale=0.3)
    """
    return active(informative=scale, uninformative=scale, radius=radius)


def active(*, informative: float = 0.3, uninformative: float = 0.9, radius: float = 1.0) -> Strategy:
    """Small perturbations of the informative latents, larger ones of the others.

    Args:
        informative: standard deviation of the noise on the informative latents.
        uninformative: of that on the others.
        radius: of the uninformative sphere as g sees it, as in `baseline`.

    Example:
        >>> active().positives.uninformative
        GaussianNoise(scale=0.9)
    """
    return Strategy(
        positives=Perturbed(
            informative=GaussianNoise(scale=informative),
            uninformative=GaussianNoise(scale=uninformative / radius),
        )
    )


def info_active(*, informative: float = 0.3) -> Strategy:
    """Small perturbations of the informative latents, the others drawn anew.

    The paper's supplement perturbs them by 9.0, which is nearly that: on the unit sphere, the mean inner
    product with the anchor is then at most 0.07.

    Args:
        informative: standard deviation of the noise on the informative latents.

    Example:
        >>> info_active().positives.uninformative
        Uniform()
    """
    return Strategy(
        positives=Perturbed(informative=GaussianNoise(scale=informative), uninformative=Uniform())
    )


def class_preserving() -> Strategy:
    """Any other point of the anchor's class: what a supervised method would do.

    Example:
        >>> class_preserving().positives
        SameClass(uninformative=Uniform())
    """
    return Strategy(positives=SameClass())
