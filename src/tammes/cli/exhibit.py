"""Rows of the data that the figures of a page show, paired and compared as in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from tammes.cli.scores import shuffled_rows
from tammes.data import GraphSet, Images, NodeSet, Texts, Volumes
from tammes.objective import Objective
from tammes.pairs import Pairs
from tammes.positives import Adjacent, GivenPairs, OwnGraph
from tammes.report import Degrees, GraphSizes, Pictures, Sample, Sentences
from tammes.report.comparison import Candidates
from tammes.report.sample import FEWEST
from tammes.selection import OtherLabels, Subset
from tammes.sources import InBatch
from tammes.training import Data, Model, TrainingConfig
from tammes.training.embedding import embed_pairs
from tammes.training.examples import readable
from tammes.training.kind_rules import VIEWS_OF_ONE_ROW
from tammes.training.pairing import Pairing
from tammes.training.seeds import Purpose, derive
from tammes.training.source import both_sides, pairs_of_batch, source_of
from tammes.training.views import view_seed

LARGEST_BATCH = 256
LARGEST_SAMPLE = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Exhibit:
    """Rows of the data that the report's figures show.

    Args:
        data: the rows; those of the batch first, then others in random order.
        pairs: int64 (b, 2), rows that make a pair; the anchors are the first b rows.
        is_held_out: whether the rows were held out of training.
        batch: number of rows, the first ones, that are one batch of contiguous sentences, each compared with
            all others; None where the pairs alone make the batch.
        negatives: int64 (b,), row of the negative that is given with each pair; None where none are.
        has_classes: whether the labels are classes, and not documents in reading order or rows of a table.
        pair: words for a pair of a node and its graph; None for other pairs.
    """

    data: Data
    pairs: Tensor
    is_held_out: bool
    batch: int | None = None
    negatives: Tensor | None = None
    has_classes: bool = True
    pair: str | None = None

    @property
    def sample(self) -> Sample:
        """The rows as the sample of a report."""
        data = self.data
        first, second = self.pairs.T
        labels = data.labels if self.has_classes else None
        shared: dict[str, Any] = {
            "labels": None if labels is None else labels.numpy(),
            "classes": data.classes,
            "names": data.names,
            "partners": None if torch.equal(first, second) else second.numpy(),
            "pair": self.pair,
        }
        if isinstance(data, Texts):
            return Sentences(sentences=data.sentences, **shared)
        if isinstance(data, GraphSet):
            edges = data.edge_starts.diff() // 2
            return GraphSizes(nodes=data.sizes.numpy(), edges=edges.numpy(), **shared)
        if isinstance(data, NodeSet):
            return Degrees(neighbors=data.degrees.numpy(), **shared)
        if isinstance(data, Volumes):
            # n 1 d h w -> n 1 h w: of a volume the page shows the middle slice.
            slices = (255 * data.voxels[:, :, data.size[0] // 2]).round().to(torch.uint8)
            return Pictures(images=slices.numpy(), **shared)
        assert isinstance(data, Images)  # graphs of a stream were copied into memory
        return Pictures(images=data.batch(range(len(data))).numpy(), **shared)


def choose_sample(train: Data, held_out: Data | None, config: TrainingConfig) -> Exhibit:
    """Choose the pictures or sentences of the report.

    Held-out rows are taken if they suffice for a batch as in training, which the objective needs.

    Args:
        train: training data.
        held_out: data held out of training, or None.
        config: settings of the training, which decide how rows are paired.
    """
    wanted = min(config.batch_size, LARGEST_BATCH)
    chosen_of = _adjacent_rows if isinstance(config.positives, Adjacent) else _paired_rows
    whole = isinstance(config.positives, Adjacent) and config.positives.whole_documents
    data, (pairs, batch) = train, chosen_of(train, config, wanted)
    if held_out is not None:
        held_out_pairs, held_out_batch = chosen_of(held_out, config, wanted)
        enough = held_out_pairs if held_out_batch is None else held_out_batch
        # Batches of whole documents need not be full.
        is_batch = len(enough) == wanted or (whole and 2 * len(enough) > wanted)
        if is_batch and len(held_out_pairs) > 1 and len(held_out) >= FEWEST:
            data, pairs, batch = held_out, held_out_pairs, held_out_batch
    # The rows of the pairs come first, then those of the batch, then others up to the largest sample.
    first = pairs.T.flatten() if batch is None else torch.cat([pairs[:, 0], batch])
    negatives = _given_negatives(data, config, pairs[:, 0])
    if negatives is not None:
        first = torch.cat([first, negatives])
    rows = dict.fromkeys([*first.tolist(), *shuffled_rows(data, LARGEST_SAMPLE)])
    chosen = list(rows)[:LARGEST_SAMPLE]
    places = {row: place for place, row in enumerate(chosen)}
    placed = torch.tensor([[places[row] for row in pair] for pair in pairs.tolist()])
    return Exhibit(
        data=readable(data.subset(chosen)),
        pairs=placed,
        is_held_out=data is held_out,
        batch=None if batch is None else len(batch),
        negatives=None if negatives is None else torch.tensor([places[row] for row in negatives.tolist()]),
        has_classes=not isinstance(config.positives, Adjacent | GivenPairs),
        pair="the first node of a graph and this graph" if isinstance(config.positives, OwnGraph) else None,
    )


def check_rows(data: Data) -> None:
    """Raise ValueError for data of which no page can be made, before a training whose page would fail."""
    if 1 < len(data) < FEWEST:  # of a single row the training says more
        raise ValueError(
            f"expected at least {FEWEST} rows to train on, which the figures of the page need, got "
            f"{len(data)}: give more, or hold fewer out"
        )


def pairs_of(data: Data, config: TrainingConfig, most: int) -> Tensor:
    """Return int64 (b, 2), at most `most` rows paired as in training; b = 0 if there are no pairs."""
    if isinstance(config.positives, VIEWS_OF_ONE_ROW):
        return torch.tensor(shuffled_rows(data, most)).repeat(2, 1).T
    if isinstance(config.positives, Adjacent):
        return _adjacent_rows(data, config, len(data))[0][:most]
    try:
        return Pairing.of(data, config.positives, seed=config.seed).epoch(0)[:most]
    except ValueError:
        return torch.zeros(0, 2, dtype=torch.int64)


def _given_negatives(data: Data, config: TrainingConfig, anchors: Tensor) -> Tensor | None:
    """Return int64 (b,), the row of the negative that the data give for each anchor; None without any."""
    if not isinstance(config.positives, GivenPairs):
        return None
    rows = Pairing.of(data, config.positives, seed=config.seed).negatives
    return None if rows is None else rows[anchors]


def _paired_rows(data: Data, config: TrainingConfig, wanted: int) -> tuple[Tensor, None]:
    return pairs_of(data, config, wanted), None


def _adjacent_rows(data: Data, config: TrainingConfig, wanted: int) -> tuple[Tensor, Tensor]:
    """Return int64 (b, 2), sentences of a batch and the nearest of their positives, and the batch (wanted,).

    The batch is one of the first epoch: contiguous sentences, in runs if the training cuts it into runs, or
    whole documents.
    """
    assert isinstance(config.positives, Adjacent)
    assert isinstance(data, Texts)
    none = torch.zeros(0, dtype=torch.int64)
    try:
        pairing = Pairing.of(data, config.positives, seed=config.seed, batch_size=wanted)
        batch = pairing.batches(0, wanted)[0][:, 0]
    except ValueError:
        return none.view(0, 2), none
    order = config.positives.reading_order(data.documents, data.positions)[batch]
    in_order, places = order.sort()
    near = in_order.diff() <= config.positives.window
    follows, precedes = pad(near, (0, 1)), pad(near, (1, 0))
    at = torch.arange(len(batch))
    partners = torch.where(follows, at + 1, at - 1)
    kept = follows | precedes
    pairs = torch.stack([places[at[kept]], places[partners[kept]]], dim=1)
    return batch[pairs[pairs[:, 0].argsort()]], batch


def embedded_views(
    model: Model, data: Data, pairs: Tensor, config: TrainingConfig, *, seeds: Sequence[int]
) -> tuple[Tensor, ...]:
    """Return the embeddings (b, dim) of the views of pairs, as the objective compares them.

    Of two networks f and g, on adjacent sentences or given pairs, they are f of the first, g of the second.

    Args:
        model: encoder and head.
        data: rows of the pairs.
        pairs: int64 (b, 2), rows that make a pair.
        config: settings of the training.
        seeds: random seeds of the first views, of the second, and of each further view.
    """
    of_first, of_second = config.augmentations
    first, second = pairs.T
    others = len(seeds) - 1
    rows = torch.stack([first, *[second] * others], dim=1)
    return both_sides(config, *embed_pairs(model, data, rows, [of_first, *[of_second] * others], seeds=seeds))


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """A batch as the objective compares it.

    Args:
        embeddings: (n, dim) embeddings of all rows of the exhibit.
        view_a: (b, dim) embeddings of the first of each pair.
        view_b: (b, dim) embeddings of the second.
        candidates: what the first views are compared with, where this is not the two views; or None.
        weights: weights of the negatives: (2b, 2b), or (b, c) of the first views against c candidates.
    """

    embeddings: Tensor
    view_a: Tensor
    view_b: Tensor
    candidates: Candidates | None = None
    weights: Tensor

    @staticmethod
    def of(
        model: Model,
        embeddings: Tensor,
        objective: Objective,
        exhibit: Exhibit,
        config: TrainingConfig,
        *,
        step: int,
    ) -> Compared:
        """Compare the batch of an exhibit under a trained model.

        Args:
            model: encoder and head.
            embeddings: (n, dim) their embeddings of all rows of the exhibit.
            objective: objective that weights the negatives.
            exhibit: rows and pairs.
            config: settings of the training.
            step: number of steps of the training, which seeds the views.
        """
        seeds = [view_seed(config, step, number) for number in range(config.crops)]
        views = embedded_views(model, exhibit.data, exhibit.pairs, config, seeds=seeds)
        shown, others = both_sides(config, embeddings, embeddings)
        parts, rows, columns = _compared_rows(embeddings, views, others, exhibit, config)
        pairs = _pairs(model.dim, parts, rows, exhibit.data, config)
        assert pairs.candidates is not None
        count = len(pairs.candidates)
        positives = pairs.positives().count + (pairs.own is not None)
        fitting = _fitting(objective, count, int(positives.max()), pairs.labels_of_candidates)
        generator = torch.Generator().manual_seed(derive(config.seed, Purpose.OBJECTIVE))
        weights = fitting.weights(pairs, generator=generator)
        compared = Compared(embeddings=shown, view_a=views[0], view_b=views[1], weights=weights)
        if columns is None:
            return compared
        return replace(
            compared,
            candidates=Candidates(
                embeddings=pairs.candidates.numpy(),
                rows=columns.numpy(),
                negatives=count - int(positives.min()),
            ),
            weights=weights[: len(exhibit.pairs)],
        )


def _compared_rows(
    embeddings: Tensor, views: tuple[Tensor, ...], others: Tensor, exhibit: Exhibit, config: TrainingConfig
) -> tuple[tuple[Tensor, ...], Tensor, Tensor | None]:
    """Return what the objective compares with each other, and the rows of the exhibit that this shows.

    Args:
        embeddings: (n, dim) output of the network for all rows of the exhibit.
        views: (b, dim) embeddings of each view of the pairs.
        others: (n, dim) embeddings of all rows as the second of a pair.
        exhibit: rows and pairs.
        config: settings of the training.

    Returns:
        The embeddings that make a batch of the training; (b,) the row of each anchor; (c,) the row of each
        candidate, None where two views of the batch are compared with each other in both directions.
    """
    first, second = exhibit.pairs.T
    if isinstance(config.positives, Adjacent):
        assert exhibit.batch is not None
        batch = torch.arange(exhibit.batch)  # sentences without a positive come last
        return (embeddings[batch],), batch, batch
    if isinstance(config.positives, GivenPairs):
        given = [] if exhibit.negatives is None else [exhibit.negatives]
        columns = [second, *given, *([first] if config.positives.same_tower else [])]
        return (*views, *(others[rows] for rows in given)), first, torch.cat(columns)
    if isinstance(config.positives, OwnGraph):
        return views, first, first
    return views, first, None if len(views) == 2 else first.repeat(len(views))


def _pairs(
    dim: int, embeddings: tuple[Tensor, ...], rows: Tensor, data: Data, config: TrainingConfig
) -> Pairs:
    """Return the pairs of a batch, with candidates, as the training makes them.

    Negatives of a queue are left out, and the other direction of pairs in both.
    """
    in_batch = isinstance(config.negatives, InBatch)
    numbers = rows
    if isinstance(config.positives, Adjacent):
        assert isinstance(data, Texts)
        numbers = config.positives.reading_order(data.documents, data.positions)[rows]
    pairs = pairs_of_batch(
        source_of(config, dim, single=True) if in_batch else InBatch(),
        config,
        embeddings,
        numbers=numbers,
        labels=None if data.labels is None else data.labels[rows],
        owner=torch.arange(len(rows)),
    )
    return replace(pairs, reverse=None).with_candidates()


def _fitting(objective: Objective, candidates: int, together: int, labels: Tensor | None) -> Objective:
    """Return the objective with at most the negatives that every anchor has.

    Args:
        objective: objective of a training, whose batches may be larger.
        candidates: number of candidates, the anchor among them.
        together: number of them that are the anchor or its positives.
        labels: class of each candidate.
    """
    selection = objective.selection
    if not isinstance(selection, Subset):
        return objective
    if isinstance(selection.among, OtherLabels) and labels is not None:
        together = max(together, int(labels.unique(return_counts=True)[1].max()))
    k = min(selection.k, candidates - together)
    return replace(objective, selection=replace(selection, k=k))
