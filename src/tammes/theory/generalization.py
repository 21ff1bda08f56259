"""How far the empirical NCE loss of an encoder is from its expectation, by its complexity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tammes.checks import check_integer, check_number, check_shape
from tammes.theory.population import Estimated
from tammes.theory.refined import rademacher_complexity, uniform_deviation


@dataclass(frozen=True, kw_only=True)
class Contraction:
    """Complexities of functions with K outputs, with a Lipschitz function of the outputs behind them or not.

        R_S(phi o H)   and   L sqrt(K) max over i of R_S(H|_i)

    Attributes:
        composed: R_S of phi o H: a mean and its standard error.
        coordinates: R_S of each of the K coordinates.
        lipschitz: L, the Lipschitz constant of phi in the largest coordinate.
    """

    composed: Estimated
    coordinates: tuple[float, ...]
    lipschitz: float

    @property
    def bound(self) -> float:
        """L sqrt(K) times the largest complexity of a coordinate, without the theorem's logarithms."""
        return self.lipschitz * math.sqrt(len(self.coordinates)) * max(self.coordinates)

    @property
    def ratio(self) -> float:
        """Complexity behind phi over the bound; Theorem 7 says that it grows with logarithms only."""
        return self.composed[0] / self.bound if self.bound > 0 else 0.0


def contraction(
    values: Float[np.ndarray, "functions m outputs"],
    composed: Float[np.ndarray, "functions m"],
    *,
    lipschitz: float,
    draws: int,
    generator: np.random.Generator,
) -> Contraction:
    """Estimate both sides of the contraction of vector-valued functions.

        R_S(phi o H)  <=  O~(L sqrt(K))  max over i of R_m(H|_i)

    Differs: the theorem has the largest complexity of the coordinates over all samples of m points; here it
    is that of this sample, which is smaller, so that the ratio is larger than the theorem's. It also prints
    `sqrt(k)` and `R_M` for the K outputs and m points of its statement.

    Args:
        values: outputs of each function on the m samples.
        composed: phi of these outputs.
        lipschitz: Lipschitz constant L of phi in the largest coordinate, above 0.
        draws: number of draws of the signs, at least 2.
        generator: source of the randomness.

    Raises:
        ValueError: shapes that do not match, or numbers out of their ranges.

    Source: Ash et al. (2022), Theorem 7, from Foster and Rakhlin (2019).

    Example:
        >>> generator = np.random.default_rng(0)
        >>> values = generator.standard_normal((20, 50, 4))
        >>> found = contraction(values, values.max(axis=2), lipschitz=1.0, draws=200, generator=generator)
        >>> 0 < found.ratio < 1
        True
    """
    check_number("lipschitz", lipschitz, above=0)
    check_shape("values", values.shape, (None, None, None))
    check_shape("composed, one value for each function and sample,", composed.shape, values.shape[:2])
    coordinates = [
        rademacher_complexity(values[:, :, place], draws=draws, generator=generator)[0]
        for place in range(values.shape[2])
    ]
    return Contraction(
        composed=rademacher_complexity(composed, draws=draws, generator=generator),
        coordinates=tuple(coordinates),
        lipschitz=lipschitz,
    )


def generalization(
    embeddings: Float[np.ndarray, "functions m d"], *, draws: int, generator: np.random.Generator
) -> float:
    """Return Gen_M of a finite class of encoders, which bounds how far empirical NCE losses are off.

        Gen_M  =  B sqrt(d)  max over i of R_M(F|_i) ,      B the largest l1 length of an embedding

    With k negatives the NCE loss is off by at most O~(sqrt(k + 2) Gen_M): its Lipschitz constant is 4 B, and
    it has d (k + 2) inputs (`contraction`).

    Args:
        embeddings: embeddings of M samples under each encoder.
        draws: number of draws of the signs, at least 2.
        generator: source of the randomness.

    Source: Ash et al. (2022), Theorem 9, without constants and logarithms, and for this sample in place of
    the worst one.

    Example:
        >>> generator = np.random.default_rng(0)
        >>> few, many = (generator.standard_normal((30, m, 3)) for m in (50, 5000))
        >>> small, large = (generalization(rows, draws=200, generator=generator) for rows in (many, few))
        >>> small < large
        True
    """
    check_shape("embeddings", embeddings.shape, (None, None, None))
    largest = float(np.abs(embeddings).sum(axis=2).max())
    complexities = [
        rademacher_complexity(embeddings[:, :, place], draws=draws, generator=generator)[0]
        for place in range(embeddings.shape[2])
    ]
    return largest * math.sqrt(embeddings.shape[2]) * max(complexities)


def erm_excess(k: int, gen: float, *, samples: int, delta: float, largest: float = 1.0) -> float:
    """Return by how much the loss of the encoder of least empirical loss may exceed the best one.

        L_NCE(f^)  -  L_NCE(f)  <=  O~( sqrt(k + 2) Gen_M )  +  O( sqrt( log(1/delta) / M ) )

    Constants and logarithms of the first term are left out: read its growth, not its size.

    Args:
        k: number of negatives of an anchor, at least 1.
        gen: Gen_M, at least 0; see `generalization`.
        samples: number M of samples, at least 1.
        delta: probability that the bound fails, above 0 and below 1.
        largest: range of the loss, above 0.

    Raises:
        ValueError: a number out of its range.

    Source: Ash et al. (2022), Theorem 9; the second term is that of `uniform_deviation`.

    Example:
        >>> erm_excess(16, 0.01, samples=10_000, delta=0.05) > erm_excess(4, 0.01, samples=10_000, delta=0.05)
        True
    """
    check_integer("k", k)
    check_number("gen", gen, minimum=0)
    return math.sqrt(k + 2) * gen + uniform_deviation(0.0, samples=samples, delta=delta, largest=largest)


def simulated_contraction(
    k: int,
    *,
    samples: int,
    dim: int,
    functions: int,
    draws: int,
    generator: np.random.Generator,
) -> Contraction:
    """Return the contraction of the hinge NCE loss for random encoders, to see how it grows with k.

        phi(z, z+, z_1, ..., z_k)  =  max{ 0, 1 + max over i of z . (z_i - z+) }

    Args:
        k: number of negatives, at least 1.
        samples: number m of tuples.
        dim: dimension of the embeddings.
        functions: number of encoders, whose embeddings are points of the sphere.
        draws: number of draws of the signs.
        generator: source of the randomness.

    Source: Ash et al. (2022), proof of Theorem 9.

    Example:
        >>> generator = np.random.default_rng(0)
        >>> found = simulated_contraction(3, samples=20, dim=2, functions=10, draws=50, generator=generator)
        >>> len(found.coordinates)
        10
    """
    check_integer("k", k)
    rows = generator.standard_normal((functions, samples, k + 2, dim))
    rows /= np.linalg.norm(rows, axis=3, keepdims=True)
    anchors, positives, negatives = rows[:, :, 0], rows[:, :, 1], rows[:, :, 2:]
    to_positive = (anchors * positives).sum(axis=2)
    to_negatives = np.einsum("fmd,fmkd->fmk", anchors, negatives)
    losses = np.maximum(0, 1 + to_negatives.max(axis=2) - to_positive)
    largest = float(np.abs(rows).sum(axis=3).max())
    return contraction(
        rows.reshape(functions, samples, -1), losses, lipschitz=4 * largest, draws=draws, generator=generator
    )
