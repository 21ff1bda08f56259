"""Training of one encoder of graphs, for the entries that compare negatives on graphs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from tammes.data import GraphSet, tu_set
from tammes.data.tu_files import tu_files
from tammes.encoders import GINEncoderConfig, ProjectionHeadConfig, ShortcutHeadConfig
from tammes.evaluation import SVM, CrossValidation, degree_histograms, equal_graphs, wl_features
from tammes.evaluation.svm import COSTS
from tammes.objective import Objective
from tammes.papers.entry import Request
from tammes.papers.robinson_negatives.graph_scores import GraphScore, GraphTest
from tammes.positives import GraphAugmentation, OwnGraph, SameInstance
from tammes.training import (
    Adam,
    GraphsSummary,
    Machine,
    RunConfig,
    RunFolder,
    TrainingConfig,
    build_model,
    embed,
    train,
)

SETS = ("MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "DD", "REDDIT-BINARY")
"""The thesis's eight sets, the quickest first but for PROTEINS."""
UNTRAINED, WL, DEGREES = "untrained", "Weisfeiler-Lehman kernel", "degree histogram"
FLOORS = (UNTRAINED, WL, DEGREES)
"""Controls that need no training."""
SEEDS, EPOCHS, BATCH, FOLDS, STAGES = 10, 200, 128, 10, 5
WIDTH, LAYERS = 32, 3
NO_VIEWS: Mapping[str, GraphAugmentation] = {}
"""Augmentations of methods that all compare nodes with graphs."""


@dataclass(frozen=True, kw_only=True)
class GraphScale:
    """Size of a study of graphs.

    Args:
        seeds: random seeds of the weights, the order and the folds.
        epochs: epochs of the papers; each set has as many more as its partial batches would have made.
        graphs: largest number of graphs of a set.
        folds: folds of the cross-validation.
        costs: values of C of the SVM.
        stages: number of equally spaced epochs at which the published protocol looks at the test folds.
        learning_rate: learning rate of Adam.
        learning: whether encoders are trained; else all keep their first weights.
    """

    seeds: Sequence[int] = range(SEEDS)
    epochs: int = EPOCHS
    graphs: int = 100_000
    folds: int = FOLDS
    costs: tuple[float, ...] = COSTS
    stages: int = STAGES
    learning_rate: float = 1e-3
    learning: bool = True


def scale_of(request: Request, *, learning_rate: float) -> GraphScale:
    """Return fewer seeds for a budget below 1, then fewer epochs, graphs, folds and values of C."""
    is_small = request.budget < 0.01
    return GraphScale(
        seeds=request.seed_range(SEEDS),
        epochs=max(1, round(EPOCHS * min(1.0, SEEDS * request.budget))),
        graphs=60 if is_small else 100_000,
        folds=3 if is_small else FOLDS,
        costs=COSTS[2:5:2] if is_small else COSTS,
        stages=1 if is_small else STAGES,
        learning_rate=learning_rate,
        learning=request.learning,
    )


def load_sets(path: Path, wanted: Sequence[str], scale: GraphScale) -> dict[str, GraphSet]:
    """Return the sets that a folder has, in the wanted order; large ones shrunk to a random part.

    Args:
        path: folder or archive.
        wanted: names of sets.
        scale: size of the study.

    Raises:
        ValueError: for a folder without any of them, damaged files, or a set that cannot be measured: without
            labels, of one class, or with fewer graphs of a class than folds.
    """
    there = {files.name: files.place for files in tu_files(path)}
    found = {name: tu_set(path, name=name) for name in wanted if name in there}
    if not found:
        raise ValueError(
            f"expected data sets of the TU collection in {path} ({', '.join(wanted)}), found none"
        )
    validation = CrossValidation(folds=scale.folds)
    for name, graphs in found.items():  # all of them before the first is trained on
        validation.check_graphs(graphs, str(there[name]))
    return {name: _part(graphs, scale.graphs) for name, graphs in found.items()}


def _part(graphs: GraphSet, most: int) -> GraphSet:
    """Return at most `most` graphs, equally many of each class."""
    if len(graphs) <= most:
        return graphs
    labels, generator = graphs.required_labels(), torch.Generator().manual_seed(0)
    each = most // len(labels.unique())
    rows = [
        row
        for label in labels.unique().tolist()
        for row in (labels == label)
        .nonzero()[:, 0][torch.randperm(int((labels == label).sum()), generator=generator)[:each]]
        .tolist()
    ]
    return graphs.subset(sorted(rows))


@dataclass(frozen=True, kw_only=True)
class GraphRun:
    """One encoder or floor, with all settings that its score depends on.

    Args:
        data: name of the set.
        method: name of the negatives, or of the floor.
        seed: random seed.
        graphs: number of graphs.
        epochs: epochs of training; 0 of a floor.
        folds: folds of the cross-validation.
    """

    data: str
    method: str
    seed: int
    graphs: int
    epochs: int
    folds: int


