"""What the page of a diagnosis draws: a map of some rows, the closest pairs, counts, and the spectrum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from tammes.diagnosis.geometry import Spectra
from tammes.diagnosis.labeled import LabelFindings, Labels
from tammes.diagnosis.neighborhoods import Neighborhoods

MAPPED = 2_000
"""Rows on the map."""
PAIRS_SHOWN = 300
"""Closest pairs on the page."""
BINS = 60
"""Bins of the k-occurrence on the page."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """What the page draws: a few thousand numbers, whatever the number of rows.

    Args:
        eigenvalues: eigenvalues of the covariance, largest first, divided by their sum.
        gaussian: the same of a Gaussian of as many rows and dimensions.
        places: (m, 2) coordinates of some rows on the map, in principal directions.
        shown: row of the table of each place.
        share: share of the variance in the two directions.
        pairs: (p, 2) rows of the table of the closest pairs.
        ratios: (p,) distance of each pair over that to the k-th neighbor.
        distances: (p,) distance of each pair at length one.
        threshold: ratio up to which a pair counts as nearly equal.
        occurrence: (bins,) rows by k-occurrence, from 0; the last bin holds all above.
        confusion: (classes, classes) confusion by neighbors; None without labels.
        classes: names of the classes.
        overlap: (bins,) rows by the overlap of neighbors; None without a second embedding.
    """

    eigenvalues: NDArray[np.float64]
    gaussian: NDArray[np.float64]
    places: NDArray[np.float64]
    shown: NDArray[np.int64]
    share: float
    pairs: NDArray[np.int64]
    ratios: NDArray[np.float64]
    distances: NDArray[np.float64]
    threshold: float
    occurrence: NDArray[np.int64]
    confusion: NDArray[np.float64] | None = None
    classes: tuple[str, ...] = ()
    overlap: NDArray[np.int64] | None = None


def drawn(
    units: Float[Tensor, "n dim"],
    spectra: Spectra,
    hoods: Neighborhoods,
    *,
    labels: Labels | None,
    findings: LabelFindings | None,
    overlap: Float[Tensor, " n"] | None,
    generator: torch.Generator,
) -> Drawn:
    """Return what the page draws of a diagnosis.

    Args:
        units: n unit vectors.
        spectra: spectra of the embeddings and of the Gaussian.
        hoods: neighbors of all rows.
        labels: class of each row.
        findings: what labels show of each row.
        overlap: share of neighbors that a second embedding keeps, of each row.
        generator: source of the random rows on the map.
    """
    shown = _shown(hoods, findings, generator)
    places, share = _places(units[shown].double())
    pairs, ratios, distances = _closest(hoods)
    scaled = [
        each / each.sum().clamp(min=1e-300)
        for each in (spectra.moments.eigenvalues, spectra.null.eigenvalues)
    ]
    return Drawn(
        eigenvalues=scaled[0].numpy(),
        gaussian=scaled[1].numpy(),
        places=places.numpy(),
        shown=shown.numpy(),
        share=share,
        pairs=pairs.numpy(),
        ratios=ratios.double().numpy(),
        distances=distances.double().numpy(),
        threshold=hoods.duplicates.threshold,
        occurrence=torch.bincount(hoods.occurrence.clamp(max=BINS - 1), minlength=BINS).numpy(),
        confusion=None if findings is None else findings.confusion.double().numpy(),
        classes=() if labels is None else labels.names,
        overlap=None if overlap is None else torch.histc(overlap, bins=11, min=0, max=1).long().numpy(),
    )


def _places(chosen: Tensor) -> tuple[Tensor, float]:
    """Return coordinates in the two directions of largest variance, and their share of it."""
    centered = chosen - chosen.mean(dim=0)
    _, sigma, axes = torch.linalg.svd(centered, full_matrices=False)
    places = centered @ axes[:2].T
    if places.shape[1] < 2:
        places = torch.cat([places, torch.zeros(len(places), 1, dtype=torch.float64)], dim=1)
    total = float(sigma.square().sum())
    return places, float(sigma[:2].square().sum()) / total if total > 0 else 0.0


def _shown(hoods: Neighborhoods, findings: LabelFindings | None, generator: torch.Generator) -> Tensor:
    """Return the rows on the map: flagged ones first, filled up by random ones."""
    flags = [hoods.hub, hoods.duplicates.near, hoods.duplicates.exact]
    if findings is not None:
        flags.append(findings.error)
    first = torch.zeros(0, dtype=torch.int64)
    # Each kind of fault has its part, so that thousands of duplicates do not crowd out a few hubs.
    for flag in sorted(flags, key=lambda each: int(each.sum())):
        rows = flag.nonzero()[:, 0]
        rows = rows[torch.randperm(len(rows), generator=generator)[: MAPPED // (2 * len(flags))]]
        first = torch.cat([first, rows[~torch.isin(rows, first)]])
    n = len(hoods.occurrence)
    rest = torch.randperm(n, generator=generator)[:MAPPED]
    return torch.cat([first, rest[~torch.isin(rest, first)]])[: min(MAPPED, n)].sort().values


def _closest(hoods: Neighborhoods) -> tuple[Tensor, Tensor, Tensor]:
    """Return the closest pairs, their ratio to the k-th neighbor and their distance.

    Equal rows leave room for other pairs: of many copies the page would show nothing else.
    """
    near = hoods.neighbors
    ratio = near.distances[:, 0] / near.distances[:, -1].clamp(min=1e-30)
    order = ratio.argsort(stable=True)
    equal = hoods.duplicates.exact[order]
    first = torch.cat([order[equal][: 2 * PAIRS_SHOWN // 3], order[~equal][: 4 * PAIRS_SHOWN // 3]])
    pairs = torch.stack([first, near.indices[first, 0]], dim=1).sort(dim=1).values
    unique, inverse = torch.unique(pairs, dim=0, return_inverse=True)
    ratios = torch.full((len(unique),), torch.inf).scatter_reduce(0, inverse, ratio[first], "amin")
    distances = torch.full((len(unique),), torch.inf).scatter_reduce(
        0, inverse, near.distances[first, 0], "amin"
    )
    order = ratios.argsort()[:PAIRS_SHOWN]
    return unique[order], ratios[order], distances[order]
