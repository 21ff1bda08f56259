"""The margin of a classifier, and the margin loss."""

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_number


def margins(scores: Float[np.ndarray, "n classes"], labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the difference between the score of the right class and the largest other score.

        gamma_q(f(x), c) = q_c(f(x)) - max over c' other than c of q_c'(f(x))

    Args:
        scores: scores q of n points for at least two classes.
        labels: class c of each point, from 0.

    Raises:
        ValueError: a single class, scores that are not finite, or labels that do not match the scores.

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
    fits = np.issubdtype(labels.dtype, np.integer) and labels.shape == (n,)
    if not fits or (n and not (labels.min() >= 0 and labels.max() < classes)):
        raise ValueError(
            f"expected {n} integers from 0 to {classes - 1} as labels, one for each point, got "
            f"{labels.dtype} {labels.shape}"
        )
    rows = np.arange(n)
    others = scores.astype(float)
    others[rows, labels] = -np.inf
    return scores[rows, labels] - others.max(axis=1)


def margin_loss(values: Float[np.ndarray, "*n"], *, margin: float) -> Float[np.ndarray, "*n"]:
    """Return 1 for margins that are not positive, 0 for large ones, and a linear ramp between.

        Phi_gamma(v) = min( 1, max( 0, 1 - v / gamma ) )

    It lies between 0 and 1, is 1/gamma-Lipschitz, and not convex.

    Args:
        values: margins v, of any shape.
        margin: margin gamma from which on the loss is 0, above 0.

    Raises:
        ValueError: the margin is not positive.

    Source: Weber and Bachman (2022), A.13.

    Example:
        >>> margin_loss(np.array([-1.0, 0.0, 0.25, 0.5, 2.0]), margin=0.5).tolist()
        [1.0, 1.0, 0.5, 0.0, 0.0]
    """
    check_number("margin", margin, above=0)
    return np.clip(1 - np.asarray(values, dtype=float) / margin, 0.0, 1.0)


def margin_risk(
    scores: Float[np.ndarray, "n classes"], labels: Int[np.ndarray, " n"], *, margin: float
) -> float:
    """Return the mean margin loss over points, which is at least the error rate.

        1/n sum_i Phi_gamma( gamma_q(f(x_i), c_i) )

    Args:
        scores: scores of n points for at least two classes.
        labels: class of each point, from 0.
        margin: margin gamma from which on the loss is 0, above 0.

    Raises:
        ValueError: input that `margins` or `margin_loss` refuses, or no points.

    Source: Weber and Bachman (2022), A.14 and A.15.

    Example:
        >>> margin_risk(np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([0, 1]), margin=1.0)
        0.25
    """
    if len(scores) == 0:
        raise ValueError("expected at least one point, got none")
    return float(margin_loss(margins(scores, labels), margin=margin).mean())
