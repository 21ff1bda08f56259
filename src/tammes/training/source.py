"""The source of a training: which rows are compared with which, by its positives and negatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor, nn

from tammes.encoders import SentenceEncoder, Tower, TransformersTowers, has_two_towers
from tammes.positives import Adjacent, GivenPairs, OwnGraph
from tammes.sources import ContextWindow, Gather, InBatch, TwoTowers
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


def both_sides(config: TrainingConfig, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Return the embeddings of both sides of pairs as the objective compares them.

    Args:
        config: configuration of a run.
        first: (n, dim) output of the network for the first of each pair.
        second: (n, dim) output for the second; where towers are compared, its half of g is taken.
    """
    if not compares_towers(config):
        return first, second
    return first.chunk(2, dim=1)[0], second.chunk(2, dim=1)[1]


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
