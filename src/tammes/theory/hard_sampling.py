"""Exact sampling of hard negatives by rejection, which the weights of a coupling replace in training."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.checks import check_integer, check_number

ROUNDS = 10_000
"""Most rounds of proposals: then fewer than one in ten thousand was accepted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HardSample:
    """Candidates drawn from the hard distribution by rejection.

    Attributes:
        indices: numbers of the drawn candidates, with repetitions.
        proposals: number of candidates that were proposed for them.
    """

    indices: Int[np.ndarray, " k"]
    proposals: int


def sample_hard(
    logits: Float[np.ndarray, " candidates"],
    *,
    beta: float,
    k: int,
    generator: np.random.Generator,
    largest: float | None = None,
) -> HardSample:
    """Draw k candidates from q_beta by rejection.

        propose j uniformly, accept it with the probability e^{beta (l_j - l_max)},

    so that candidate j is drawn with the probability e^{beta l_j} / sum_i e^{beta l_i}. The mean of e^{l}
    over the draws estimates what HCL computes from all candidates by weights. The share `acceptance_rate` of
    the proposals is accepted, the less the larger beta.

    Args:
        logits: `(candidates,)` logits of the candidates of one anchor, true negatives for q_beta^-.
        beta: concentration, at least 0; it multiplies the logit.
        k: number of draws, at least 1.
        generator: source of the randomness.
        largest: bound of the logits, for example 1/temperature where they come one by one; by default the
            largest of them, with which most are accepted.

    Raises:
        ValueError: no candidate, a logit that is not finite or is above `largest`, or an acceptance rate so
            low that the draws would not end.

    Source: Robinson (2023), section 3.3.2, which takes weights instead.

    Example:
        >>> drawn = sample_hard(np.array([0.0, 2.0]), beta=1.0, k=1000, generator=np.random.default_rng(0))
        >>> bool(abs((drawn.indices == 1).mean() - 1 / (1 + np.exp(-2))) < 0.05)
        True
    """
    bound = _bound(logits, largest)
    check_number("beta", beta, minimum=0)
    check_integer("k", k)
    accept = np.exp(beta * (logits - bound))
    found: list[Int[np.ndarray, " some"]] = []
    proposals, held = 0, 0
    for _ in range(ROUNDS):
        proposed = generator.integers(len(logits), size=max(64, k))
        taken = np.flatnonzero(generator.random(len(proposed)) < accept[proposed])
        if held + len(taken) >= k:
            last = int(taken[k - held - 1])
            found.append(proposed[taken[: k - held]])
            return HardSample(indices=np.concatenate(found), proposals=proposals + last + 1)
        found.append(proposed[taken])
        proposals, held = proposals + len(proposed), held + len(taken)
    raise ValueError(
        f"{proposals:,} proposals gave {held} of {k} draws, since about one in {1 / accept.mean():.3g} is "
        "accepted: choose a smaller beta, or weights instead of rejection"
    )


def acceptance_rate(
    logits: Float[np.ndarray, " candidates"], *, beta: float, largest: float | None = None
) -> float:
    """Return the probability that `sample_hard` accepts a proposal.

        mean over j of e^{beta (l_j - l_max)}

    Args:
        logits: `(candidates,)` logits of the candidates of one anchor.
        beta: concentration, at least 0.
        largest: bound of the logits, as in `sample_hard`.

    Raises:
        ValueError: no candidate, or a logit that is not finite or is above `largest`.

    Example:
        >>> round(acceptance_rate(np.array([0.0, 2.0]), beta=1.0), 4)
        0.5677
    """
    bound = _bound(logits, largest)
    return float(np.exp(check_number("beta", beta, minimum=0) * (logits - bound)).mean())


def _bound(logits: Float[np.ndarray, " candidates"], largest: float | None) -> float:
    """Return the bound of the logits, checked."""
    if logits.ndim != 1 or len(logits) == 0 or not np.isfinite(logits).all():
        raise ValueError(f"expected finite logits (candidates,) of at least one candidate, got {logits}")
    top = float(logits.max())
    if largest is None:
        return top
    if not (math.isfinite(largest) and largest >= top):
        raise ValueError(f"largest must be at least {top:g}, the largest logit, got {largest}")
    return largest
