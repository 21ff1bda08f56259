"""Measures of the neighbors of each row: intrinsic dimension, hubs and orphans, duplicates, leaks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import normalize

from tammes.diagnosis.measure import Measure, row_jackknife, verdict_of, wilson
from tammes.diagnostics.duplicates import Duplicates, duplicates, leaked
from tammes.diagnostics.hubness import hubness, hubs, k_occurrence, orphans
from tammes.diagnostics.intrinsic_dimension import intrinsic_dimension
from tammes.diagnostics.nearest import Neighbors, nearest_neighbors

OCCURRENCE = 10
"""Neighbors k of the k-occurrence."""
SIMULATED = 3_000
"""Rows at most of the Gaussian whose neighbors are the null."""
ASKED = 1_000
"""Rows whose Euclidean neighbors are searched."""
EUCLIDEAN_ROWS = 50_000
"""Rows up to which Euclidean hubs are searched."""
RELIABLE = 0.9
"""Recall of an index below which hubs and orphans are not judged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighborhoods:
    """The neighbors of all rows by cosine, and what follows from them.

    Args:
        neighbors: nearest rows of each row among unit vectors.
        occurrence: how often each row is among the nearest of others.
        hub: whether each row is a hub.
        orphan: whether no row has it among its nearest.
        duplicates: equal rows and near-duplicates.
        dimension: intrinsic dimension; None if it could not be measured.
    """

    neighbors: Neighbors
    occurrence: Int64[Tensor, " n"]
    hub: Bool[Tensor, " n"]
    orphan: Bool[Tensor, " n"]
    duplicates: Duplicates
    dimension: float | None

    @staticmethod
    def of(
        neighbors: Neighbors, first_equal: Int64[Tensor, " n"], euclidean: Bool[Tensor, " n"]
    ) -> Neighborhoods:
        """Return what follows from the neighbors.

        Args:
            neighbors: nearest rows of each row among unit vectors.
            first_equal: number of the first row that is equal to each row.
            euclidean: hubs among the Euclidean neighbors.
        """
        dimension = intrinsic_dimension(neighbors.distances[:, :2]) if _has_two(neighbors) else None
        occurrence = k_occurrence(neighbors.indices[:, :OCCURRENCE], len(neighbors.indices))
        return Neighborhoods(
            neighbors=neighbors,
            occurrence=occurrence,
            hub=hubs(occurrence) | euclidean,
            orphan=orphans(occurrence),
            duplicates=duplicates(first_equal, neighbors.indices, neighbors.distances, dimension),
            dimension=dimension,
        )

    @property
    def k(self) -> int:
        """Number of neighbors of the k-occurrence."""
        return min(OCCURRENCE, self.neighbors.indices.shape[1])


@dataclass(frozen=True, kw_only=True)
class Null:
    """The same numbers of a Gaussian: see `neighborhood_null`."""

    hubness: float
    orphans: float
    dimension: float | None


def neighborhood_null(n: int, dim: int, k: int, generator: torch.Generator) -> Null:
    """Return hubness, orphans and intrinsic dimension of the directions of a Gaussian.

    Hubness and orphans are those of 3,000 rows at most, on which they hardly depend; the intrinsic dimension
    is that of 1,000 rows among as many as there are, 50,000 at most.

    Args:
        n: number of rows.
        dim: number of dimensions.
        k: number of neighbors.
        generator: source of the Gaussian.
    """
    rows = min(n, SIMULATED)
    units = normalize(torch.randn(min(n, EUCLIDEAN_ROWS), dim, generator=generator), dim=1)
    few = nearest_neighbors(units[:rows], min(k, rows - 1)).indices
    occurrence = k_occurrence(few, rows)
    asked = torch.arange(min(1_000, len(units)))
    two = nearest_neighbors(units, 2, rows=asked).distances if n > 2 else None
    return Null(
        hubness=hubness(occurrence),
        orphans=float(orphans(occurrence).double().mean()),
        dimension=None if two is None else intrinsic_dimension(two),
    )


def euclidean_hubs(points: Float[Tensor, "n dim"], generator: torch.Generator) -> Bool[Tensor, " n"]:
    """Return the hubs among Euclidean neighbors, which rows close to the mean become in many dimensions.

    Lengths differ among rows, so that Euclidean hubs are others than those by cosine, and a Gaussian has
    some. A hub is therefore among the neighbors of 1,000 random rows twice as often as any row of a Gaussian
    of as many rows and dimensions. Above 50,000 rows it is not measured, and none is found.

    Args:
        points: n points of any length.
        generator: source of the random rows and of the Gaussian.
    """
    n = len(points)
    if not 2 * OCCURRENCE < n <= EUCLIDEAN_ROWS:
        return torch.zeros(n, dtype=torch.bool)
    asked = torch.randperm(n, generator=generator)[:ASKED]

    def occurrence(rows: Tensor) -> Int64[Tensor, " n"]:
        return k_occurrence(nearest_neighbors(rows, OCCURRENCE, rows=asked).indices, n)

    scaled = points / points.abs().max()  # whose squares neither overflow nor underflow
    counts = occurrence(scaled - scaled.mean(dim=0))
    gaussian = occurrence(torch.randn(points.shape, generator=generator))
    return hubs(counts) & (counts >= 2 * gaussian.max())


