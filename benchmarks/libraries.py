"""The losses of other packages, called as their trainers call them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import torch
from torch import Tensor

from method import TEMPERATURE, Step, by_autograd

MINI_BATCH = 512
"""Of sentence-transformers' cached loss: of 32 (its default) to 4,096 about the quickest here."""


@cache
def _metric_learning(name: Literal["NTXentLoss", "SupConLoss"]) -> Any:
    from pytorch_metric_learning import losses

    kinds = {"NTXentLoss": losses.NTXentLoss, "SupConLoss": losses.SupConLoss}
    return kinds[name](temperature=TEMPERATURE)


def metric_learning(name: Literal["NTXentLoss", "SupConLoss"]) -> Step:
    """Return a loss of pytorch-metric-learning, which normalizes; positives are rows that share a label.

    With two rows per label SupCon is NT-Xent.
    """

    def loss(a: Tensor, b: Tensor) -> Tensor:
        value: Tensor = _metric_learning(name)(torch.cat([a, b]), torch.arange(len(a)).repeat(2))
        return value

    return by_autograd(loss)


@cache
def _cached_ranking(directions: tuple[str, ...]) -> Any:
    from sentence_transformers.sentence_transformer import losses

    return losses.CachedMultipleNegativesRankingLoss(
        torch.nn.Sequential(torch.nn.Identity()),  # asked what kind it is, and never called
        scale=1 / TEMPERATURE,
        mini_batch_size=MINI_BATCH,
        directions=directions,
    )


@cache
def _ranking() -> Any:
    from sentence_transformers.sentence_transformer import losses

    return losses.MultipleNegativesRankingLoss(
        torch.nn.Sequential(torch.nn.Identity()), scale=1 / TEMPERATURE
    )


def cached_ranking(a: Tensor, b: Tensor) -> Tensor:
    """Return sentence-transformers' cached loss on embeddings, b the documents of the queries a.

    It is the second of the three steps of its `forward`: mini-batches of queries, each with its backward
    pass.
    """
    value: Tensor = _cached_ranking(("query_to_doc",)).calculate_loss([[a], [b]], with_backward=True)
    return value


def ranking(a: Tensor, b: Tensor) -> Tensor:
    """Return sentence-transformers' plain loss on embeddings: one matrix of scores."""
    value: Tensor = _ranking().compute_loss_from_embeddings([a, b], None)
    value.backward()
    return value.detach()


def cached_nt_xent(a: Tensor, b: Tensor) -> Tensor:
    """Return NT-Xent by sentence-transformers' cached loss: one call for the rows of each view.

    Queries against all documents and all other queries is NT-Xent of the queries' rows.
    """
    loss = _cached_ranking(("query_to_doc", "query_to_query"))
    value = loss.calculate_loss([[a], [b]], with_backward=True)
    value = value + loss.calculate_loss([[b], [a]], with_backward=True)
    for view in (a, b):
        assert view.grad is not None
        view.grad /= 2
    half: Tensor = value / 2
    return half
