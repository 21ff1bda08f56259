"""Encoders of spheres that suppress a feature and still reach the minimum of InfoNCE, made and measured.

A point has several features, each uniform on a unit sphere; the encoder maps their values to a
sphere of the same dimension. Augmentations change nothing here: the constructions map all views of a point to
one embedding, so that the alignment term is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from tammes.checks import check_indices, check_integer, check_number, check_shape
from tammes.theory.partition_function import log_mean_exponential

Latents = Float[np.ndarray, "n features d"]
"""Values of the features of n points, each a unit vector."""
SphereEncoder = Callable[[Latents], Float[np.ndarray, "n d"]]
"""Map from the features of points to unit vectors."""


def sample_latents(count: int, *, features: int, dim: int, generator: np.random.Generator) -> Latents:
    """Return independent features, each uniform on the unit sphere.

    Args:
        count: number of points.
        features: number of features of a point.
        dim: dimension d of the space in which each sphere lies, at least 2.
        generator: source of the draws.

    Source: Robinson (2023), section 4.2.1, with the assumption of Proposition 2.

    Example:
        >>> z = sample_latents(5, features=2, dim=3, generator=np.random.default_rng(0))
        >>> z.shape, bool(np.allclose((z**2).sum(-1), 1))
        ((5, 2, 3), True)
    """
    for name, value, minimum in (("count", count, 1), ("features", features, 1), ("dim", dim, 2)):
        check_integer(name, value, minimum=minimum)
    z = generator.standard_normal((count, features, dim))
    return z / np.linalg.norm(z, axis=-1, keepdims=True)


def one_feature(feature: int) -> SphereEncoder:
    """Return the encoder f_k(z) = z^k, which reads one feature and suppresses all others.

    It minimizes the limit of InfoNCE (Proposition 2), and, for every set S without k, that of InfoNCE whose
    examples share the features S (Propositions 3 and 4).

    Args:
        feature: number k of the feature, from 0.

    Source: Robinson (2023), proof of Proposition 2.

    Example:
        >>> z = np.eye(2)[None]  # feature 0 is (1, 0), feature 1 is (0, 1)
        >>> one_feature(1)(z).tolist()
        [[0.0, 1.0]]
    """
    check_integer("feature", feature, minimum=0)

    def encode(latents: Latents) -> Float[np.ndarray, "n d"]:
        check_indices("feature", np.array([feature]), latents.shape[1])
        return latents[:, feature]

    return encode


def blend(weights: Sequence[float]) -> SphereEncoder:
    """Return the encoder normalize(sum_k w_k z^k), which reads all features with a weight.

    Its embeddings are uniform on the sphere, so that it minimizes the limit of InfoNCE as every f_k does; it
    neither suppresses nor distinguishes a feature whose weight is not the only one.

    Args:
        weights: weight of each feature; not all 0.

    Raises:
        ValueError: a weight that is not finite, or none other than 0; when called, another number of
            features.

    Source: ours, for comparison with `one_feature`.

    Example:
        >>> blend([3.0, 4.0])(np.eye(2)[None]).tolist()
        [[0.6, 0.8]]
    """
    for weight in weights:
        check_number("weights", weight)
    if not any(weights):
        raise ValueError(f"expected a weight other than 0, got {tuple(weights)}: 0 has no direction")

    def encode(latents: Latents) -> Float[np.ndarray, "n d"]:
        check_shape("latents, with a weight for each feature,", latents.shape, (None, len(weights), None))
        mixed = np.einsum("k,nkd->nd", np.array(weights), latents)
        return mixed / np.linalg.norm(mixed, axis=1, keepdims=True)

    return encode


def uniform_minimum(dim: int, temperature: float) -> float:
    """Return the minimum over all encoders of the limit of InfoNCE, attained by uniform embeddings.

        log E e^{u . v / t} = log( Gamma(d/2) (2 t)^{d/2 - 1} I_{d/2 - 1}(1/t) ) ,    u uniform on the sphere

    Args:
        dim: dimension d of the space in which the sphere lies, at least 2.
        temperature: t.

    Source: Robinson (2023), Proposition 2, after Wang and Isola (2020), Theorem 1; the integral is that of
    the normalizing constant of the von Mises-Fisher distribution.

    Example:
        >>> round(uniform_minimum(3, 1.0), 6) == round(math.log(math.sinh(1.0)), 6)
        True
    """
    check_integer("dim", dim, minimum=2)
    check_number("temperature", temperature, above=0)
    return log_mean_exponential(dim, 1 / temperature)


def limit_of_infonce(
    anchors: Float[np.ndarray, "n d"],
    positives: Float[np.ndarray, "n d"],
    negatives: Float[np.ndarray, "n m d"] | Float[np.ndarray, "m d"],
    *,
    temperature: float,
) -> float:
    """Return the limit of InfoNCE for many negatives, estimated from samples.

        L = 1/(2t) E |f(x) - f(x+)|^2 + E log E e^{f(x+) . f(x-) / t}  =  lim_m { L_m - log m + 1/t }

    Args:
        anchors: `(n, d)` embeddings f(x).
        positives: `(n, d)` embeddings f(x+).
        negatives: embeddings f(x-), `(m, d)` for all or `(n, m, d)` for each positive: those that share the
            features S with it make the loss L_S of Proposition 4.
        temperature: t.

    Source: Robinson (2023), section 4.2.2 and Proposition 4. Differs: the text subtracts 2/t, which leaves
    -3/t on the right; 1/t must be added. Proposition 4 and its proof print -log for the second term, whose
    minimum is a collapse: the sign is that of section 4.2.2.

    Example:
        >>> u = np.array([[1.0, 0.0], [-1.0, 0.0]])
        >>> round(limit_of_infonce(u, u, u, temperature=1.0) - math.log(math.cosh(1.0)), 12)
        0.0
    """
    check_number("temperature", temperature, above=0)
    alignment = ((anchors - positives) ** 2).sum(axis=1).mean() / (2 * temperature)
    subscripts = "nd,md->nm" if negatives.ndim == 2 else "nd,nmd->nm"
    logits = np.einsum(subscripts, positives, negatives) / temperature
    from scipy.special import logsumexp

    uniformity = logsumexp(logits, axis=1) - math.log(logits.shape[1])
    return float(alignment + uniformity.mean())


def share_features(
    latents: Latents, shared: Sequence[int], count: int, generator: np.random.Generator
) -> Latents:
    """Return for each point others that agree with it in the features S, the rest drawn anew.

    Args:
        latents: `(n, features, d)` features of the points.
        shared: numbers of the features S that are held.
        count: number of others for each point.
        generator: source of the draws.

    Returns:
        `(n * count, features, d)`: the others of the first point, then those of the second, and so on.

    Raises:
        ValueError: a feature that the points do not have.

    Source: Robinson (2023), Proposition 4.

    Example:
        >>> z = sample_latents(2, features=2, dim=2, generator=np.random.default_rng(0))
        >>> others = share_features(z, [0], 3, np.random.default_rng(1))
        >>> bool((others[:3, 0] == z[0, 0]).all()), bool((others[:3, 1] == z[0, 1]).any())
        (True, False)
    """
    n, features, dim = latents.shape
    check_indices("shared", np.array(shared, dtype=int), features)
    others = sample_latents(n * count, features=features, dim=dim, generator=generator)
    for feature in shared:
        others[:, feature] = np.repeat(latents[:, feature], count, axis=0)
    return others


def conditional_distance(
    encoder: SphereEncoder,
    held: Sequence[int],
    *,
    features: int,
    dim: int,
    values: int,
    count: int,
    generator: np.random.Generator,
) -> float:
    """Return how far the embeddings given one value of the features S are from those given another.

        mean over pairs of values of the energy distance 2 E|X - Y| - E|X - X'| - E|Y - Y'| ,

    without bias: its mean is 0 for an encoder that suppresses S, and above 0 for every other. For one that
    distinguishes S by f = z^S it is the mean of 2 |z^S - w^S|.

    Args:
        encoder: map from features to the sphere.
        held: numbers of the features S.
        features: number of features.
        dim: dimension of the space in which each sphere lies.
        values: number of values of S that are compared, at least 2.
        count: number of points for each value, at least 2.
        generator: source of the draws.

    Source: Robinson (2023), Definition 1; the energy distance is that of Szekely and Rizzo (2013).

    Example:
        >>> sizes = {"features": 2, "dim": 3, "values": 10, "count": 40}
        >>> generator = np.random.default_rng(0)
        >>> abs(conditional_distance(one_feature(0), [1], **sizes, generator=generator)) < 0.05
        True
    """
    check_integer("values", values, minimum=2)
    check_integer("count", count, minimum=2)
    given = sample_latents(values, features=features, dim=dim, generator=generator)
    sets = encoder(share_features(given, held, count, generator)).reshape(values, count, -1)
    from scipy.spatial.distance import cdist

    within = [cdist(rows, rows).sum() / (count * (count - 1)) for rows in sets]
    distances = [
        2 * cdist(sets[i], sets[j]).mean() - within[i] - within[j] for i in range(values) for j in range(i)
    ]
    return float(np.mean(distances))
