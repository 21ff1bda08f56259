"""Which candidates are near enough to the boundary: a threshold on their distance, round by round.

A candidate is accepted where its distance is below the threshold a_t. Algorithm 1 of Weber and Bachman (2022)
rejects |w_t . f(x+)| >= a_t, so that the threshold itself is not accepted, and leaves a_t "to hyperparameter
search"; their Theorem 3.2 has a_t = pi / 2^(t-1).
"""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_number


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """No threshold: of all candidates the nearest is kept.

    Example:
        >>> Nearest().threshold(3, torch.ones(2))
        tensor(0.)
    """

    def threshold(self, round_: int, distances: Float[Tensor, "*runs n"]) -> Float[Tensor, "*runs"]:
        """Return 0, which no distance is below."""
        return distances.new_zeros(distances.shape[:-1])


@dataclass(frozen=True, kw_only=True)
class Halving:
    """Threshold that is halved from round to round, down to a lower bound.

        a_t = max( lower_bound, start / 2^(t-1) )

    Unit embeddings are nearly always within 1 of a boundary, so that with a start of pi the first two rounds
    accept everything. Without a lower bound soon nothing would be accepted: a_10 is 0.006.

    Args:
        start: a_1, in distance between unit embeddings, at least the lower bound.
        lower_bound: smallest threshold, above 0.

    Raises:
        ValueError: the lower bound is not positive, which no distance is below, or the start is smaller.

    Source: Weber and Bachman (2022), Theorem 3.2, which has no lower bound.

    Example:
        >>> [round(float(Halving().threshold(t, torch.zeros(1))), 3) for t in (0, 1, 2, 3, 9)]
        [6.283, 3.142, 1.571, 0.785, 0.05]
    """

    start: float = math.pi
    lower_bound: float = field(default=0.05, metadata={"formerly": "least"})

    def __post_init__(self) -> None:
        check_number("lower_bound", self.lower_bound, above=0)
        check_number("start", self.start, minimum=self.lower_bound, reason="the threshold falls from there")

    def threshold(self, round_: int, distances: Float[Tensor, "*runs n"]) -> Float[Tensor, "*runs"]:
        """Return a_t of each run, in float64.

        Args:
            round_: t. Algorithm 1 counts rounds from 0, with a_0 = 2 a_1; a training run counts from 1.
            distances: distances of the points of each run; only the shape matters.
        """
        value = max(self.lower_bound, math.ldexp(self.start, 1 - round_))
        return distances.new_full(distances.shape[:-1], value, dtype=torch.float64)


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """Smallest distance that at least a share of the points, not augmented, do not exceed.

    It follows the embedding: as the classes separate it grows, and a region that candidates reached stays
    within reach. The paper has no quantile. This one is the inverse of the empirical distribution function,
    so that a share of 1 is the largest distance: nearly everything is accepted, as in the first rounds of the
    paper's schedule.

    Args:
        share: share of the points, above 0 and at most 1.

    Raises:
        ValueError: the share is out of its range.

    Example:
        >>> distances = torch.tensor([0.3, 0.1, 0.2, 0.4])
        >>> [round(float(Quantile(share=share).threshold(1, distances)), 1) for share in (0.5, 0.51, 1.0)]
        [0.2, 0.3, 0.4]
    """

    share: float = 0.25

    def __post_init__(self) -> None:
        check_number("share", self.share, above=0, maximum=1)

    def threshold(self, round_: int, distances: Float[Tensor, "*runs n"]) -> Float[Tensor, "*runs"]:
        """Return the quantile of each run.

        Args:
            round_: unused: the quantile follows the distances, not the rounds.
            distances: distances of the points of each run from the boundary of its classifier.
        """
        # The inverse of the empirical distribution function has rank ceil(share * n); rounding to the nearest
        # rank could leave fewer points than the share within the threshold.
        return distances.kthvalue(math.ceil(self.share * distances.shape[-1]), dim=-1).values


Acceptance = Nearest | Halving | Quantile