def neighborhood_measures(found: Neighborhoods, null: Null, dim: int) -> dict[str, Measure]:
    """Return the measures that follow from the neighbors.

    Args:
        found: neighbors, hubs and duplicates.
        null: the same of a Gaussian.
        dim: number of dimensions.
    """
    n = len(found.occurrence)
    neighbors = found.neighbors
    exact = neighbors.tested == 0
    recall = "the search was exact" if exact else f"share of true neighbors, on {neighbors.tested:,} rows"
    return {
        "intrinsic_dimension": _dimension(neighbors, null, dim),
        "neighbor_recall": Measure(
            value=neighbors.recall,
            low=neighbors.recall,
            high=neighbors.recall,
            ceiling=1.0,
            verdict=verdict_of("fine", recall),
        ),
        **_hubs(found, null),
        **_duplicates(found.duplicates, n),
    }


def leak_measure(found: Duplicates, split: Int64[Tensor, " n"]) -> tuple[Measure, Bool[Tensor, " n"]]:
    """Return the share of rows with a duplicate in another split, and which these are.

    Args:
        found: groups of duplicates.
        split: number of each row's split.
    """
    flags = leaked(found.group, split)
    count, n = int(flags.sum()), len(flags)
    value, low, high = wilson(count, n)
    words = f"leak: {count:,} of {n:,} rows have an equal or nearly equal row in another split"
    kind = "note" if _are_most(found.near) and not bool((flags & found.exact).any()) else "fault"
    verdict = verdict_of(kind, words) if count else verdict_of("fine", "no row has a duplicate elsewhere")
    return Measure(value=value, low=low, high=high, ceiling=0.0, null=0.0, verdict=verdict), flags


def _are_most(flags: Bool[Tensor, " n"]) -> bool:
    return 2 * int(flags.sum()) > len(flags)


def _has_two(neighbors: Neighbors) -> bool:
    return neighbors.distances.shape[1] >= 2


def _dimension(neighbors: Neighbors, null: Null, dim: int) -> Measure:
    if not _has_two(neighbors):
        return Measure(verdict="not measured: it needs two neighbors")
    value, low, high = row_jackknife(intrinsic_dimension, neighbors.distances[:, :2])
    if value is None:
        return Measure(verdict="not measured: too few rows have two neighbors at different distances")
    of = "" if null.dimension is None else f", of {null.dimension:.1f} by the same estimate on a Gaussian"
    return Measure(
        value=value,
        low=low,
        high=high,
        ceiling=dim,
        null=null.dimension,
        verdict=verdict_of("fine", f"the rows lie on a surface of about {value:.1f} dimensions{of}"),
    )


def _hubs(found: Neighborhoods, null: Null) -> dict[str, Measure]:
    n, k = len(found.occurrence), found.k
    value, low, high = row_jackknife(hubness, found.occurrence)
    judged = found.neighbors.recall >= RELIABLE
    count, alone = int(found.hub.sum()), int(found.orphan.sum())
    share, hub_low, hub_high = wilson(count, n)
    orphan_share, orphan_low, orphan_high = wilson(alone, n)
    unreliable = f"not judged: the recall of {found.neighbors.recall:.2f} is below {RELIABLE}"
    most = int(found.occurrence.max())
    largest = f"{most:,} at most, and {k} on average"
    hub_words = f"hubs: {count:,} of {n:,} rows are among the {k} nearest of far too many others ({largest})"
    orphan_words = f"{alone:,} of {n:,} rows are among the {k} nearest of no other"
    many = orphan_low > 2 * null.orphans + 0.05
    return {
        "hubness": Measure(
            value=value,
            low=low,
            high=high,
            null=null.hubness,
            verdict=verdict_of(
                "note" if count and judged else "fine",
                f"skewness of the {k}-occurrence; 1/sqrt(k) = {k**-0.5:.2f} by chance"
                + ("; there are hubs" if count and judged else ""),
            ),
        ),
        "hubs": Measure(
            value=share,
            low=hub_low,
            high=hub_high,
            ceiling=0.0,
            null=0.0,
            verdict=verdict_of("note", unreliable)
            if not judged
            else verdict_of("fault", hub_words)
            if count
            else verdict_of("fine", f"no row is among the {k} nearest of far too many others ({largest})"),
        ),
        "orphans": Measure(
            value=orphan_share,
            low=orphan_low,
            high=orphan_high,
            ceiling=0.0,
            null=null.orphans,
            verdict=verdict_of("note" if many or not judged else "fine", orphan_words),
        ),
    }


def _duplicates(found: Duplicates, n: int) -> dict[str, Measure]:
    measures = {}
    for name, flags, word in (
        ("exact_duplicates", found.exact, "equal"),
        ("near_duplicates", found.near, "nearly equal"),
    ):
        count = int(flags.sum())
        value, low, high = wilson(count, n)
        title = name.replace("_", " ")
        words = f"{title}: {count:,} of {n:,} rows have {'an' if word == 'equal' else 'a'} {word} row"
        kind = "fault"
        if word == "nearly equal" and _are_most(flags):
            kind, words = "note", f"{words}, as where classes have few rows and are tight"
        verdict = verdict_of(kind, words) if count else verdict_of("fine", f"no two rows are {word}")
        measures[name] = Measure(value=value, low=low, high=high, ceiling=0.0, null=0.0, verdict=verdict)
    return measures
