"""The strategies of Algorithm 2, which perturb informative and uninformative latents differently.

Each is a constructor that fills in the parts of a `Strategy`; the default numbers are the paper's.

Source: Weber and Bachman (2022), Alg. 2 and sec. E.
"""

from __future__ import annotations

from tammes.checks import check_number
from tammes.latent.kernel import GaussianNoise, UniformOnSphere
from tammes.latent.positive_samplers import ClassPreserving, LatentPerturbation
from tammes.latent.strategy import Strategy


def baseline(*, scale: float = 0.3, radius: float = 1.0) -> Strategy:
    """Return the baseline: perturbations of equal size of all latents.

    Args:
        scale: standard deviation of the noise on each latent before its projection to the sphere, at least 0.
        radius: radius of the uninformative sphere in the input of g, above 0, the model's
            `uninformative_scale`: noise of a given size turns latents on a larger sphere less.

    Example:
        >>> baseline().positives.uninformative
        GaussianNoise(scale=0.3)
    """
    return active(informative=scale, uninformative=scale, radius=radius)


def active(*, informative: float = 0.3, uninformative: float = 0.9, radius: float = 1.0) -> Strategy:
    """Return the active strategy: small perturbations of informative latents, larger ones of the others.

    Args:
        informative: standard deviation of the noise on the informative latents.
        uninformative: standard deviation of the noise on the uninformative latents.
        radius: radius of the uninformative sphere in the input of g, as in `baseline`.

    Example:
        >>> active().positives.uninformative
        GaussianNoise(scale=0.9)
    """
    check_number("radius", radius, above=0)
    return Strategy(
        positives=LatentPerturbation(
            informative=GaussianNoise(scale=informative),
            uninformative=GaussianNoise(scale=uninformative / radius),
        )
    )


def info_active(*, informative: float = 0.3) -> Strategy:
    """Return the info-active strategy: small perturbations of informative latents, the others drawn anew.

    The paper's supplement perturbs the others by 9.0, which is nearly the same: on the unit sphere, the mean
    inner product with the anchor is then at most 0.07.

    Args:
        informative: standard deviation of the noise on the informative latents.

    Example:
        >>> info_active().positives.uninformative
        UniformOnSphere()
    """
    return Strategy(
        positives=LatentPerturbation(
            informative=GaussianNoise(scale=informative), uninformative=UniformOnSphere()
        )
    )


def class_preserving() -> Strategy:
    """Return the class-preserving strategy: any other point of the anchor's class, as if supervised.

    Example:
        >>> class_preserving().positives
        ClassPreserving(uninformative=UniformOnSphere())
    """
    return Strategy(positives=ClassPreserving())
