"""The diagnosis of embeddings: all measures, in the order in which they need the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_integer, check_seed
from tammes.diagnosis.compared import comparison_measures
from tammes.diagnosis.diagnosis import Diagnosis, next_steps, with_faults
from tammes.diagnosis.drawn import drawn
from tammes.diagnosis.geometry import Spectra, spectrum_measures, uniformity_measure
from tammes.diagnosis.input import Given
from tammes.diagnosis.labeled import LabelFindings, label_measures, pair_measures
from tammes.diagnosis.measure import Measure
from tammes.diagnosis.neighborhoods import (
    Neighborhoods,
    euclidean_hubs,
    leak_measure,
    neighborhood_measures,
    neighborhood_null,
)
from tammes.diagnostics.duplicates import equal_rows
from tammes.diagnostics.nearest import Neighbors, indexed_neighbors, nearest_neighbors

EXACT = 200_000
"""Rows up to which neighbors are searched exactly."""
Columns = dict[str, NDArray[Any]]


def diagnose(
    embeddings: Float[Tensor, "n dim"] | NDArray[Any] | Sequence[Any],
    *,
    labels: Sequence[Any] | NDArray[Any] | Tensor | None = None,
    pairs: Sequence[Any] | NDArray[Any] | Tensor | None = None,
    splits: Sequence[Any] | NDArray[Any] | Tensor | None = None,
    against: Float[Tensor, "n other"] | NDArray[Any] | None = None,
    names: Sequence[str] | NDArray[Any] | None = None,
    neighbors: int = 20,
    batch: int | None = None,
    drop: bool = False,
    seed: int = 0,
) -> Diagnosis:
    """Diagnose embeddings: how many dimensions they use, their neighbors, duplicates, labels, and faults.

    Args:
        embeddings: n rows of numbers, none of length zero. Neighbors are those by cosine.
        labels: class of each row, as a number or a text.
        pairs: row number of each row's positive, -1 for none; or a matrix (pairs, 2) of row numbers.
        splits: split of each row, such as `train` and `test`, between which duplicates are leaks.
        against: embeddings of the same rows by another encoder.
        names: text or file name of each row, which the page shows.
        neighbors: nearest rows that vote and are compared; n must be larger.
        batch: pairs in a training batch, for the advice on negatives.
        drop: whether rows with NaN or infinity, and rows of length zero, are left out instead of refused.
        seed: random seed of samples and of the Gaussian beside each measure.

    Returns:
        Measures with intervals and verdicts, and a score and a flag of each row.

    Raises:
        ValueError: no matrix, rows that are not usable, fewer rows than neighbors, labels, splits, pairs or a
            second embedding that do not fit, or one class alone.
        ImportError: more than 200,000 rows, and faiss is not installed.

    Example:
        >>> x = torch.randn(300, 16, generator=torch.Generator().manual_seed(0))
        >>> x[7] = x[3]
        >>> diagnose(x).faults
        ('exact duplicates',)
    """
    check_integer("neighbors", neighbors)
    check_seed("seed", seed)
    given = Given.of(
        embeddings, labels=labels, pairs=pairs, splits=splits, against=against, names=names, drop=drop
    )
    return measured(given, neighbors=neighbors, batch=batch, seed=seed)


def measured(given: Given, *, neighbors: int = 20, batch: int | None = None, seed: int = 0) -> Diagnosis:
    """Return the diagnosis of rows whose input is checked; the points are overwritten.

    Args:
        given: usable rows, and what is known of them; the points are scaled to length one in place.
        neighbors: number of neighbors, below n.
        batch: pairs in a training batch.
        seed: random seed.

    Raises:
        ValueError: fewer rows than neighbors.
    """
    points = given.points
    n, dim = points.shape
    if neighbors >= n:
        what_next = f"give neighbors={n - 1} or fewer" if n > 1 else "give two rows or more"
        raise ValueError(f"expected more rows than the {neighbors} neighbors of each, got {n:,}: {what_next}")
    generator = torch.Generator().manual_seed(seed)
    spectra = Spectra.of(points, generator)
    measures = {
        "rows": _count(n, "rows measured"),
        "dimensions": _count(dim, "numbers of each row"),
        **spectrum_measures(spectra),
    }
    advice: tuple[str, ...] = ()
    if given.pairs is not None:
        found, advice = pair_measures(points, given.pairs, batch=batch)
        measures |= found
    # From here on lengths are gone: what needs them comes before.
    first_equal = equal_rows(points)
    euclidean = euclidean_hubs(points, generator)
    compared = None if given.against is None else points.clone()
    _scale_to_one(points)
    measures["uniformity"] = uniformity_measure(points, generator)
    near = _search(points, neighbors, generator)
    hoods = Neighborhoods.of(near, first_equal, euclidean)
    measures |= neighborhood_measures(hoods, neighborhood_null(n, dim, hoods.k, generator), dim)
    leaks = _leaks(given, hoods)
    labeled = _labeled(given, near, generator, batch)
    second = _compared(given, compared, near, generator)
    complete = with_faults(measures | leaks.measures | labeled.measures | second.measures)
    return Diagnosis(
        measures=complete,
        rows=given.columns | _table(given.rows, hoods) | leaks.columns | labeled.columns | second.columns,
        advice=(*next_steps(complete), *(labeled.findings.advice if labeled.findings else advice)),
        drawn=drawn(
            points,
            spectra,
            hoods,
            labels=given.labels,
            findings=labeled.findings,
            overlap=second.overlap,
            generator=generator,
        ),
        about=given.about,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Measures that depend on what is known of the rows, and columns of their table; empty if it is not."""

    measures: dict[str, Measure]
    columns: Columns
    findings: LabelFindings | None = None
    overlap: Tensor | None = None


