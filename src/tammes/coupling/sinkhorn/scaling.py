"""Relaxed matrix scaling: a symmetric plan by products of a kept kernel and a vector, without logarithms."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce import Exponent, Kernel, Negatives

KEPT = 2048 * 2048
"""Up to how many entries S or its kernel is kept between iterations."""
_IN_CACHE = 512
"""Up to how many rows a kernel stays in a processor's cache, where a product costs less than its launch."""
_RANGE = 60.0
"""How far apart exponents may lie so that products of their exponentials, and sums of these, are finite."""
_SLOW = 0.3
"""From which ratio of an error to the last one the convergence is slow enough for a relaxation."""
_SETBACK, _SETBACKS = 0.9, 3
"""From which ratio of the errors an update counts as a setback, and after how many of these to give up."""


def relaxed_scaling(
    negatives: Negatives,
    kernel: Exponent,
    start: Float[Tensor, " n"],
    *,
    tolerance: float,
    max_iterations: int,
) -> tuple[Float[Tensor, " n"], int, float]:
    """Scale a kept symmetric kernel K, as long as the error falls.

    With a = e^v, the row sums are a (K a); m are these relative to their mean. The update is a m^{-omega},
    which takes the residual r = m - 1 to (1 - omega (1 + P)) r in first order, with P the row-normalized
    plan. Where P is nearly the matrix of the mean, omega = 1 is Newton's step. Where the error falls slowly,
    the Rayleigh quotient of r and the residual before estimates another eigenvalue of P, and
    omega = 2 / (2 + least + largest) of those seen reduces both ends of the spectrum equally.

    Args:
        negatives: the entries that may carry mass, symmetric over all processes taken together.
        kernel: log K, without a column.
        start: potential v to begin with.
        tolerance: marginal error at which to stop.
        max_iterations: largest number of updates.

    Returns:
        The potential of least error, how many updates led to it, and its error: above `tolerance` where the
        updates do not converge, infinite where the kernel is too large to keep or its range too wide.

    Example:
        >>> from tammes.reduce import KeyRanges
        >>> negatives = Negatives(anchors=torch.eye(4), ranges=KeyRanges(keys=torch.arange(4)), bound=1.0)
        >>> v, iterations, error = relaxed_scaling(
        ...     negatives, Exponent(), torch.zeros(4), tolerance=1e-6, max_iterations=9
        ... )
        >>> round((2 * v).exp().sum().item(), 4), iterations  # 4 entries of 1/12
        (0.3333, 0)
    """
    size, matrix = len(start), None
    if size * size <= KEPT:  # the size of the whole S: every process decides alike
        matrix = Kernel.of(negatives.detached, kernel, most=_RANGE)
    if matrix is None:
        return start, 0, math.inf
    # Clamped: an underflow to zero would have no logarithm in the end.
    factor = torch.exp((start - start.amax()).clamp_(min=-_RANGE))
    best, best_mean, iterations, least = factor, 1.0, 0, math.inf
    low = high = 0.0  # the eigenvalues of P that were seen, besides the 1 of the mean
    omega, error, setbacks, residual = 1.0, math.inf, 0, factor
    minus_one = factor.new_full((size,), -1.0)
    for update in range(max_iterations + 1):
        product = of_candidates(negatives, matrix.times(factor))
        # r = a (K a) / mean - 1. Its common factor is free, and put in at the end.
        mean, last_error, last_residual = float(product.dot(factor)) / size, error, residual
        if not 0.0 < mean < math.inf:
            break
        residual = torch.addcmul(minus_one, product, factor, value=1 / mean)
        error = float(torch.linalg.vector_norm(residual, ord=1)) / size
        if error < least:
            best, best_mean, iterations, least = factor, mean, update, error
        setbacks += not error <= _SETBACK * last_error  # NaN is one
        if error <= tolerance or setbacks == _SETBACKS:
            break
        if error > _SLOW * last_error:
            if size > _IN_CACHE:  # products take the time here, and mixing needs fewer of them
                break
            # r ~ (1 - omega (1 + P)) r_last, so the Rayleigh quotient gives 1 - omega (1 + eigenvalue).
            quotient = float(residual.dot(last_residual) / last_residual.dot(last_residual))
            eigenvalue = (1 - quotient) / omega - 1
            low, high = min(low, max(eigenvalue, -0.9)), max(high, min(eigenvalue, 1.0))
            omega = 2 / (2 + low + high)
        # a m^{-1} is 1 / (K a) up to a constant: one operation on what is there already.
        factor = product.reciprocal_() if omega == 1.0 else factor * (residual + 1).pow_(-omega)
    # The constant that makes the mean row sum 1 / n.
    shift = (math.log(size) + math.log(best_mean) + matrix.shift) / 2
    return best.log() - shift, iterations, least


def of_candidates(negatives: Negatives, values: Float[Tensor, " n"]) -> Float[Tensor, " m"]:
    """Return a number of each anchor, of all processes, in the order of the candidates."""
    if negatives.own is None:
        return values
    everyone = values.new_zeros(negatives.shape[1])
    everyone[negatives.own] = values
    return negatives.group.sum(everyone)
