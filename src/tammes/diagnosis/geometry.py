"""Measures of the cloud of embeddings as a whole: its spectrum, its mean, its dimensions, its evenness."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce

import torch
from jaxtyping import Float
from scipy.special import hyp0f1
from torch import Tensor

from tammes.diagnosis.measure import GROUPS, Measure, jackknife, random_groups, verdict_of
from tammes.diagnostics.alignment import uniformity_of_rows
from tammes.diagnostics.moments import Moments, dead_dimensions, duplicated_dimensions
from tammes.diagnostics.rank import alpha_req, dimensions_for, isoscore, nesum, rankme, stable_rank
from tammes.diagnostics.spectrum import effective_rank

EVEN_ROWS = 5_000
"""Rows at most whose pairs uniformity is the mean of; of more rows it is that of a random sample."""
GAP = 30.0
"""Ratio of successive eigenvalues that counts as an edge behind which dimensions are unused."""
SHIFTED = 0.2
"""Share of the mean vector from which it counts as a fault: about the mean cosine of two rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Spectra:
    """Spectra of embeddings, and of a Gaussian of as many rows and dimensions.

    Args:
        moments: sums over all rows.
        parts: sums over groups of rows, which add up to `moments`.
        null: sums over Gaussian rows.
    """

    moments: Moments
    parts: tuple[Moments, ...]
    null: Moments

    @staticmethod
    def of(points: Float[Tensor, "n dim"], generator: torch.Generator) -> Spectra:
        """Return the spectra of points.

        Args:
            points: n points.
            generator: source of the Gaussian.
        """
        n, dim = points.shape
        # Each eigendecomposition costs dim^3.
        groups = max(1, min(GROUPS if dim <= 512 else GROUPS // 2, n // 2))
        group = random_groups(n, groups)
        parts = tuple(Moments.of(points[group == g]) for g in range(groups))
        return Spectra(
            moments=reduce(Moments.__add__, parts), parts=parts, null=gaussian_moments(n, dim, generator)
        )

    def of_values(self, statistic: Callable[[Tensor], float | None], *, centered: bool) -> Measure:
        """Return a statistic of the spectrum with its interval and its value for the Gaussian.

        Args:
            statistic: function of the eigenvalues of the covariance, or of the singular values.
            centered: whether it is a function of the former.
        """

        def of(moments: Moments) -> float | None:
            values = moments.eigenvalues if centered else moments.singular_values
            return statistic(values[: min(moments.count, len(values))])

        value = of(self.moments)
        wholes = [self.moments - part for part in self.parts]

        def without(kept: list[int]) -> float | None:
            (missing,) = set(range(len(self.parts))) - set(kept)
            return of(wholes[missing])

        low, high = jackknife(without, len(self.parts), value)
        return Measure(value=value, low=low, high=high, null=of(self.null))


def gaussian_moments(n: int, dim: int, generator: torch.Generator) -> Moments:
    """Return the moments of n standard normal rows, without drawing the rows where n is large.

    The scatter matrix around the mean has a Wishart distribution with n - 1 degrees of freedom, drawn as
    L L^T with a triangular L of normal entries and, on its diagonal, roots of chi-squared numbers.

    Args:
        n: number of rows.
        dim: dimension.
        generator: source of the randomness.

    Source: Bartlett (1933).

    Example:
        >>> moments = gaussian_moments(10_000, 3, torch.Generator().manual_seed(0))
        >>> bool((moments.covariance - torch.eye(3)).abs().max() < 0.1)
        True
    """
    if n <= 2 * dim:
        return Moments.of(torch.randn(n, dim, generator=generator, dtype=torch.float64))
    lower = torch.randn(dim, dim, generator=generator, dtype=torch.float64).tril(-1)
    freedom = (n - 1 - torch.arange(dim)).double()
    # A chi-squared number is twice a gamma number of half its degrees of freedom.
    drawn = torch._standard_gamma(freedom / 2, generator=generator)
    lower.diagonal().copy_((2 * drawn).sqrt())
    mean = torch.randn(dim, generator=generator, dtype=torch.float64) / math.sqrt(n)
    return Moments(count=n, total=n * mean, scatter=lower @ lower.T + n * torch.outer(mean, mean))


def spectrum_measures(spectra: Spectra) -> dict[str, Measure]:
    """Return the measures of the spectrum, of the mean and of single dimensions.

    Args:
        spectra: spectra of the embeddings and of the Gaussian.
    """
    moments = spectra.moments
    n, dim = moments.count, len(moments.total)
    most = min(n, dim)
    eigenvalues = moments.eigenvalues
    collapsed = _collapse(eigenvalues, min(n - 1, dim), spectra)

    def measured(
        statistic: Callable[[Tensor], float | None], ceiling: float | None, *, centered: bool = True
    ) -> Measure:
        found = spectra.of_values(statistic, centered=centered)
        return replace(found, ceiling=ceiling)

    ranks = {
        "rankme": measured(rankme, most, centered=False),
        "effective_rank": measured(lambda values: effective_rank(values.sqrt()), min(n - 1, dim)),
        "alpha_req": measured(alpha_req, None),
        "stable_rank": measured(stable_rank, most, centered=False),
        "nesum": measured(nesum, min(n - 1, dim)),
        "isoscore": measured(isoscore, 1.0) if n > dim else replace(measured(isoscore, 1.0), null=None),
        "dimensions_99": measured(lambda values: float(dimensions_for(values)), min(n - 1, dim)),
    }
    found = {name: replace(each, verdict=_in_words(name, each, n, dim)) for name, each in ranks.items()}
    if collapsed is not None:
        found["effective_rank"] = replace(
            found["effective_rank"], verdict=verdict_of("fault", f"collapse: {collapsed}")
        )
    return found | _mean(spectra) | _dimensions(moments, n, dim)


def uniformity_measure(units: Float[Tensor, "n dim"], generator: torch.Generator) -> Measure:
    """Return uniformity with its interval, and that of the uniform distribution on the sphere.

        log E exp(-2 |x - y|^2)  =  -4 + log 0F1(d / 2; 4)        for independent uniform x, y

    Args:
        units: unit vectors; of more than 5,000 a random sample is measured.
        generator: source of the sample.
    """
    n, dim = units.shape
    if n > EVEN_ROWS:
        units = units[torch.randperm(n, generator=generator)[:EVEN_ROWS].sort().values]
    potentials = uniformity_of_rows(units)
    mean = float(potentials.mean())
    value = min(0.0, math.log(mean)) if mean > 0 else None  # of equal rows, but for rounding, 0
    half = 1.96 * 2 * float(potentials.std()) / math.sqrt(len(units)) / mean if mean > 0 else None
    null = -4 + math.log(float(hyp0f1(dim / 2, 4.0)))
    of = f", of {EVEN_ROWS:,} random rows" if n > EVEN_ROWS else ""
    words = f"evenly spread directions have {null:.2f}, equal ones 0{of}"
    return Measure(
        value=value,
        low=None if value is None or half is None else value - half,
        high=None if value is None or half is None else min(0.0, value + half),
        # Points of a regular simplex are the most even: all squared distances are 2 n / (n - 1).
        ceiling=-4 * n / (n - 1) if n <= dim + 1 else null,
        null=null,
        verdict=verdict_of("note" if value is not None and value > null / 2 else "fine", words),
    )


def _collapse(eigenvalues: Tensor, most: int, spectra: Spectra) -> str | None:
    """Return what has collapsed, in words; None if nothing has."""
    total = float(eigenvalues.sum())
    if total == 0:
        return "all rows are equal"
    ratios = eigenvalues[:-1] / eigenvalues[1:].clamp(min=1e-12 * eigenvalues[0])
    within = ratios[: max(0, min(most - 1, int(0.9 * most)))]
    if len(within) and float(within.max()) > GAP:
        used = int((within > GAP).int().argmax()) + 1
        fall = _times(within[used - 1])
        return f"the variance lies in {used} of {most} dimensions, behind which it falls {fall}"
    held = dimensions_for(eigenvalues)
    null = dimensions_for(spectra.null.eigenvalues)
    if most >= 10 and held < 0.1 * null:
        return f"{held} of {most} dimensions hold 99 % of the variance"
    return None


def _times(ratio: Tensor) -> str:
    return f"{float(ratio):,.0f} times" if float(ratio) < 1e6 else "to nothing"


def _mean(spectra: Spectra) -> dict[str, Measure]:
    moments = spectra.moments
    value = moments.mean_share
    wholes = [moments - part for part in spectra.parts]

    def without(kept: list[int]) -> float:
        (missing,) = set(range(len(wholes))) - set(kept)
        return wholes[missing].mean_share

    low, high = jackknife(without, len(wholes), value)
    null = 1 / moments.count
    shifted = value > SHIFTED and (low or 0.0) > 2 * null
    words = (
        f"shifted mean: the mean vector has {100 * value:.0f} % of the mean square, so that cosines are high "
        "whatever the rows; subtract it before comparing"
        if shifted
        else f"the mean vector has {100 * value:.1f} % of the mean square"
    )
    measure = Measure(
        value=value,
        low=None if low is None else max(0.0, low),
        high=None if high is None else min(1.0, high),
        ceiling=0.0,
        null=null,
        verdict=verdict_of("fault" if shifted else "fine", words),
    )
    return {"mean_share": measure}


def _dimensions(moments: Moments, n: int, dim: int) -> dict[str, Measure]:
    covariance = moments.covariance
    if float(covariance.diagonal().max()) <= 1e-14 * float(moments.scatter.diagonal().max()) / n:
        dead = torch.ones(dim, dtype=torch.bool)
        copies = torch.empty(0, 2, dtype=torch.int64)
    else:
        dead, copies = dead_dimensions(covariance), duplicated_dimensions(covariance)
    copied = len(copies[:, 1].unique()) if n > 2 else 0
    count = int(dead.sum())
    listed = ", ".join(str(each) for each in dead.nonzero()[:5, 0].tolist()) + (", ..." if count > 5 else "")
    pairs = ", ".join(f"{a} and {b}" for a, b in copies[:3].tolist()) + (", ..." if len(copies) > 3 else "")
    dead_words = f"dead dimensions: {count} of {dim} do not vary ({listed})"
    copied_words = f"duplicated dimensions: {copied} of {dim} are copies ({pairs})"
    return {
        "dead_dimensions": _faults(count, dead_words, "each dimension varies"),
        "duplicated_dimensions": _faults(copied, copied_words, "no dimension is a copy of another"),
    }


def _faults(count: int, fault: str, fine: str) -> Measure:
    """Return a number of faulty dimensions, with the verdict in words."""
    verdict = verdict_of("fault", fault) if count else verdict_of("fine", fine)
    return Measure(value=count, low=count, high=count, ceiling=0, null=0, verdict=verdict)


def _in_words(name: str, measure: Measure, n: int, dim: int) -> str:
    """Return what a measure of the spectrum says, where it says no fault by itself."""
    value, null = measure.value, measure.null
    if value is None:
        return "not measured: there are fewer than two dimensions with variance"
    of = {
        "rankme": f"not centered, epsilon 1e-7, {n:,} rows of {dim} dimensions",
        "effective_rank": f"of the centered rows, epsilon 0, {n:,} rows of {dim} dimensions",
        "alpha_req": "exponent of the decay of the covariance's eigenvalues; readouts are best near 1",
        "stable_rank": "squared Frobenius over squared spectral norm, not centered",
        "nesum": "sum over largest eigenvalue of the covariance",
        "isoscore": "1 where the variance is even in all dimensions",
        "dimensions_99": "principal directions with 99 % of the variance",
    }[name]
    if name == "alpha_req" or null is None or null <= 0:
        return verdict_of("note" if name == "alpha_req" else "fine", of)
    share = value / null
    few = share < 0.25
    return verdict_of("note" if few else "fine", f"{100 * share:.0f} % of a Gaussian's; {of}")
