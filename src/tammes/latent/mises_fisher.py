"""The von Mises-Fisher distribution, the analogue of the normal distribution on the sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from scipy.special import hyp0f1, ive
from torch import Tensor
from torch.nn.functional import normalize
from typing_extensions import override

from tammes.checks import check_number
from tammes.latent.kernel import SphericalKernel, check_dimension
from tammes.latent.streams import Streams
from tammes.theory.partition_function import SERIES, UNDERFLOW

_PROPOSALS = 4
"""Proposals for each center at a time; at least two thirds of them are accepted."""


@dataclass(frozen=True, kw_only=True)
class MisesFisher(SphericalKernel):
    """Von Mises-Fisher distribution, sampled exactly.

        p(z)  proportional to  exp(concentration * z . center),        z  =  w center + sqrt(1 - w^2) v

    with v uniform among the unit vectors orthogonal to the center. A Beta variable proposes w, and rejection
    gives it the exact density; the cost is the same at every concentration.

    Args:
        concentration: kappa, at least 0; 0 is uniform. The paper's conditional of positives has 1/tau.

    Raises:
        ValueError: the concentration is negative or not finite.

    Source: Wood (1994), algorithm VM*; Weber and Bachman (2022), eq. A.1.

    Example:
        >>> centers = normalize(torch.ones(1, 5000, 3), dim=-1)
        >>> drawn = MisesFisher(concentration=10.0)(centers, Streams.of((0,), "noise"))
        >>> round(float((drawn * centers).sum(-1).mean()), 1), round(mean_resultant_length(3, 10.0), 1)
        (0.9, 0.9)
    """

    concentration: float

    def __post_init__(self) -> None:
        check_number("MisesFisher.concentration", self.concentration, minimum=0)

    @override
    def __call__(self, centers: Float[Tensor, "runs n d"], streams: Streams) -> Float[Tensor, "runs n d"]:
        _, n, d = centers.shape
        check_dimension("MisesFisher", d)
        # In double precision: at large concentrations 1 - w loses its digits in single precision.
        w = self._heights(n, d, replace(streams, dtype=torch.float64))
        noise = streams.normal(n, d)
        across = normalize(noise - (noise * centers).sum(-1, keepdim=True) * centers, dim=-1)
        sine = ((1 - w) * (1 + w)).clamp(min=0).sqrt()
        return normalize(w[..., None].to(noise) * centers + sine[..., None].to(noise) * across, dim=-1)

    def _heights(self, n: int, d: int, streams: Streams) -> Float[Tensor, "runs n"]:
        """Draw w = z . center by rejection; each run accepts its proposals in the order it drew them."""
        kappa, m = self.concentration, d - 1
        # Wood's steps in v = 1 - w and h = 1 - x0, so that nothing cancels at large kappa.
        b = m / (2 * kappa + math.hypot(2 * kappa, m))
        x, h = (1 - b) / (1 + b), 2 * b / (1 + b)
        heights = streams.normal(n)
        waiting = torch.ones_like(heights, dtype=torch.bool)
        while bool(waiting.any()):
            # A run that has all of its heights draws no more, as it would alone.
            runs = waiting.any(dim=1).nonzero().flatten()
            some = replace(streams, generators=tuple(streams.generators[run] for run in runs.tolist()))
            # One coordinate t of a uniform unit vector in R^(m+1) has (1 + t)/2 ~ Beta(m/2, m/2).
            coordinate = normalize(some.normal(n, _PROPOSALS, m + 1), dim=-1)[..., 0]
            beta = (1 + coordinate) / 2
            v = 2 * b * beta / (1 - (1 - b) * beta)
            # kappa w + m log(1 - x0 w) - c, c the same at w = x0.
            gain = kappa * (h - v) + m * torch.log((1 + x * (v / h)) / (1 + x))
            accepted = gain >= some.uniform(n, _PROPOSALS).log()
            first = accepted.to(torch.uint8).argmax(dim=-1, keepdim=True)
            found = waiting[runs] & accepted.any(dim=-1)
            heights[runs] = torch.where(found, 1 - v.gather(-1, first).squeeze(-1), heights[runs])
            waiting[runs] &= ~found
        return heights


def mean_resultant_length(dim: int, concentration: float) -> float:
    """Return the expected inner product of a von Mises-Fisher vector with its center.

        A_d(kappa)  =  I_{d/2}(kappa) / I_{d/2 - 1}(kappa)

    Args:
        dim: dimension d of the space that holds the sphere, at least 2.
        concentration: kappa, at least 0.

    Raises:
        ValueError: a dimension below 2, or a concentration that is negative or not finite.

    Source: Mardia and Jupp (2000), eq. 9.3.7.

    Example:
        >>> round(mean_resultant_length(3, 2.0), 6), round(1 / math.tanh(2.0) - 1 / 2.0, 6)
        (0.537315, 0.537315)
    """
    half = check_dimension("dim", dim) / 2
    kappa = MisesFisher(concentration=concentration).concentration
    above, below = float(ive(half, kappa)), float(ive(half - 1, kappa))
    if above > UNDERFLOW:
        return above / below
    if kappa / half * kappa < SERIES:
        # The same quotient by I_v(x) = (x/2)^v / Gamma(v + 1) 0F1(v + 1; x^2/4): the factors in front, which
        # underflow, cancel.
        return kappa / dim * float(hyp0f1(half + 1, kappa**2 / 4)) / float(hyp0f1(half, kappa**2 / 4))
    # The derivative of log I_v(x) - v log x by Debye's expansion, whose error falls like 1 / s^3: here one of
    # both numbers is in the hundreds at least.
    order = half - 1
    s = math.hypot(order, kappa)
    share, by = kappa / s, 1 / s
    return kappa / (order + s) - share * by / 2 + share * (5 * (order / s) ** 2 - 1) / 8 * by * by
