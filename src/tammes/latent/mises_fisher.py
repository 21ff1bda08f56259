"""The von Mises-Fisher distribution: the normal distribution's kin on the sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from scipy.special import hyp0f1, ive
from torch import Tensor
from torch.nn.functional import normalize

from tammes.checks import check_integer, is_finite
from tammes.latent.kernel import Kernel
from tammes.latent.streams import Streams

_AT_ONCE = 4
"""Proposals for each center at a time; at least two thirds of them are accepted."""

_UNDERFLOW = 1e-280
"""Bessel functions below have lost digits, or all of them."""


@dataclass(frozen=True, kw_only=True)
class MisesFisher(Kernel):
    """The density exp(concentration * z . center) on the unit sphere, sampled exactly.

    z = w center + sqrt(1 - w^2) v, v uniform among the unit vectors orthogonal to the center. w is proposed
    by a Beta variable and accepted or rejected, which leaves the exact density. No table, no series, and the
    same work at every concentration.

    Args:
        concentration: kappa, not negative; 0 is uniform. The paper's conditional of positives has 1/tau.

    Raises:
        ValueError: a negative concentration.

    Source: Wood (1994), algorithm VM*; Weber and Bachman (2022), eq. A.1.

    Example:
        >>> centers = normalize(torch.ones(1, 5000, 3), dim=-1)
        >>> drawn = MisesFisher(concentration=10.0)(centers, Streams.of((0,), "noise"))
        >>> round(float((drawn * centers).sum(-1).mean()), 1), round(mean_resultant_length(3, 10.0), 1)
        (0.9, 0.9)
    """

    concentration: float

    def __post_init__(self) -> None:
        if not (is_finite(self.concentration) and self.concentration >= 0):
            raise ValueError(
                f"MisesFisher.concentration must be a number of at least 0, got {self.concentration!r}"
            )

    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        """See `Kernel`."""
        _, n, d = centers.shape
        # In double precision: at large concentrations 1 - w has few digits in any other.
        w = self._heights(
            n,
            check_integer("MisesFisher", d, minimum=2, reason="in one dimension a sphere is two points"),
            replace(streams, dtype=torch.float64),
        )
        noise = streams.normal(n, d)
        across = normalize(noise - (noise * centers).sum(-1, keepdim=True) * centers, dim=-1)
        sine = ((1 - w) * (1 + w)).clamp(min=0).sqrt()
        return normalize(w[..., None].to(noise) * centers + sine[..., None].to(noise) * across, dim=-1)

    def _heights(self, n: int, d: int, streams: Streams) -> Float[Tensor, "runs n"]:
        """W = z . center, (runs, n), by rejection; each run accepts its proposals in the order drawn."""
        kappa, m = self.concentration, d - 1
        b = m / (2 * kappa + math.hypot(2 * kappa, m))
        x = (1 - b) / (1 + b)
        # log(1 - x^2) without the cancellation at large concentrations: 1 - x^2 = 4b / (1 + b)^2.
        most = kappa * x + m * (math.log(4 * b) - 2 * math.log1p(b))
        heights = streams.normal(n)
        waiting = torch.ones_like(heights, dtype=torch.bool)
        while bool(waiting.any()):
            # A coordinate t of a uniform point on S^m has (1 + t)/2 ~ Beta(m/2, m/2) in R^m.
            beta = (1 + _coordinate(n, m, streams)) / 2
            w = (1 - (1 + b) * beta) / (1 - (1 - b) * beta)
            accepted = kappa * w + m * torch.log1p(-x * w) - most >= streams.uniform(n, _AT_ONCE).log()
            first = accepted.to(torch.uint8).argmax(dim=-1, keepdim=True)
            found = waiting & accepted.any(dim=-1)
            heights = torch.where(found, w.gather(-1, first).squeeze(-1), heights)
            waiting = waiting & ~found
        return heights


def _coordinate(n: int, m: int, streams: Streams) -> Float[Tensor, "runs n proposals"]:
    """A number whose (1 + t)/2 is Beta(m/2, m/2): one coordinate of a uniform unit vector in m + 1 dims."""
    return normalize(streams.normal(n, _AT_ONCE, m + 1), dim=-1)[..., 0]


def mean_resultant_length(dim: int, concentration: float) -> float:
    """The expected inner product of a von Mises-Fisher vector with its center.

        A_d(kappa)  =  I_{d/2}(kappa) / I_{d/2 - 1}(kappa)

    Args:
        dim: d, of the space the sphere lies in, at least 2.
        concentration: kappa, not negative.

    Raises:
        ValueError: a dimension below 2, a negative concentration, or thousands of dimensions with a
            concentration like theirs.

    Source: Mardia and Jupp (2000), eq. 9.3.7.

    Example:
        >>> round(mean_resultant_length(3, 2.0), 6), round(1 / math.tanh(2.0) - 1 / 2.0, 6)
        (0.537315, 0.537315)
    """
    half, kappa = (
        check_integer("dim", dim, minimum=2, reason="in one dimension a sphere is two points") / 2,
        MisesFisher(concentration=concentration).concentration,
    )
    above, below = float(ive(half, kappa)), float(ive(half - 1, kappa))
    if above > _UNDERFLOW:
        return above / below
    # The same by I_v(x) = (x/2)^v / Gamma(v + 1) 0F1(v + 1; x^2/4), of which the first factors are too small.
    length = kappa / dim * float(hyp0f1(half + 1, kappa**2 / 4)) / float(hyp0f1(half, kappa**2 / 4))
    if not math.isfinite(length):
        raise ValueError(f"a concentration of {kappa:g} in {dim} dimensions is beyond what a float can hold")
    return length