NOTHING = _Part(measures={}, columns={})


def _count(value: int, words: str) -> Measure:
    return Measure(value=value, low=value, high=value, verdict=f"fine: {words}")


def _scale_to_one(points: Tensor) -> None:
    """Scale points to length one in place, block by block: a copy would double the memory."""
    for block in points.split(65_536):
        block /= block.abs().amax(dim=1, keepdim=True)
        block /= block.norm(dim=1, keepdim=True)


def _search(units: Tensor, k: int, generator: torch.Generator) -> Neighbors:
    if len(units) <= EXACT:
        return nearest_neighbors(units, k)
    return indexed_neighbors(units, k, generator=generator)


def _leaks(given: Given, hoods: Neighborhoods) -> _Part:
    if given.splits is None:
        return NOTHING
    measure, leaks = leak_measure(hoods.duplicates, given.splits)
    return _Part(measures={"leaked": measure}, columns={"leaked": leaks.numpy()})


def _labeled(given: Given, near: Neighbors, generator: torch.Generator, batch: int | None) -> _Part:
    labels = given.labels
    if labels is None:
        return NOTHING
    measures, findings = label_measures(given.points, near.indices, labels, generator, batch=batch)
    names = np.array(labels.names)
    columns = {
        "label": names[labels.index.numpy()],
        "predicted": names[findings.predicted.numpy()],
        "label_error_score": findings.score.numpy(),
        "label_error": findings.error.numpy(),
    }
    return _Part(measures=measures, columns=columns, findings=findings)


def _compared(given: Given, first: Tensor | None, near: Neighbors, generator: torch.Generator) -> _Part:
    if given.against is None or first is None:
        return NOTHING
    units = given.against.clone()
    _scale_to_one(units)
    k = near.indices.shape[1]
    indices = near.indices, _search(units, k, generator).indices
    measures, overlap, changed = comparison_measures(first, given.against, indices, generator)
    columns = {"changed_score": 1 - overlap.numpy(), "changed": changed.numpy()}
    return _Part(measures=measures, columns=columns, overlap=overlap)


def _table(rows: NDArray[np.int64], hoods: Neighborhoods) -> Columns:
    """Return a score and a flag of each row for each fault that needs neighbors."""
    neighbors, found = hoods.neighbors, hoods.duplicates
    first = neighbors.distances[:, 0]
    return {
        "row": rows,
        "nearest": rows[neighbors.indices[:, 0].numpy()],
        "duplicate_score": 1 - (first / neighbors.distances[:, -1].clamp(min=1e-30)).clamp(max=1).numpy(),
        "exact_duplicate": found.exact.numpy(),
        "near_duplicate": found.near.numpy(),
        "duplicate_group": found.group.numpy(),
        "hub_score": (hoods.occurrence.double() / hoods.k).numpy(),
        "hub": hoods.hub.numpy(),
        "orphan_score": first.numpy(),
        "orphan": hoods.orphan.numpy(),
    }
