"""Which candidates are near enough to the boundary: a threshold on their distance, round by round."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from tammes.checks import is_finite


class Acceptance(ABC):
    """A threshold for each round; a candidate is accepted where its distance is below."""

    @abstractmethod
    def threshold(self, round_: int, distances: Float[Tensor, " n"]) -> float:
        """The threshold of a round.

        Args:
            round_: from 1; a round begins with a new classifier.
            distances: of rows as they are from the boundary of that classifier, (n,).
        """


@dataclass(frozen=True, kw_only=True)
class Nearest(Acceptance):
    """No threshold: of all candidates the nearest is kept.

    Example:
        >>> import torch
        >>> Nearest().threshold(3, torch.ones(2))
        0.0
    """

    def threshold(self, round_: int, distances: Float[Tensor, " n"]) -> float:
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Halving(Acceptance):
    """A threshold that is halved from round to round, down to the least.

        a_t = max( least, start / 2^(t-1) )

    Unit embeddings are nearly always within 1 of a boundary, so that with a start of pi the first two rounds
    accept everything. Without a floor nothing would be accepted soon: a_10 is 0.006.

    Args:
        start: a_1, in distance between unit embeddings.
        least: where it stops.

    Raises:
        ValueError: For a least that is not positive, which nothing reaches, or a start below it.

    Source: Weber and Bachman (2022), Theorem 3.2, which has no floor; "the parameter a_t may be chosen via
    hyperparameter search".

    Example:
        >>> import torch
        >>> [round(Halving().threshold(t, torch.zeros(1)), 3) for t in (1, 2, 3, 9)]
        [3.142, 1.571, 0.785, 0.05]
    """

    start: float = math.pi
    least: float = 0.05

    def __post_init__(self) -> None:
        if not (is_finite(self.least) and self.least > 0):
            raise ValueError(
                "no candidate is nearer than nothing: least must be a positive distance, got "
                f"{self.least} (--positives.acceptance.least)"
            )
        if not (is_finite(self.start) and self.start >= self.least):
            raise ValueError(
                f"the threshold falls from start to least, got start={self.start} below least={self.least} "
                "(--positives.acceptance.start)"
            )

    def threshold(self, round_: int, distances: Float[Tensor, " n"]) -> float:
        return max(self.least, math.ldexp(self.start, 1 - round_))


@dataclass(frozen=True, kw_only=True)
class Quantile(Acceptance):
    """The distance below which a share of the images are, as they are and not augmented.

    Args:
        share: of the images, between 0 and 1.

    Raises:
        ValueError: For a share that is not between 0 and 1.

    Example:
        >>> import torch
        >>> Quantile(share=0.5).threshold(1, torch.tensor([0.3, 0.1, 0.2, 0.4])) < 0.3
        True
    """

    share: float = 0.25

    def __post_init__(self) -> None:
        if not (is_finite(self.share) and 0 < self.share < 1):
            raise ValueError(
                f"share must be above 0 and below 1, got {self.share} (--positives.acceptance.share)"
            )

    def threshold(self, round_: int, distances: Float[Tensor, " n"]) -> float:
        return float(distances.kthvalue(math.ceil(self.share * len(distances))).values)
