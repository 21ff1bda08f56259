"""Measures of retrieval: recall@k, the mean reciprocal rank, and nDCG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tammes.diagnostics.nearest import largest_products

RECALLS = (1, 10, 100)
DEPTH = 10
"""Documents of nDCG and of the mean reciprocal rank."""


def ranking_scores(
    queries: Float[Tensor, "q dim"],
    documents: Float[Tensor, "n dim"],
    relevance: Sequence[Mapping[int, float]],
) -> dict[str, list[float]]:
    """Return nDCG@10, MRR@10 and recall@1, 10 and 100 of each query, by cosine.

        nDCG@k = sum_{r <= k} g_r / log2(r + 1)  over the same sum in the best order,
        MRR = 1 / rank of the first relevant document,    recall@k = share of relevant ones in the first k

    g_r is the gain of the document of rank r, as in trec_eval. Recalls at more documents than there are have
    no entry.

    Args:
        queries: q vectors.
        documents: n vectors.
        relevance: gain of each relevant document of each query.

    Example:
        >>> import torch
        >>> scores = ranking_scores(torch.eye(2), torch.eye(2), [{0: 1.0}, {0: 1.0}])
        >>> scores["recall@1"], scores["MRR@10"]
        ([1.0, 0.0], [1.0, 0.5])
    """
    recalls = [k for k in RECALLS if k <= len(documents)]
    units = normalize(queries, dim=1), normalize(documents, dim=1)
    order = largest_products(*units, max(DEPTH, *recalls))[1].tolist()
    found: dict[str, list[float]] = {
        name: [] for name in (f"nDCG@{DEPTH}", f"MRR@{DEPTH}", *(f"recall@{k}" for k in recalls))
    }
    for rows, gains in zip(order, relevance, strict=True):
        found[f"nDCG@{DEPTH}"].append(_ndcg(rows[:DEPTH], gains))
        ranks = [rank for rank, row in enumerate(rows[:DEPTH], 1) if row in gains]
        found[f"MRR@{DEPTH}"].append(1 / ranks[0] if ranks else 0.0)
        for k in recalls:
            found[f"recall@{k}"].append(sum(row in gains for row in rows[:k]) / len(gains))
    return found


def _ndcg(rows: Sequence[int], gains: Mapping[int, float]) -> float:
    best = sorted(gains.values(), reverse=True)[:DEPTH]
    return _discounted([gains.get(row, 0.0) for row in rows]) / _discounted(best)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
