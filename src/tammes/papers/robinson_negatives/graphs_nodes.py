"""Nodes of one large graph: GRACE's views, with the negatives that the papers try elsewhere.

The graph is drawn from a degree-corrected block model, anew for each seed. Two views of a node's sampled
neighborhood are a pair; the other nodes of the batch are its negatives, in both views.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter

import torch
from torch import Tensor

from tammes.data import NodeSet, block_model
from tammes.encoders import GCNEncoderConfig, ProjectionHeadConfig
from tammes.evaluation import LabeledFeatures, LinearProbe, smoothed
from tammes.papers.entry import Request
from tammes.papers.finding import Effect, Finding, effect_in_points
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_negatives.graph_tables import GraphResults, Pick, numbers, overview
from tammes.papers.robinson_negatives.graph_training import UNTRAINED
from tammes.papers.robinson_negatives.graphs_augmented import (
    BASE,
    CHOICE,
    FAMILIES,
    SEARCH,
    SEARCHED,
)
from tammes.papers.study import Study
from tammes.positives import EdgesAndFeatures
from tammes.training import Adam, Machine, NodesSummary, RunConfig, TrainingConfig, build_model, embed, train

FEATURES, SMOOTHED = "features of the nodes", "features averaged over two hops"
FLOORS = (UNTRAINED, FEATURES, SMOOTHED)
SEEDS, EPOCHS, BATCH, FANOUT = 10, 20, 256, 10
LARGE, SMALL, CLASSES = 20_000, 700, 7
GRAPH = f"a graph of {CLASSES} classes"
TEST: Pick = attrgetter("test")
VALIDATION: Pick = attrgetter("validation")


@dataclass(frozen=True, kw_only=True)
class NodeScale:
    """Size of the study.

    Args:
        seeds: random seeds of the graph, its parts, the weights and the order.
        epochs: epochs of training; 0 trains nothing.
        nodes: nodes of the graph.
    """

    seeds: range = range(SEEDS)
    epochs: int = EPOCHS
    nodes: int = LARGE


@dataclass(frozen=True, kw_only=True)
class NodeRun:
    """One encoder or floor on one graph.

    Args:
        data: name of the graph.
        method: name of the negatives, or of the floor.
        seed: random seed.
        nodes: nodes of the graph.
        epochs: epochs of training; 0 of a floor.
    """

    data: str
    method: str
    seed: int
    nodes: int
    epochs: int


@dataclass(frozen=True, kw_only=True)
class NodeScore:
    """Accuracies of a linear probe that learns from a tenth of the nodes.

    Args:
        test: accuracy on the test nodes.
        validation: accuracy on the validation nodes, by which settings are chosen.
        loss: mean training loss of the last epoch.
        seconds: processor time of the training.
    """

    test: float
    validation: float
    loss: float
    seconds: float


def run(request: Request) -> None:
    """Train and measure each kind of negatives."""
    study(scale_of(request)).run(request)


def scale_of(request: Request) -> NodeScale:
    """Return fewer seeds for a budget below 1, then fewer epochs, and a small graph below 0.01."""
    epochs = max(1, round(EPOCHS * min(1.0, SEEDS * request.budget)))
    return NodeScale(
        seeds=request.seed_range(SEEDS),
        epochs=epochs if request.learning else 0,
        nodes=SMALL if request.budget < 0.01 else LARGE,
    )


def study(scale: NodeScale) -> Study[NodeRun, NodeScore]:
    """Return the study.

    Args:
        scale: size of the study.
    """
    return Study(
        cells=[
            NodeRun(
                data=GRAPH,
                method=method,
                seed=seed,
                nodes=scale.nodes,
                epochs=0 if method in FLOORS else scale.epochs,
            )
            for seed in scale.seeds
            for method in (*FLOORS, *SEARCHED)
        ],
        scores=NodeScore,
        measure=measurer(),
        name=lambda run: f"{run.method}, seed {run.seed}",
        protocol=Protocol(
            seeds=scale.seeds,
            controls=FLOORS,
            measured_on="test nodes",
            search=SEARCH,
            searched_on="validation nodes",
        ),
        page=lambda results: page(GraphResults(scores=results), scale),
    )


def measurer() -> Callable[[NodeRun], NodeScore]:
    """Return the function that trains and measures one encoder, or measures a floor."""

    @cache
    def graph(nodes: int, seed: int) -> NodeSet:
        return block_model(nodes, classes=CLASSES, within=0.7, own_words=0.2, seed=seed)

    def measure(run: NodeRun) -> NodeScore:
        nodes = graph(run.nodes, run.seed)
        if run.method in (FEATURES, SMOOTHED):
            features = nodes.features if run.method == FEATURES else smoothed(nodes)
            return scored(features, nodes, run.seed, loss=0.0, seconds=0.0)
        config = config_of(run)
        if run.epochs == 0:
            model = build_model(RunConfig(training=config, data=NodesSummary.of(nodes, GRAPH)))
            return scored(embed(model, nodes)[0], nodes, run.seed, loss=0.0, seconds=0.0)
        start = time.process_time()
        trained = train(config, nodes, source=GRAPH, machine=Machine(accelerator="cpu"))
        seconds = time.process_time() - start
        loss = trained.metrics[-1].loss or 0.0
        return scored(embed(trained.model, nodes)[0], nodes, run.seed, loss=loss, seconds=seconds)

    return measure


def config_of(run: NodeRun) -> TrainingConfig:
    """Return the settings of a run: two convolutional layers, and views with a fifth hidden."""
    return TrainingConfig(
        objective=SEARCHED.get(run.method, SEARCHED[BASE]),
        encoder=GCNEncoderConfig(width=128, layers=2),
        head=ProjectionHeadConfig(dim=128),
        augmentation=EdgesAndFeatures(),
        optimizer=Adam(learning_rate=1e-3),
        batch_size=min(BATCH, run.nodes // 4),
        epochs=max(1, run.epochs),
        fanouts=(FANOUT, FANOUT),
        seed=run.seed,
    )


def scored(features: Tensor, nodes: NodeSet, seed: int, *, loss: float, seconds: float) -> NodeScore:
    """Return the accuracies of features: a tenth of the nodes to learn from, a tenth for validation."""
    order = torch.randperm(len(nodes), generator=torch.Generator().manual_seed(seed))
    parts = order.split([len(nodes) // 10, len(nodes) // 10, len(nodes) - 2 * (len(nodes) // 10)])
    labels = nodes.required_labels()
    known, validation, test = (
        LabeledFeatures(features=features[each], labels=labels[each]) for each in parts
    )
    found = LinearProbe().predict(known, torch.cat([validation.features, test.features]))
    right = (found == torch.cat([validation.labels, test.labels])).to(torch.float64)
    chosen = len(validation.labels)
    return NodeScore(
        test=float(right[chosen:].mean()),
        validation=float(right[:chosen].mean()),
        loss=loss,
        seconds=seconds,
    )


def page(results: GraphResults, scale: NodeScale) -> PaperPage:
    """Return the page of what has been measured."""
    compared = (*FLOORS, *(name for name in SEARCHED if name != BASE))
    drawing, again = (overview(results, compared, BASE, pick=TEST, floors=FLOORS) for _ in range(2))
    said = "; ".join(f"{method} {results.over(GRAPH, method, BASE, TEST).points}" for method in compared)
    return PaperPage(
        title="Negatives between nodes of one graph",
        overview=drawing,
        findings=findings(results),
        figures=(
            Figure(
                title=f"Over {BASE}",
                words="Accuracy on the test nodes over that of InfoNCE at temperature 0.2, mean and 95 % "
                "interval over the seeds, in points. The first three cost no training.",
                panels=(panel(again, f"Over {BASE}: {said}.", name=GRAPH),),
                wide=True,
            ),
        ),
        numbers=numbers(
            results,
            {},
            BASE,
            note="Neither paper compares nodes of one graph, so it has no number here.",
            columns={"test nodes": TEST, "validation nodes": VALIDATION},
            pick=TEST,
        ),
        remarks=(
            "Each seed draws another graph, with other parts, weights and batches, which all methods share: "
            "an interval says what another graph of the same model would give.",
            "The encoder is trained on all nodes, without labels. A linear probe learns from a tenth of the "
            "nodes; settings are chosen on another tenth, and the accuracy is that on the others.",
        ),
        settings=settings_of(scale),
    )


def settings_of(scale: NodeScale) -> dict[str, str]:
    """Return the settings as the page shows them."""
    return {
        "graph": f"degree-corrected block model, {scale.nodes:,} nodes of {CLASSES} classes, 4 edges a node, "
        "70 % of them within a class; 16 of 256 words a node, a fifth from the words of its class",
        "encoder": "two convolutional layers of width 128, side by side; a perceptron of two layers as head",
        "views": "a fifth of the edges and of the features hidden",
        "batch": f"{BATCH} nodes with at most {FANOUT} neighbors of each at both hops; {scale.epochs} epochs",
        "Adam": "learning rate 0.001, weight decay 1e-6",
        "evaluation": "linear probe on features of the whole graph",
    }


def findings(results: GraphResults) -> tuple[Finding, ...]:
    """Return the papers' statements beside our numbers."""
    controls = tuple(
        effect_in_points(
            f"over {floor}", results.best_over(GRAPH, tuple(SEARCHED), (floor,), TEST, VALIDATION)
        )
        for floor in (UNTRAINED, SMOOTHED)
    )
    return (
        Finding(
            paper="Robinson (2023), section 3.5: hard negatives improve contrastive methods on graphs. (Of "
            "InfoGraph; here of nodes.)",
            ours=f"HCL over InfoNCE, {CHOICE}:",
            effects=(_over(results, "HCL", "InfoNCE"),),
            controls=controls,
        ),
        Finding(
            paper="Jiang et al. (2023), Table V: transport matches, and sometimes slightly exceeds, HCL. (Of "
            "InfoGraph; here of nodes.)",
            ours=f"HCL-OT over HCL, {CHOICE}:",
            effects=(_over(results, "HCL-OT", "HCL"),),
            controls=controls,
        ),
        Finding(
            paper="(No statement: debiased negatives between nodes.)",
            ours=f"DCL over InfoNCE, {CHOICE}: {_over(results, 'DCL', 'InfoNCE')}.",
        ),
        Finding(
            paper="(No statement: training, or averages over neighbors.)",
            ours="InfoNCE over features averaged over two hops, the temperature chosen on the validation "
            f"nodes: {results.best_over(GRAPH, FAMILIES['InfoNCE'], (SMOOTHED,), TEST, VALIDATION).points}.",
        ),
    )


def _over(results: GraphResults, more: str, less: str) -> Effect:
    return effect_in_points("", results.best_over(GRAPH, FAMILIES[more], FAMILIES[less], TEST, VALIDATION))
