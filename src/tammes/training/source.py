"""The source of a training: which rows are compared with which, by its positives and negatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor, nn

from tammes.encoders import SentenceEncoder, Tower, TransformersTowers, has_two_towers
from tammes.pairs import Pairs
from tammes.positives import Adjacent, GivenPairs, OwnGraph
from tammes.sources import (
    ContextWindow,
    Gather,
    InBatch,
    LearnedNegatives,
    NodesToGraphs,
    Queue,
    TwoTowers,
)
from tammes.training.caching import GradientCache
from tammes.training.config import TrainingConfig
from tammes.training.examples import FromRows, Inputs, concatenate, to_rows
from tammes.training.loss_rules import compares_classes
from tammes.training.momentum import KeysConfig
from tammes.training.seeds import Purpose, derive


def source_of(
    config: TrainingConfig, dim: int, *, single: bool
) -> InBatch | Gather | ContextWindow | TwoTowers | nn.Module:
    """Return what makes pairs of the embeddings of a batch.

    Args:
        config: configuration of the run.
        dim: width of the embeddings.
        single: whether one process trains; else the rows of all processes are candidates of each.

    Raises:
        ValueError: nodes and graphs of several processes.

    Example:
        >>> from tammes import recipes
        >>> source_of(TrainingConfig(objective=recipes.simclr(temperature=0.5)), 8, single=True)
        InBatch()
    """
    if isinstance(config.positives, OwnGraph) and not single:
        raise ValueError(
            "OwnGraph() compares the nodes and graphs of one process, got several: start one, or choose "
            "positives=SameInstance() with an augmentation"
        )
    # Rows of one class may be on several processes.
    gather = None if single else Gather(shared_ids=compares_classes(config))
    if isinstance(config.negatives, KeysConfig):
        generator = torch.Generator().manual_seed(derive(config.seed, Purpose.ADVERSARIES))
        return config.negatives.source(dim, gather=gather, generator=generator)
    if isinstance(config.positives, Adjacent):
        return ContextWindow(window=config.positives.window, gather=gather)
    if isinstance(given := config.positives, GivenPairs):
        # Rows of one anchor may be on several processes.
        shared = None if single else Gather(shared_ids=True)
        return TwoTowers(symmetric=given.symmetric, same_tower=given.same_tower, gather=shared)
    return gather or InBatch()


def pairs_of_batch(
    source: nn.Module | InBatch | Gather | ContextWindow | TwoTowers,
    config: TrainingConfig,
    embeddings: Sequence[Tensor],
    *,
    numbers: Tensor,
    labels: Tensor | None,
    owner: Tensor | None = None,
) -> Pairs:
    """Return the pairs of a batch: what the objective of a run compares with what.

    Args:
        source: what makes pairs of the embeddings, from `source_of`.
        config: configuration of the run.
        embeddings: (n, dim) embeddings of each view; of sentences with contexts there is one, and of graphs
            that are compared with their nodes there are those of the nodes, then those of the graphs.
        numbers: (n,) integers, the places of sentences with contexts in reading order, else rows of the data.
        labels: (n,) classes, or None.
        owner: (nodes,) graph of each node, where graphs are compared with their nodes.

    Example:
        >>> from tammes import recipes
        >>> config = TrainingConfig(objective=recipes.simclr(temperature=0.5), crops=3)
        >>> pairs_of_batch(InBatch(), config, torch.ones(3, 4, 8), numbers=torch.arange(4), labels=None).views
        3
    """
    if isinstance(source, ContextWindow):
        return source(*sentences_and_contexts(config, embeddings[0]), ids=numbers, labels=labels)
    if isinstance(source, TwoTowers):
        anchors, positives, *given = embeddings
        hard = torch.stack(given, dim=1) if given else None
        # Rows of one anchor share its label, and are no negatives of each other.
        return source(anchors, positives, hard, ids=labels, labels=labels)
    if isinstance(config.positives, OwnGraph):
        nodes, graphs = embeddings
        assert owner is not None
        return NodesToGraphs()(nodes, graphs, owner=owner, labels=labels)  # without ids: no sorting
    if isinstance(source, Queue | LearnedNegatives):
        # The ids let the fresh key of an image replace the one stored in an earlier epoch.
        return source(*embeddings, ids=numbers, labels=labels)
    return source(*embeddings, ids=labels if compares_classes(config) else None, labels=labels)


def sentences_and_contexts(config: TrainingConfig, embeddings: Tensor) -> tuple[Tensor, ...]:
    """Return the embeddings of sentences f(s), and those of contexts g(s) where two networks give them.

    Args:
        config: configuration of a run on adjacent sentences.
        embeddings: (n, dim) output of the network; of two towers its halves are f and g.

    Example:
        >>> import tammes
        >>> from tammes.encoders import TwoTowersConfig
        >>> objective = tammes.Objective(temperature=1.0, contrast=tammes.SupCon(), normalize=False)
        >>> config = TrainingConfig(objective=objective, encoder=TwoTowersConfig(), head=None,
        ...     augmentation=None, positives=Adjacent())
        >>> [tuple(each.shape) for each in sentences_and_contexts(config, torch.zeros(8, 6))]
        [(8, 3), (8, 3)]
    """
    return embeddings.chunk(2 if has_two_towers(config.encoder) else 1, dim=1)


def compares_towers(config: TrainingConfig) -> bool:
    """Return whether f of a row is compared with g of others: of contexts, or of positives and negatives."""
    return has_two_towers(config.encoder) and isinstance(config.positives, Adjacent | GivenPairs)


def both_sides(config: TrainingConfig, first: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Return the embeddings of the sides of pairs as the objective compares them.

    Args:
        config: configuration of a run.
        first: (n, dim) output of the network for the first of each pair.
        others: (n, dim) outputs for the second, or for each further view; where towers are compared, their
            half of g is taken.
    """
    if not compares_towers(config):
        return first, *others
    return first.chunk(2, dim=1)[0], *(other.chunk(2, dim=1)[1] for other in others)


def embedded_by_towers(
    encoder: nn.Module, views: Sequence[Inputs], *, chunk: int | None
) -> tuple[Tensor, ...]:
    """Return f of the first view, and g of the others, each of which goes through one network alone.

    Args:
        encoder: encoder of two towers.
        views: anchors, their positives and, perhaps, their negatives.
        chunk: sentences that go through a network at a time; None for all.
    """
    assert isinstance(encoder, SentenceEncoder | TransformersTowers)
    f, g = Tower(encoder, 0), Tower(encoder, 1)
    anchors, *others = views
    if chunk is None:
        return f(anchors), *g(reduce(concatenate, others)).chunk(len(others))
    cached_f, cached_g = (GradientCache(nn.Sequential(FromRows(), each), chunk=chunk) for each in (f, g))
    return *cached_f(to_rows(anchors)), *cached_g(*map(to_rows, others))
