"""Cliques and independent sets by the best of the paper's settings, found by successive halving.

Robinson (2023), section 8.5.1, Table 8.1, and appendix F.6: batch size, layers and width are searched over
for each cell, 27 settings of 200 epochs each. Here, all settings are trained for a few epochs, the best third
on the validation graphs again, from the start, for five times as many, and so on; the last one is trained for
200. That is a twelfth of the work (Jamieson and Talwalkar, 2016).
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from tammes.papers.entry import Entry, Request
from tammes.papers.page import Numbers, PaperPage, write_page
from tammes.papers.robinson_sets import combinatorial, training
from tammes.papers.robinson_sets.training import CLIQUE, INDEPENDENT, GraphData, GraphScore, GraphTraining
from tammes.papers.study import Results, complete

DATA = ("MUTAG", "ENZYMES", "IMDB-BINARY", "PROTEINS")
METHODS = ("Lovász", "neural Lovász")
BATCHES, LAYERS, WIDTHS = (4, 32, 64), (6, 10, 16), (64, 128, 256)
"""Settings of appendix F.6."""
KEPT, LONGER = 3, 5
"""One in three settings is kept for the next round, with five times as many epochs."""
Task = tuple[str, str, str]
"""Data set, problem and method."""
REMARKS = (
    "Each round keeps the settings with the best validation ratios; of equal ones the one that reached the "
    "ratio in an earlier epoch, then the one that was ahead before, which at first is the smaller one.",
    "Few epochs favor small batches, which take more steps: a setting that would overtake late is not found.",
)
OF_MUTAG = "MUTAG has 18 validation graphs, so that many settings are equal there."


def run(request: Request) -> None:
    """Search the best setting of each task; the table resumes, and the page grows with each task.

    This is no `Study`: which cells are measured depends on the scores of earlier ones.
    """
    graphs = GraphData.of(request)
    names = graphs.found(DATA)
    request.out.mkdir(parents=True, exist_ok=True)
    results = Results(request.out / "table.csv", GraphTraining, GraphScore)
    best: dict[Task, tuple[GraphTraining, GraphScore]] = {}
    for task in product(names, (CLIQUE, INDEPENDENT), METHODS):
        cell = search(results, graphs, task, epochs=training.epochs_of(request.budget), seed=request.seed)
        best[task] = cell, results.known[cell]
        write_page(page(best), request)


def search(
    results: Results[GraphTraining, GraphScore], graphs: GraphData, task: Task, *, epochs: int, seed: int
) -> GraphTraining:
    """Return the cell of the best setting, trained for all epochs; all measured cells join the results."""
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
            seed=seed,
        )
        for width, layers, batch_size in product(WIDTHS, LAYERS, BATCHES)
    ]
    for count, own in rounds(len(candidates), epochs):
        cells = [replace(cell, epochs=own) for cell in candidates[:count]]
        measured = complete(
            results,
            cells,
            graphs.measure,
            name=lambda cell: (
                f"{', '.join(task)}: epochs {cell.epochs}, batch {cell.batch_size}, "
                f"layers {cell.layers}, features {cell.width}"
            ),
        )
        candidates = ranked(measured)
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


def page(best: Mapping[Task, tuple[GraphTraining, GraphScore]]) -> PaperPage:
    """Return the page of the best settings."""
    ratios = {task: score.ratio for task, (_, score) in best.items()}
    drawn = {
        problem: combinatorial.ratio_dots({_line(task): task for task in best if task[1] == problem}, ratios)
        for problem in dict.fromkeys(problem for _, problem, _ in best)
    }
    cell, _ = next(iter(best.values()))
    count = len(BATCHES) * len(LAYERS) * len(WIDTHS)
    return PaperPage(
        title="Cliques and independent sets, settings searched over",
        overview=drawn[CLIQUE],
        findings=(
            combinatorial.ahead_of_scalar(ratios, "neural Lovász"),
            combinatorial.near_the_paper(ratios),
        ),
        figures=(combinatorial.ratio_figure(drawn),),
        numbers=numbers(best),
        remarks=(*REMARKS, OF_MUTAG) if any(data == "MUTAG" for data, _, _ in best) else REMARKS,
        settings={
            **training.settings([cell]),
            "epochs": ", ".join(f"{left} × {epochs}" for left, epochs in rounds(count, cell.epochs))
            + " (settings × epochs)",
            "network": f"GAT, then {_words(LAYERS)} gated graph convolutions, {_words(WIDTHS)} features",
            "batch": f"{_words(BATCHES)} graphs",
        },
    )


def numbers(best: Mapping[Task, tuple[GraphTraining, GraphScore]]) -> Numbers:
    """Return a row for each task, with its best setting."""
    return Numbers(
        header=("", "ratio", "the paper's", "validation", "best epoch", "batch", "layers", "features"),
        rows=tuple(
            (
                f"{task[1]}, {_line(task)}",
                f"{score.ratio:.3f} ± {score.deviation:.3f}",
                "-" if (paper := combinatorial.published_ratio(*task)) is None else f"{paper:.3f}",
                f"{score.validation:.3f}",
                *map(str, (score.best_epoch, cell.batch_size, cell.layers, cell.width)),
            )
            for task, (cell, score) in best.items()
        ),
        note="Mean approximation ratio over the test graphs ± its standard deviation between graphs.",
    )


def _line(task: Task) -> str:
    data, _, method = task
    return f"{data}, {method}"


def _words(values: tuple[int, ...]) -> str:
    return f"{', '.join(map(str, values[:-1]))} or {values[-1]}"


ENTRY = Entry(
    name="sets-search",
    statement="With the best of 27 settings, networks trained through neural set function extensions find "
    "larger cliques and independent sets than those trained through scalar ones.",
    source="Robinson (2023), section 8.5.1, Table 8.1, and appendix F.6",
    data=f"a folder with unpacked archives of the TU collection in it: {', '.join(DATA)}, or some",
    run=run,
)
