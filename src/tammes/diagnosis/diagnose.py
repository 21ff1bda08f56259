"""The diagnosis of embeddings: all measures, in the order in which they need the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_integer, check_seed
from tammes.diagnosis.compared import comparison_measures
from tammes.diagnosis.diagnosis import Diagnosis, Drawn, with_faults
from tammes.diagnosis.embeddings_file import check_usable
from tammes.diagnosis.geometry import Spectra, spectrum_measures, uniformity_measure
from tammes.diagnosis.input import as_labels, as_pairs, as_points, as_splits, usable_rows
from tammes.diagnosis.labeled import LabelFindings, Labels, label_measures, pair_measures
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
MAPPED = 2_000
"""Rows on the map."""
PAIRS_SHOWN = 300
"""Closest pairs on the page."""
BINS = 60
"""Bins of the k-occurrence on the page."""


def diagnose(
    embeddings: Float[Tensor, "n dim"] | NDArray[Any] | Sequence[Any],
    *,
    labels: Sequence[Any] | NDArray[Any] | Tensor | None = None,
    pairs: Sequence[Any] | NDArray[Any] | Tensor | None = None,
    splits: Sequence[Any] | NDArray[Any] | Tensor | None = None,
    against: Float[Tensor, "n other"] | NDArray[Any] | None = None,
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
    points = as_points(embeddings)
    rows = np.arange(len(points))
    finite, zero = usable_rows(points)
    other = None if against is None else as_points(against)
    if other is not None:
        if len(other) != len(points):
            raise ValueError(
                f"expected a second embedding of the same {len(points):,} rows, got {len(other):,}"
            )
        also = usable_rows(other)
        check_usable("the second embedding", *also, drop)
        finite, zero = finite & also[0], zero | also[1]
    columns = {
        name: values for name, values in (("labels", labels), ("splits", splits)) if values is not None
    }
    classes = as_labels(labels, len(points)) if labels is not None else None
    groups = as_splits(splits, len(points)) if splits is not None else None
    if (~finite | zero).any():
        check_usable("the embeddings", finite, zero, drop)
        kept = np.nonzero(finite & ~zero)[0]
        rows = rows[kept]
        if pairs is not None and np.ndim(pairs) == 1 and len(pairs) == len(points):
            pairs = np.asarray(pairs)[kept]
        points = points[kept]
        other = None if other is None else other[kept]
        classes = classes and as_labels(np.asarray(classes.names)[classes.index.numpy()[kept]], len(kept))
        groups = None if groups is None else as_splits(groups.numpy()[kept], len(kept))
    del columns
    positives = None if pairs is None else as_pairs(pairs, len(points), rows)
    dropped = len(finite) - len(rows)
    return measured(
        points.clone() if _shares(points, embeddings) else points,
        rows=rows,
        labels=classes,
        pairs=positives,
        splits=groups,
        against=other,
        neighbors=neighbors,
        batch=batch,
        seed=seed,
        about={"dropped": f"{dropped:,}"} if dropped else {},
    )


def measured(
    points: Float[Tensor, "n dim"],
    *,
    rows: NDArray[np.int64],
    labels: Labels | None = None,
    pairs: Int64[Tensor, "pairs 2"] | None = None,
    splits: Int64[Tensor, " n"] | None = None,
    against: Float[Tensor, "n other"] | None = None,
    neighbors: int = 20,
    batch: int | None = None,
    seed: int = 0,
    about: dict[str, str] | None = None,
) -> Diagnosis:
    """Return the diagnosis of points whose input is checked; the points are overwritten.

    Args:
        points: usable rows in float32; they are scaled to length one in place.
        rows: number of each row in the input.
        labels: class of each row.
        pairs: row numbers of positive pairs.
        splits: split of each row.
        against: usable rows of another encoder.
        neighbors: number of neighbors, below n.
        batch: pairs in a training batch.
        seed: random seed.
        about: what else to say on the page.

    Raises:
        ValueError: fewer rows than neighbors.
    """
    n, dim = points.shape
    if neighbors >= n:
        raise ValueError(f"expected more rows than neighbors, got {n:,} rows: choose neighbors below {n}")
    generator = torch.Generator().manual_seed(seed)
    spectra = Spectra.of(points, generator)
    measures: dict[str, Measure] = {
        "rows": _count(n, "rows measured"),
        "dimensions": _count(dim, "numbers of each row"),
        **spectrum_measures(spectra),
    }
    advice: tuple[str, ...] = ()
    if pairs is not None:
        found, advice = pair_measures(points, pairs, batch=batch)
        measures |= found
    first_equal = equal_rows(points)
    euclidean = euclidean_hubs(points, generator)
    compared = None if against is None else points.clone()
    for block in points.split(65_536):
        block /= block.abs().amax(dim=1, keepdim=True)
        block /= block.norm(dim=1, keepdim=True)
    measures["uniformity"] = uniformity_measure(points, generator)
    near = _search(points, neighbors, generator)
    hoods = Neighborhoods.of(near, first_equal, euclidean)
    measures |= neighborhood_measures(hoods, neighborhood_null(n, dim, hoods.k, generator), dim)
    table = _table(rows, hoods)
    if splits is not None:
        measures["leaked"], leaks = leak_measure(hoods.duplicates, splits)
        table |= {"leaked": leaks.numpy()}
    findings = None
    if labels is not None:
        found, findings = label_measures(points, near.indices, labels, generator, batch=batch)
        measures |= found
        advice = findings.advice
        names = np.array(labels.names)
        table |= {
            "label": names[labels.index.numpy()],
            "predicted": names[findings.predicted.numpy()],
            "label_error_score": findings.score.numpy(),
            "label_error": findings.error.numpy(),
        }
    overlap = None
    if against is not None and compared is not None:
        units = torch.nn.functional.normalize(against, dim=1)
        second = _search(units, neighbors, generator)
        found, overlap, changed = comparison_measures(
            compared, against, (near.indices, second.indices), generator
        )
        measures |= found
        table |= {"changed_score": 1 - overlap.numpy(), "changed": changed.numpy()}
    drawn = _drawn(points, spectra, hoods, findings, labels, overlap, generator)
    complete = with_faults(measures)
    return Diagnosis(
        measures=complete,
        rows=table,
        advice=(*_next_steps(complete), *advice),
        drawn=drawn,
        about=about or {},
    )


def _shares(points: Tensor, given: Any) -> bool:
    """Return whether the points are the caller's memory, which must stay as it is."""
    if isinstance(given, Tensor):
        return points.data_ptr() == given.data_ptr()
    return isinstance(given, np.ndarray) and np.shares_memory(points.numpy(), given)


