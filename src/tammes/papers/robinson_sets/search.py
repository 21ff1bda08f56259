"""Cliques and independent sets by the best of the paper's settings, found by successive halving.

Robinson (2023), section 8.5.1, Table 8.1, and appendix F.6: batch size, layers and width are searched over
for each cell, 27 settings of 200 epochs each. Here, all settings are trained for a few epochs, the best third
on the validation graphs again, from the start, for five times as many, and so on; the last one is trained for
200. That is a twelfth of the work (Jamieson and Talwalkar, 2016).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from tammes.estimate import Estimate
from tammes.papers.claim import claim
from tammes.papers.entry import Request
from tammes.papers.page import Numbers, PaperPage, write_page
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_sets import combinatorial, training
from tammes.papers.robinson_sets.combinatorial import Task
from tammes.papers.robinson_sets.training import (
    CLIQUE,
    GREEDY,
    INDEPENDENT,
    GraphData,
    GraphScore,
    GraphTraining,
)
from tammes.papers.study import Results, complete, grouped

DATA = ("MUTAG", "ENZYMES", "IMDB-BINARY", "PROTEINS")
METHODS = ("Lovász", "neural Lovász")
SEARCHED = ("batch_size", "layers", "width")
BATCHES, LAYERS, WIDTHS = (4, 32, 64), (6, 10, 16), (64, 128, 256)
"""Settings of appendix F.6."""
FEWER = 2
"""Number of values of each setting, the smallest ones, that a budget below `training.SMALL` searches."""
KEPT, LONGER = 3, 5
"""One in three settings is kept for the next round, with five times as many epochs."""
REMARKS = (
    "Each round keeps the settings with the best validation ratios; of equal ones the one that reached the "
    "ratio in an earlier epoch, then the one that was ahead before, which at first is the smaller one.",
    "Few epochs favor small batches, which take more steps: a setting that would overtake late is not found.",
    "Each seed has a separate search, so that the intervals hold the luck of the search as well.",
)
OF_MUTAG = "MUTAG has 18 validation graphs, so that many settings are equal there."


def run(request: Request) -> None:
    """Search the best setting of each task and seed; the table resumes, and the page grows with each task.

    This is no `Study`: which cells are measured depends on the scores of earlier ones.
    """
    graphs = GraphData.of(request)
    names = graphs.found(DATA)
    space = [each[:FEWER] if request.budget < training.SMALL else each for each in (BATCHES, LAYERS, WIDTHS)]
    protocol = Protocol(
        seeds=request.seed_range(training.SEEDS),
        controls=["untrained network of the best setting", "greedy solution by degree"],
        measured_on="test graphs",
        search=dict(zip(("batch", "layers", "features"), space, strict=True)),
        searched_on="validation graphs",
    )
    claim(request, protocol)
    results = Results(request.out / "table.csv", GraphTraining, GraphScore, request.sharing)
    shown: dict[GraphTraining, GraphScore] = {}
    for task, seed in product(product(names, (CLIQUE, INDEPENDENT), METHODS), protocol.seeds):
        best = search(
            results,
            graphs,
            task,
            space,
            epochs=training.epochs_of(request.budget),
            seed=seed,
            learning_rate=request.rate(training.RATE),
        )
        greedy = GraphTraining(data=task[0], problem=task[1], method=GREEDY, epochs=0, seed=seed)
        shown |= complete(results, [best, best.untrained, greedy], graphs.measure, name=_name)
        if seed == protocol.seeds[-1]:
            write_page(page(shown, space), request, protocol)


def search(
    results: Results[GraphTraining, GraphScore],
    graphs: GraphData,
    task: Task,
    space: Sequence[Sequence[int]],
    *,
    epochs: int,
    seed: int,
    learning_rate: float = training.RATE,
) -> GraphTraining:
    """Return the cell of the best setting, trained for all epochs; all measured cells join the results.

    Args:
        results: known scores; each measured cell is appended.
        graphs: data sets.
        task: data set, problem and method.
        space: batch sizes, numbers of layers and widths.
        epochs: number of epochs of the last round.
        seed: random seed of every training.
        learning_rate: learning rate of every training.
    """
    data, problem, method = task
    candidates = [
        GraphTraining(
            data=data,
            problem=problem,
            method=method,
            epochs=epochs,
            width=width,
            layers=layers,
            batch_size=batch_size,
            learning_rate=learning_rate,
            seed=seed,
        )
        for width, layers, batch_size in product(*reversed(space))
    ]
    for count, own in rounds(len(candidates), epochs):
        cells = [replace(cell, epochs=own) for cell in candidates[:count]]
        candidates = ranked(complete(results, cells, graphs.measure, name=_name))
    return candidates[0]


def rounds(count: int, epochs: int) -> list[tuple[int, int]]:
    """Return the number of settings and of epochs of each round; the last has one setting and all epochs.

    Example:
        >>> rounds(27, 200)
        [(27, 2), (9, 8), (3, 40), (1, 200)]
    """
    made = [count]
    while made[-1] > 1:
        made.append(max(1, made[-1] // KEPT))
    last = len(made) - 1
    return [(each, max(1, round(epochs / LONGER ** (last - place)))) for place, each in enumerate(made)]


def ranked(measured: Mapping[GraphTraining, GraphScore]) -> list[GraphTraining]:
    """Sort cells by validation ratio, the best first; ties by the earlier best epoch, then in their order."""
    return sorted(measured, key=lambda cell: (-measured[cell].validation, measured[cell].best_epoch))


def page(results: Mapping[GraphTraining, GraphScore], space: Sequence[Sequence[int]]) -> PaperPage:
    """Return the page of the best settings, their networks without training and the greedy solutions."""
    ratios = combinatorial.ratios_of(results)
    drawn = {
        problem: combinatorial.ratio_dots(
            {_line(task): task for task in ratios if task[1] == problem}, ratios
        )
        for problem in dict.fromkeys(problem for _, problem, _ in ratios)
    }
    count, epochs = math.prod(map(len, space)), max(cell.epochs for cell in results)
    batches, layers, widths = map(_words, space)
    return PaperPage(
        title="Cliques and independent sets, settings searched over",
        overview=drawn[CLIQUE],
        findings=(
            combinatorial.ahead(ratios, *combinatorial.STATEMENTS[0]),
            combinatorial.near_the_paper(ratios),
        ),
        figures=(combinatorial.ratio_figure(drawn),),
        numbers=numbers(results),
        remarks=(*REMARKS, OF_MUTAG) if any(cell.data == "MUTAG" for cell in results) else REMARKS,
        settings={
            **training.settings(results),
            "epochs": ", ".join(f"{left} × {epochs}" for left, epochs in rounds(count, epochs))
            + " (settings × epochs)",
            "network": f"GAT, then {layers} gated graph convolutions, {widths} features",
            "batch": f"{batches} graphs",
        },
    )


def numbers(results: Mapping[GraphTraining, GraphScore]) -> Numbers:
    """Return a row for each task, with the best setting of each seed, and for each control."""

    def row(task: Task, group: Mapping[GraphTraining, GraphScore]) -> tuple[str, ...]:
        def over_seeds(field: str) -> str:
            return Estimate.over_seeds([getattr(score, field) for score in group.values()]).text(3)

        paper = combinatorial.published_ratio(*task)
        trained = [(cell, score) for cell, score in group.items() if cell.epochs]
        columns = (
            [str(score.best_epoch) for _, score in trained],
            *(
                [str(getattr(cell, name)) for cell, _ in trained]
                for name in ("batch_size", "layers", "width")
            ),
        )
        return (
            f"{task[1]}, {_line(task)}",
            over_seeds("ratio"),
            over_seeds("deviation"),
            "–" if paper is None else combinatorial.published_text(paper),
            over_seeds("validation") if trained else "–",
            *(", ".join(column) or "–" for column in columns),
        )

    return Numbers(
        header=(
            "",
            "ratio",
            "deviation",
            "the paper's",
            "validation",
            "best epoch",
            "batch",
            "layers",
            "features",
        ),
        rows=tuple(row(*item) for item in grouped(results, "data", "problem", "label").items()),
        note="Mean approximation ratio over the test graphs and its standard deviation between test graphs, "
        "ours with 95 % intervals over the seeds. The last four columns have a number for each seed.",
    )


def _name(cell: GraphTraining) -> str:
    return (
        f"{cell.data}, {cell.problem}, {cell.label}, seed {cell.seed}: epochs {cell.epochs}, "
        f"batch {cell.batch_size}, layers {cell.layers}, features {cell.width}"
    )


def _line(task: Task) -> str:
    data, _, method = task
    return f"{data}, {method}"


def _words(values: Sequence[int]) -> str:
    return " or ".join(map(str, values))
