"""Gradients of the loss of one anchor by its positive and its negatives, and its worst case in a ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tammes.checks import check_number, check_shape

Vector = Float[np.ndarray, " d"]


def worst_case_in_balls(
    anchor: Vector,
    positive: Vector,
    negatives: Float[np.ndarray, "m d"],
    *,
    temperature: float,
    epsilon_positive: float,
    epsilons: float | Float[np.ndarray, " m"],
) -> float:
    """Return the worst InfoNCE of one anchor when each embedding moves within its ball, in closed form.

        -log( e^{l+ - epsilon+ |v| / t} / (e^{l+ - epsilon+ |v| / t} + sum_j e^{l_j + epsilon_j |v| / t}) )

    Args:
        anchor: v, of any length; 1 in the text.
        positive: v+.
        negatives: `(m, d)` v_j.
        temperature: t.
        epsilon_positive: radius of the ball about v+, at least 0.
        epsilons: radius of the ball about each negative, one for all or `(m,)`, at least 0.

    Source: Robinson (2023), Definition 2 and eq. 4.2, there for a unit anchor.

    Example:
        >>> v = np.array([1.0, 0.0])
        >>> balls = {"epsilon_positive": 0.5, "epsilons": 0.5}
        >>> loss = worst_case_in_balls(v, v, -v[None], temperature=1.0, **balls)
        >>> bool(np.isclose(loss, np.log1p(np.exp(-1.0))))  # l+ is 1 - 0.5, l_j is -1 + 0.5
        True
    """
    check_number("temperature", temperature, above=0)
    for value in (epsilon_positive, *np.ravel(epsilons).tolist()):
        check_number("epsilon", value, minimum=0)
    check_shape("positive", positive.shape, anchor.shape)
    check_shape("negatives", negatives.shape, (None, len(anchor)))
    if np.ndim(epsilons):
        check_shape("epsilons, one for each negative,", np.shape(epsilons), (len(negatives),))
    length = float(np.linalg.norm(anchor))
    lowered = (anchor @ positive - epsilon_positive * length) / temperature
    raised = (negatives @ anchor + np.asarray(epsilons) * length) / temperature
    from scipy.special import logsumexp  # imported late, so that `tammes theory` starts quickly

    return float(np.logaddexp(0.0, logsumexp(raised) - lowered))


@dataclass(frozen=True, kw_only=True)
class LossGradients:
    """Gradients of one anchor's loss.

    Args:
        positive: `(d,)` by v+.
        negatives: `(m, d)` by each v_j.
    """

    positive: Float[np.ndarray, " d"]
    negatives: Float[np.ndarray, "m d"]


def gradients(
    anchor: Vector, positive: Vector, negatives: Float[np.ndarray, "m d"], *, temperature: float
) -> LossGradients:
    """Return the gradients of InfoNCE on inner products: along v for negatives, along -v for the positive.

        d/dv_j = p_j v / t ,        d/dv+ = (p+ - 1) v / t ,        p the softmax over v+ and all v_j

    Args:
        anchor: v.
        positive: v+.
        negatives: `(m, d)` v_j.
        temperature: t.

    Source: Robinson (2023), Lemma 4, proved as Lemma 8. Differs: Lemma 8 leaves out 1/t in one exponent.

    Example:
        >>> v = np.array([1.0, 0.0])
        >>> found = gradients(v, v, v[None], temperature=1.0)
        >>> found.positive[0].item(), found.negatives[0, 0].item()
        (-0.5, 0.5)
    """
    _, shares = _shares(anchor, positive, negatives, temperature, cosine=False)
    by_all = shares[:, None] * anchor / temperature
    return LossGradients(positive=by_all[0], negatives=by_all[1:])


def cosine_gradient(vector: Vector, other: Vector) -> Float[np.ndarray, " d"]:
    """Return the gradient of the cosine of two vectors by the first.

        u / (|v| |u|) - sim(v, u) v / |v|^2

    Args:
        vector: v.
        other: u.

    Raises:
        ValueError: a vector of length zero, which has no cosine.

    Source: Robinson (2023), Lemma 10.

    Example:
        >>> cosine_gradient(np.array([2.0, 0.0]), np.array([0.0, 3.0])).tolist()
        [0.0, 0.5]
    """
    length, of_other = np.linalg.norm(vector), np.linalg.norm(other)
    if length == 0 or of_other == 0:
        raise ValueError("expected vectors of positive length, got one of length zero, which has no cosine")
    unit, towards = vector / length, other / of_other
    return (towards - (unit @ towards) * unit) / length


def normalized_gradients(
    anchor: Vector, positive: Vector, negatives: Float[np.ndarray, "m d"], *, temperature: float
) -> LossGradients:
    """Return the gradients of InfoNCE on cosines by embeddings before they are brought to unit length.

        d/dv_j = p_j / t grad sim(v_j, v) ,        d/dv+ = -(1 - p+) / t grad sim(v+, v)

    The directions are v / |v| - sim(v_j, v) v_j / |v_j| for negatives, and minus that for the positive; their
    length is sqrt(1 - sim^2), so that a negative close to its anchor moves little.

    Args:
        anchor: v.
        positive: v+.
        negatives: `(m, d)` v_j.
        temperature: t.

    Source: Robinson (2023), Lemma 9. Differs: the lemma prints the direction by v+ without its minus sign,
    against its proof, and leaves out 1/t.

    Example:
        >>> v, up = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        >>> found = normalized_gradients(v, up, up[None], temperature=1.0)
        >>> found.positive[0].item(), found.negatives[0, 0].item()
        (-0.5, 0.5)
    """
    others, shares = _shares(anchor, positive, negatives, temperature, cosine=True)
    by_all = np.stack(
        [
            share / temperature * cosine_gradient(row, anchor)
            for share, row in zip(shares, others, strict=True)
        ]
    )
    return LossGradients(positive=by_all[0], negatives=by_all[1:])


def _shares(
    anchor: Vector, positive: Vector, negatives: np.ndarray, temperature: float, *, cosine: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return v+ above all v_j, and p+ - 1 above all p_j."""
    check_number("temperature", temperature, above=0)
    check_shape("positive", positive.shape, anchor.shape)
    check_shape("negatives", negatives.shape, (None, len(anchor)))
    others = np.concatenate([positive[None], negatives])
    similarity = others @ anchor
    if cosine:
        similarity = similarity / (np.linalg.norm(others, axis=1) * np.linalg.norm(anchor))
    from scipy.special import softmax

    shares = softmax(similarity / temperature)
    shares[0] = -shares[1:].sum()  # p+ - 1, without cancellation
    return others, shares
