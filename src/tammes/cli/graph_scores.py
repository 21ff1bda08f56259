"""Scores of an encoder of graphs by cross-validation, beside kernels and histograms that cost no training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rich.table import Table
from torch import Tensor

from tammes.data import GraphSet
from tammes.estimate import Estimate
from tammes.evaluation import (
    SVM,
    CrossValidation,
    LabeledFeatures,
    LinearProbe,
    degree_histograms,
    equal_graphs,
    wl_features,
)
from tammes.evaluation.weisfeiler_lehman import first_of_each, leaked_share
from tammes.training import Run, build_model, embed

TRAINED = "trained encoder"
WL = "Weisfeiler-Lehman kernel"
MOST_OF_KERNEL = 5_000
"""Most graphs with a kernel: matrices of n x n numbers, 0.2 GB each for 5,000, and a time of n^3."""


@dataclass(frozen=True, kw_only=True)
class GraphScores:
    """Accuracies of features of graphs in stratified folds; nothing is chosen on a test fold.

    Args:
        svm: accuracy of the support vector machine, with C chosen within the training folds.
        logistic: accuracy of the logistic regression.
    """

    svm: float
    logistic: float


@dataclass(frozen=True, kw_only=True)
class GraphEvaluation:
    """Scores of a trained encoder and of the floors on the same folds.

    Args:
        scores: scores by name, the trained encoder's first; None for the kernel of too many graphs.
        graphs: number of graphs that were classified.
        equal: number of graphs that equal an earlier one, by color refinement.
        leaked: share of the test graphs with an equal one among the training graphs, over all folds.
    """

    scores: Mapping[str, GraphScores | None]
    graphs: int
    equal: int
    leaked: float


def evaluated(
    run: Run, graphs: GraphSet, validation: CrossValidation, *, distinct: bool, name: str
) -> GraphEvaluation:
    """Return the scores of a run's encoder, of the untrained one and of two descriptions of graphs.

    Args:
        run: the run, whose model may be on any device.
        graphs: labeled graphs.
        validation: folds.
        distinct: whether graphs that equal an earlier one are left out.
        name: file or folder of the graphs, for messages.

    Raises:
        ValueError: for graphs without labels, of one class, or with fewer of a class than folds.
    """
    validation.check_graphs(graphs, name)
    numbers = equal_graphs(graphs)
    first = first_of_each(numbers)
    equal = len(graphs) - len(first)
    if distinct:
        graphs, numbers = graphs.subset(first), numbers[first]
        validation.check_graphs(graphs, f"{name}, without equal graphs")
    labels = graphs.required_labels()
    untrained = build_model(run.config, run.model.assets)
    features: dict[str, tuple[Tensor, SVM] | None] = {
        TRAINED: (embed(run.model, graphs)[0], SVM()),
        "untrained encoder": (embed(untrained, graphs)[0], SVM()),
        WL: (wl_features(graphs), SVM(linear=True)) if len(graphs) <= MOST_OF_KERNEL else None,
        "degree histogram": (degree_histograms(graphs), SVM()),
    }
    return GraphEvaluation(
        scores={
            name: None if each is None else _scores(each[0], each[1], labels, validation)
            for name, each in features.items()
        },
        graphs=len(graphs),
        equal=equal,
        leaked=leaked_share(numbers, labels, validation),
    )


def _scores(features: Tensor, machine: SVM, labels: Tensor, validation: CrossValidation) -> GraphScores:
    points = LabeledFeatures(features=features, labels=labels)
    return GraphScores(
        svm=validation.accuracy(machine.predict, points),
        logistic=validation.accuracy(LinearProbe().predict, points),
    )


def graph_table(name: str, found: GraphEvaluation, validation: CrossValidation) -> Table:
    """Return the table of the scores, in per cent with Wilson's intervals over the graphs."""
    times = "once" if validation.repeats == 1 else f"{validation.repeats} times"
    table = Table(
        caption=f"accuracies in per cent with 95 % intervals over {found.graphs:,} graphs, each classified "
        f"{times} in {validation.folds} folds; the encoder may have seen all, unlabeled"
    )
    table.add_column("features", overflow="fold")
    for title in ("SVM", "logistic regression"):
        table.add_column(title, justify="right")
    for each, scores in found.scores.items():
        shares = () if scores is None else (scores.svm, scores.logistic)
        cells = [Estimate.of_share(share, found.graphs).percent for share in shares] or ["-", "-"]
        table.add_row(name if each == TRAINED else each, *cells)
        if each == TRAINED:
            table.add_section()
    return table


def said_of_kernel(found: GraphEvaluation) -> str | None:
    """Return the sentence about a kernel that was left out; None if it was measured."""
    if found.scores[WL] is not None:
        return None
    return (
        f"The {WL} was left out: it takes memory of the number of graphs squared, and is measured up to "
        f"{MOST_OF_KERNEL:,}."
    )


def said_of_equal(found: GraphEvaluation, *, distinct: bool) -> str:
    """Return the sentence about graphs that are equal."""
    if distinct:
        return f"{found.equal:,} graphs that equal an earlier one by color refinement were left out."
    return (
        f"{found.equal:,} graphs equal an earlier one by color refinement: {100 * found.leaked:.1f} % of "
        "the test graphs have an equal one in the training folds. --distinct leaves them out."
    )
