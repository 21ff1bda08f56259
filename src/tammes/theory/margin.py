"""The margin of a classifier, and the loss that asks for one."""

import math

import numpy as np
from jaxtyping import Float, Int


def margins(scores: Float[np.ndarray, "n classes"], labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """By how much the score of the right class exceeds the largest of the others.

        gamma_q(f(x), c) = q_c(f(x)) - max over c' other than c of q_c'(f(x))

    Args:
        scores: q of n points for at least two classes, (n, classes).
        labels: c, (n,), each an index of a class.

    Raises:
        ValueError: For a single class, scores that are not finite, or labels that are no indices of classes,
            one for each point.

    Source: Weber and Bachman (2022), A.12.

    Example:
        >>> margins(np.array([[2.0, 0.5, 1.0], [0.0, 1.0, 3.0]]), np.array([0, 1])).tolist()
        [1.0, -2.0]
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(f"scores must be (n, classes) of two classes or more, got {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("expected finite scores, got infinities or NaN")
    n, classes = scores.shape
    whole = np.issubdtype(labels.dtype, np.integer) and labels.shape == (n,)
    if not whole or (n and not (labels.min() >= 0 and labels.max() < classes)):
        raise ValueError(
            f"expected {n} whole numbers from 0 to {classes - 1} as labels, one for each point, got "
            f"{labels.dtype} {labels.shape}"
        )
    rows = np.arange(n)
    others = scores.astype(float)
    others[rows, labels] = -np.inf
    return scores[rows, labels] - others.max(axis=1)


def margin_loss(values: Float[np.ndarray, " n"], *, margin: float) -> Float[np.ndarray, " n"]:
    """1 where the margin is not positive, 0 where it is large enough, and linear between.

        Phi_gamma(v) = min( 1, max( 0, 1 - v / gamma ) )

    It lies between 0 and 1, is 1/gamma-Lipschitz, and not convex.

    Args:
        values: v, of any shape.
        margin: gamma.

    Raises:
        ValueError: For a margin that is not positive.

    Source: Weber and Bachman (2022), A.13.

    Example:
        >>> margin_loss(np.array([-1.0, 0.0, 0.25, 0.5, 2.0]), margin=0.5).tolist()
        [1.0, 1.0, 0.5, 0.0, 0.0]
    """
    if not (math.isfinite(margin) and margin > 0):
        raise ValueError(f"margin must be a positive number, got {margin}")
    return np.clip(1 - np.asarray(values, dtype=float) / margin, 0.0, 1.0)


def margin_risk(
    scores: Float[np.ndarray, "n classes"], labels: Int[np.ndarray, " n"], *, margin: float
) -> float:
    """The mean margin loss over points; at least the share that is classified wrongly.

        1/n sum_i Phi_gamma( gamma_q(f(x_i), c_i) )

    Args:
        scores: as `margins` takes them.
        labels: likewise.
        margin: gamma.

    Raises:
        ValueError: As `margins` and `margin_loss` do, and for no points.

    Source: Weber and Bachman (2022), A.14 and A.15.

    Example:
        >>> margin_risk(np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([0, 1]), margin=1.0)
        0.25
    """
    if len(scores) == 0:
        raise ValueError("expected at least one point, got none")
    return float(margin_loss(margins(scores, labels), margin=margin).mean())