def _count(value: int, words: str) -> Measure:
    return Measure(value=value, low=value, high=value, verdict=f"fine: {words}")


def _search(units: Tensor, k: int, generator: torch.Generator) -> Neighbors:
    if len(units) <= EXACT:
        return nearest_neighbors(units, k)
    return indexed_neighbors(units, k, generator=generator)


def _table(rows: NDArray[np.int64], hoods: Neighborhoods) -> dict[str, NDArray[Any]]:
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


def _drawn(
    units: Tensor,
    spectra: Spectra,
    hoods: Neighborhoods,
    findings: LabelFindings | None,
    labels: Labels | None,
    overlap: Tensor | None,
    generator: torch.Generator,
) -> Drawn:
    shown = _shown(hoods, findings, overlap, generator)
    chosen = units[shown].double()
    centered = chosen - chosen.mean(dim=0)
    _, sigma, axes = torch.linalg.svd(centered, full_matrices=False)
    places = centered @ axes[:2].T
    if places.shape[1] < 2:
        places = torch.cat([places, torch.zeros(len(places), 1, dtype=torch.float64)], dim=1)
    total = float(sigma.square().sum())
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
        share=float(sigma[:2].square().sum()) / total if total > 0 else 0.0,
        pairs=pairs.numpy(),
        ratios=ratios.double().numpy(),
        distances=distances.double().numpy(),
        threshold=hoods.duplicates.threshold,
        occurrence=torch.bincount(hoods.occurrence.clamp(max=BINS - 1), minlength=BINS).numpy(),
        confusion=None if findings is None else findings.confusion.double().numpy(),
        classes=() if labels is None else labels.names,
        overlap=None if overlap is None else torch.histc(overlap, bins=11, min=0, max=1).long().numpy(),
    )


def _shown(
    hoods: Neighborhoods, findings: LabelFindings | None, overlap: Tensor | None, generator: torch.Generator
) -> Tensor:
    """Return the rows on the map: flagged ones first, filled up by random ones."""
    n = len(hoods.occurrence)
    flagged = hoods.hub | hoods.duplicates.rows
    if findings is not None:
        flagged = flagged | findings.error
    first = flagged.nonzero()[:, 0]
    first = first[torch.randperm(len(first), generator=generator)[: MAPPED // 2]]
    rest = torch.randperm(n, generator=generator)[:MAPPED]
    most = min(MAPPED, n)
    return torch.cat([first, rest[~torch.isin(rest, first)]])[:most].sort().values


def _closest(hoods: Neighborhoods) -> tuple[Tensor, Tensor, Tensor]:
    """Return the closest pairs, their ratio to the k-th neighbor and their distance."""
    near = hoods.neighbors
    ratio = near.distances[:, 0] / near.distances[:, -1].clamp(min=1e-30)
    first = ratio.argsort()[: 2 * PAIRS_SHOWN]
    pairs = torch.stack([first, near.indices[first, 0]], dim=1).sort(dim=1).values
    unique, inverse = torch.unique(pairs, dim=0, return_inverse=True)
    ratios = torch.full((len(unique),), torch.inf).scatter_reduce(0, inverse, ratio[first], "amin")
    distances = torch.full((len(unique),), torch.inf).scatter_reduce(
        0, inverse, near.distances[first, 0], "amin"
    )
    order = ratios.argsort()[:PAIRS_SHOWN]
    return unique[order], ratios[order], distances[order]


NEXT = {
    "collapse": "Collapse: train with more negatives or a lower temperature, or measure the features instead "
    "of the projection.",
    "shifted mean": "Shifted mean: subtract the mean of all rows before comparing by cosine.",
    "dead dimensions": "Dead dimensions: leave them out of the index; they cost memory and say nothing.",
    "duplicated dimensions": "Duplicated dimensions: leave the copies out.",
    "exact duplicates": "Exact duplicates: keep one row of each group; rows.parquet has the groups.",
    "near duplicates": "Near duplicates: look at the pairs on the page, and keep one row of each group.",
    "hubs": "Hubs: look at them first; subtracting the mean of all rows before comparing often removes them.",
    "leak": "Leak: remove the leaked rows from the test split before measuring anything on it.",
    "label errors": "Label errors: look at the flagged rows, sorted by label_error_score, and relabel.",
}
"""What to try next for each fault."""


def _next_steps(measures: dict[str, Measure]) -> tuple[str, ...]:
    from tammes.diagnosis.diagnosis import faults_of

    return tuple(NEXT[fault] for fault in faults_of(measures) if fault in NEXT)