def cells_of(sets: Mapping[str, GraphSet], methods: Sequence[str], scale: GraphScale) -> list[GraphRun]:
    """Return all runs, those of the first seed first: a study stopped after it is whole, with fewer seeds."""
    return [
        GraphRun(
            data=data,
            method=method,
            seed=seed,
            graphs=len(graphs),
            epochs=0 if method in FLOORS or not scale.learning else _epochs(len(graphs), scale.epochs),
            folds=scale.folds,
        )
        for seed in scale.seeds
        for data, graphs in sets.items()
        for method in (*FLOORS, *methods)
    ]


def batch_size(graphs: int) -> int:
    """Return the papers' batch of 128, or half of a smaller set."""
    return min(BATCH, graphs // 2)


def _epochs(graphs: int, published: int) -> int:
    """Return as many epochs of whole batches as the published ones, with a partial batch each, have steps."""
    size = batch_size(graphs)
    return max(1, round(published * -(-graphs // size) / (graphs // size)))


def config_of(
    objective: Objective, run: GraphRun, scale: GraphScale, view: GraphAugmentation | None = None
) -> TrainingConfig:
    """Return the papers' settings: three GIN layers of width 32, Adam, weight decay 1e-6.

    Args:
        objective: objective to minimize.
        run: the run.
        scale: size of the study.
        view: augmentation that makes two views of a graph; None compares nodes with graphs.
    """
    return TrainingConfig(
        objective=objective,
        encoder=GINEncoderConfig(width=WIDTH, layers=LAYERS),
        head=ShortcutHeadConfig() if view is None else ProjectionHeadConfig(dim=WIDTH * LAYERS),
        augmentation=view,
        positives=OwnGraph() if view is None else SameInstance(),
        optimizer=Adam(learning_rate=scale.learning_rate, weight_decay=1e-6),
        batch_size=batch_size(run.graphs),
        epochs=max(1, run.epochs),
        seed=run.seed,
    )


def measurer(
    sets: Mapping[str, GraphSet],
    objectives: Mapping[str, Objective],
    scale: GraphScale,
    views: Mapping[str, GraphAugmentation] = NO_VIEWS,
) -> Callable[[GraphRun], GraphScore]:
    """Return the function that trains and measures one encoder, or measures a floor.

    Args:
        sets: sets by name.
        objectives: objective of each trained method.
        scale: size of the study.
        views: augmentation of each method on two views of a graph; others compare nodes with graphs.
    """

    @cache  # the floors of a set are the same for all seeds
    def floor(data: str, method: str) -> Tensor:
        return wl_features(sets[data]) if method == WL else degree_histograms(sets[data])

    @cache
    def numbers(data: str) -> Tensor:
        return equal_graphs(sets[data])

    def measure(run: GraphRun) -> GraphScore:
        graphs = sets[run.data]
        evaluation = GraphTest(
            labels=graphs.required_labels(),
            numbers=numbers(run.data),
            validation=CrossValidation(folds=run.folds, seed=run.seed),
            machine=SVM(linear=run.method == WL, costs=scale.costs),
        )
        if run.method in (WL, DEGREES):
            return evaluation.score([floor(run.data, run.method)], loss=0.0, seconds=0.0)
        config = config_of(next(iter(objectives.values())), run, scale)
        if run.epochs == 0:
            described = RunConfig(training=config, data=GraphsSummary.of(graphs, source=run.data))
            return evaluation.score([_features(build_model(described), graphs)], loss=0.0, seconds=0.0)
        config = config_of(objectives[run.method], run, scale, views.get(run.method))
        start = time.process_time()
        several, losses = zip(*_trained(config, graphs, stages=scale.stages), strict=True)
        return evaluation.score(several, loss=losses[-1], seconds=time.process_time() - start)

    return measure


def _features(model: torch.nn.Module, graphs: GraphSet) -> Tensor:
    return embed(model, graphs, batch_size=BATCH)[0]  # type: ignore[arg-type]


def _trained(config: TrainingConfig, graphs: GraphSet, *, stages: int) -> Iterator[tuple[Tensor, float]]:
    """Yield the features and the loss after each stage; a longer run begins with the same epochs."""
    with tempfile.TemporaryDirectory() as folder:
        kept = RunFolder(path=Path(folder, "run"))
        ends = sorted({max(1, round(config.epochs * stage / stages)) for stage in range(1, stages + 1)})
        for number, end in enumerate(ends):
            run = train(
                replace(config, epochs=end),
                graphs,
                folder=replace(kept, resume=number > 0),
                machine=Machine(accelerator="cpu"),
            )
            yield _features(run.model, graphs), run.metrics[-1].loss or 0.0
