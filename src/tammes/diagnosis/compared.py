"""Measures of two embeddings of the same rows."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from tammes.diagnosis.measure import GROUPS, Measure, jackknife, random_groups, row_jackknife, verdict_of
from tammes.diagnostics.two_encoders import (
    cka_by_chance,
    linear_cka,
    neighbor_overlap,
    procrustes_distance,
    rsa,
)

PAIRED = 1_000
"""Rows whose distances are ordered."""
COMPARED = 100_000
"""Rows at most of which CKA and the best rotation are those of a random sample."""
ROTATED = 1e-4
"""Procrustes distance below which two embeddings differ by a rotation, shift and scale only."""
K = 10
"""Neighbors of which the overlap is counted."""


def comparison_measures(
    first: Float[Tensor, "n dim"],
    second: Float[Tensor, "n other"],
    neighbors: tuple[Int64[Tensor, "n k"], Int64[Tensor, "n k"]],
    generator: torch.Generator,
) -> tuple[dict[str, Measure], Float[Tensor, " n"], Bool[Tensor, " n"]]:
    """Return the measures of two embeddings, the overlap of each row, and which rows changed most.

    Args:
        first: embeddings of n rows.
        second: embeddings of the same rows.
        neighbors: row numbers of the neighbors of each row in both.
        generator: source of random samples.
    """
    n = len(first)
    k = min(K, neighbors[0].shape[1])
    overlap = neighbor_overlap(neighbors[0][:, :k], neighbors[1][:, :k])
    value, low, high = row_jackknife(lambda rows: float(rows.double().mean()), overlap)
    sample = torch.randperm(n, generator=generator)[:COMPARED].sort().values
    x, y = (first, second) if n <= COMPARED else (first[sample], second[sample])
    cka, procrustes = _of_rows(linear_cka, x, y), _of_rows(procrustes_distance, x, y)
    few = torch.randperm(n, generator=generator)[:PAIRED]
    ranked, ranked_low, ranked_high = _of_rows(rsa, first[few], second[few])
    # A rotation keeps all neighbors but those whose order rounding decides.
    rotation = procrustes[0] is not None and procrustes[0] < ROTATED
    changed = (overlap == 0) & bool(overlap.median() >= 0.5)
    same = "rotation: the two differ by a rotation, shift and scale only"
    chance = min(1.0, k / (n - 1))
    measures = {
        "neighbor_overlap": Measure(
            value=value,
            low=low,
            high=high,
            ceiling=1.0,
            null=chance,
            verdict=verdict_of("fine", f"share of the {k} nearest neighbors that both have"),
        ),
        "cka": _measure(
            cka, 1.0, min(1.0, cka_by_chance(len(x), x.shape[1], y.shape[1])), "linear, centered"
        ),
        "procrustes": _measure(
            procrustes,
            0.0,
            _procrustes_by_chance(len(x), x.shape[1], y.shape[1]),
            same if rotation else "share of the variance that no rotation and scale explains",
        ),
        "rsa": _measure(
            (ranked, ranked_low, ranked_high), 1.0, 0.0, f"of the cosine distances of {len(few):,} rows"
        ),
    }
    return measures, overlap, changed


def _of_rows(statistic: object, x: Tensor, y: Tensor) -> tuple[float | None, float | None, float | None]:
    """Return a statistic of paired rows with its interval; of few rows there is none."""
    assert callable(statistic)
    value = float(statistic(x, y))
    groups = GROUPS // 2 if len(x) >= 4 * GROUPS else 0
    group = random_groups(len(x), max(1, groups))

    def of(kept: list[int]) -> float:
        (missing,) = set(range(groups)) - set(kept)
        rows = group != missing
        return float(statistic(x[rows], y[rows]))

    return (value, *jackknife(of, groups, value))


def _measure(
    found: tuple[float | None, float | None, float | None], ceiling: float, null: float, words: str
) -> Measure:
    value, low, high = found
    return Measure(
        value=value, low=low, high=high, ceiling=ceiling, null=null, verdict=verdict_of("fine", words)
    )


def _procrustes_by_chance(n: int, dim: int, other: int) -> float:
    """Return the distance of unrelated Gaussians: the nuclear norm of X^T Y is about sqrt(n) |G|_*."""
    generator = torch.Generator().manual_seed(0)
    nuclear = float(torch.linalg.matrix_norm(torch.randn(dim, other, generator=generator), "nuc"))
    return max(0.0, 1 - nuclear**2 / ((n - 1) * dim * other))
