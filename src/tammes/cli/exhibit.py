"""Rows of the data that the figures of a page show, paired and compared as in training."""

from __future__ import annotations

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
from tammes.sources import ContextWindow, NodesToGraphs, TwoTowers
from tammes.training import Data, Model, TrainingConfig
from tammes.training.embedding import embed_pairs
from tammes.training.examples import Examples, readable
from tammes.training.kind_rules import VIEWS_OF_ONE_ROW
from tammes.training.loss_rules import compares_classes
from tammes.training.pairing import Pairing
from tammes.training.seeds import Purpose, derive
from tammes.training.source import both_sides, sentences_and_contexts

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
    model: Model, data: Data, pairs: Tensor, config: TrainingConfig, *, seeds: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Return the embeddings (b, dim) of both sides of pairs, as the objective compares them.

    Of two networks f and g, on adjacent sentences or given pairs, they are f of the first, g of the second.
    """
    return both_sides(config, *embed_pairs(model, data, pairs, config.augmentations, seeds=seeds))


@dataclass(frozen=True, kw_only=True, eq=False)
class Compared:
    """A batch as the objective compares it.

    Args:
        embeddings: (n, dim) embeddings of all rows of the exhibit.
        view_a: (b, dim) embeddings of the first of each pair.
        view_b: (b, dim) embeddings of the second.
        candidates: what the first views are compared with, where this is not all views; or None.
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
        data, rows = exhibit.data, exhibit.pairs
        seeds = derive(config.seed, Purpose.FIRST_VIEW, step), derive(config.seed, Purpose.SECOND_VIEW, step)
        view_a, view_b = embedded_views(model, data, rows, config, seeds=seeds)
        shown, others = both_sides(config, embeddings, embeddings)
        generator = torch.Generator().manual_seed(derive(config.seed, Purpose.OBJECTIVE))
        labels = None if data.labels is None else data.labels[rows[:, 0]]
        if isinstance(config.positives, Adjacent):
            one_way = _sentences_and_contexts(model, embeddings, exhibit, config)
        elif isinstance(config.positives, GivenPairs):
            one_way = _anchors_and_given(view_a, view_b, others, exhibit, config.positives, labels)
        elif isinstance(config.positives, OwnGraph):
            one_way = _first_nodes_and_graphs(view_a, view_b, labels)
        else:
            ids = labels if compares_classes(config) else None
            together = 2 if ids is None else 2 * int(ids.unique(return_counts=True)[1].max())
            fitting = _fitting(objective, 2 * len(rows), together, labels)
            with torch.no_grad():
                weights = fitting.weights(view_a, view_b, ids=ids, labels=labels, generator=generator)
            return Compared(embeddings=shown, view_a=view_a, view_b=view_b, weights=weights)
        pairs, candidates = one_way
        pairs = pairs.with_candidates()
        assert pairs.candidates is not None
        positives = pairs.positives().count + (pairs.own is not None)
        fitting = _fitting(objective, len(candidates), int(positives.max()), pairs.labels_of_candidates)
        return Compared(
            embeddings=shown,
            view_a=view_a,
            view_b=view_b,
            candidates=Candidates(
                embeddings=pairs.candidates.numpy(),
                rows=candidates.numpy(),
                negatives=len(candidates) - int(positives.min()),
            ),
            weights=fitting.weights(pairs, generator=generator)[: len(rows)],
        )


OneWay = tuple[Pairs, Tensor]
"""Pairs of a batch, the first views as anchors, and the row of the exhibit that each candidate is of."""


def _sentences_and_contexts(
    model: Model, embeddings: Tensor, exhibit: Exhibit, config: TrainingConfig
) -> OneWay:
    """Return sentences against the contexts of the batch; those without a positive come last."""
    assert isinstance(config.positives, Adjacent)
    window, batch = config.positives.window, slice(exhibit.batch)
    data = exhibit.data
    pairs = ContextWindow(window=window)(
        *(side[batch] for side in sentences_and_contexts(config, embeddings)),
        ids=Examples.of(data, model.assets).reading_order(window)[batch],
        labels=None if data.labels is None else data.labels[batch],
    )
    return pairs, torch.arange(len(pairs.ids_of_candidates))


def _anchors_and_given(
    anchors: Tensor,
    positives: Tensor,
    others: Tensor,
    exhibit: Exhibit,
    given: GivenPairs,
    labels: Tensor | None,
) -> OneWay:
    """Return anchors against the positives of the batch, its given negatives and, perhaps, the anchors."""
    first, second = exhibit.pairs.T
    rows, negatives = [second], None
    if exhibit.negatives is not None:
        rows, negatives = [second, exhibit.negatives], others[exhibit.negatives][:, None]
    if given.same_tower:
        rows.append(first)
    source = TwoTowers(same_tower=given.same_tower)
    return source(anchors, positives, negatives, ids=labels, labels=labels), torch.cat(rows)


def _first_nodes_and_graphs(nodes: Tensor, graphs: Tensor, labels: Tensor | None) -> OneWay:
    """Return the first node of each graph against the graphs of the batch."""
    own = torch.arange(len(graphs))
    return NodesToGraphs()(nodes, graphs, owner=own, labels=labels), own


def _fitting(objective: Objective, candidates: int, together: int, labels: Tensor | None) -> Objective:
    """Return the objective with at most the negatives that every anchor has.

    Args:
        objective: objective of a training, whose batches may be larger.
        candidates: number of candidates, the anchor among them.
        together: number of them that are the anchor or its positives.
        labels: class of each row of the batch.
    """
    selection = objective.selection
    if not isinstance(selection, Subset):
        return objective
    if isinstance(selection.among, OtherLabels) and labels is not None:
        views = candidates // len(labels)
        together = max(together, views * int(labels.unique(return_counts=True)[1].max()))
    k = min(selection.k, candidates - together)
    return replace(objective, selection=replace(selection, k=k))
