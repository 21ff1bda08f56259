"""Cliques and independent sets by networks trained through extensions, and by others.

Robinson (2023), section 8.5.1, Table 8.1, and section 8.5.4, Figure 8-5. The paper searches over 27 settings
for each cell, as `sets-search` does; here, every method has the same one. Its row of the neural extension for
independent sets is not legible in the copy at hand, but for one number of the text.
"""

from collections.abc import Mapping

from tammes.papers.entry import Entry, Request
from tammes.papers.figures import dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets.training import (
    CLIQUE,
    EPOCHS,
    GREEDY,
    INDEPENDENT,
    GraphScore,
    GraphSets,
    GraphTraining,
)
from tammes.papers.study import Study

DATA = ("MUTAG", "ENZYMES", "IMDB-BINARY", "PROTEINS", "COLLAB")
FIRST = ("Lovász", "neural Lovász", "neural Lovász, peak", GREEDY)
LATER = ("Erdős", "straight-through", "Lovász of columns", "REINFORCE")
EXACT = ("Lovász, exact", "neural Lovász, exact", "neural Lovász, peak, exact")
METHODS = (*FIRST, *EXACT, *LATER)
_ORDER = ("ENZYMES", "PROTEINS", "IMDB-BINARY", "MUTAG", "COLLAB")
PAPER: Mapping[tuple[str, str], Mapping[str, float]] = {
    key: dict(zip(_ORDER, values, strict=False))
    for key, values in {
        (CLIQUE, "straight-through"): (0.725, 0.722, 0.917, 0.965, 0.856),
        (CLIQUE, "Erdős"): (0.883, 0.905, 0.936, 1.000, 0.852),
        (CLIQUE, "REINFORCE"): (0.751, 0.725, 0.881, 1.000, 0.781),
        (CLIQUE, "Lovász"): (0.723, 0.778, 0.975, 0.977, 0.855),
        (CLIQUE, "neural Lovász"): (0.933, 0.926, 0.961, 1.000, 0.864),
        (INDEPENDENT, "straight-through"): (0.505, 0.430, 0.701, 0.721, 0.331),
        (INDEPENDENT, "Erdős"): (0.821, 0.903, 0.515, 0.939, 0.886),
        (INDEPENDENT, "REINFORCE"): (0.617, 0.579, 0.899, 0.744, 0.053),
        (INDEPENDENT, "Lovász"): (0.311, 0.462, 0.716, 0.737, 0.302),
        (INDEPENDENT, "neural Lovász"): (0.775,),
    }.items()
}
REMARKS = (
    "All methods have one setting: 64 features, 6 layers, batches of 32 graphs, Adam at 1e-4. The paper "
    "reports, for each cell, the best of 27 settings on the validation graphs, as sets-search does.",
    "A ratio says little without the greedy solution beside it, which takes nodes in order of their degree "
    "and needs no training.",
    "With a sigmoid, as the paper has it, eigenvectors give numbers near 1/2, and half of the mass lies "
    "on the set of all nodes. The rows 'peak' divide an eigenvector by its largest entry instead.",
    "The paper's objectives are surrogates: their least values need not be at solutions, and where a graph "
    "has few edges the one for independent sets is nearly best for the set of all nodes. The rows 'exact' "
    "minimize -|S| + 2 (what breaks the rule) instead, whose least values are at the solutions.",
)


def run(request: Request) -> None:
    """Train each method on each data set for both problems."""
    sets = GraphSets(request.required_data(), request.out / "answers.jsonl")
    epochs = max(1, round(EPOCHS * request.budget))
    Study(
        cells=cells(sets.found(DATA), epochs=epochs, seed=request.seed),
        scores=GraphScore,
        measure=sets.measure,
        name=lambda cell: f"{cell.data}, {cell.problem}, {cell.method}",
        page=page,
    ).run(request)


def cells(names: list[str], *, epochs: int, seed: int) -> list[GraphTraining]:
    """All cells, those that the paper's main statement is about first."""
    return [
        GraphTraining(data=name, problem=problem, method=method, epochs=epochs, seed=seed)
        for methods in (FIRST, EXACT, LATER)
        for name in names
        for problem in (CLIQUE, INDEPENDENT)
        for method in methods
    ]


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of what has been measured."""
    drawn = {
        (problem, name): dots(
            {method: _ratio(results, problem, method, name) for method in _methods(results, problem, name)},
            {
                method: PAPER[problem, method][name]
                for method in METHODS
                if name in PAPER.get((problem, method), {})
            },
            label="approximation ratio",
            limits=(0.0, 1.03),
        )
        for problem in (CLIQUE, INDEPENDENT)
        for name in _names(results)
    }
    panels = tuple(
        panel(
            figure,
            f"Approximation ratios on {name} for the problem {problem}, a dot each; the paper's as rings.",
            name=f"{problem}, {name}",
        )
        for (problem, name), figure in drawn.items()
    )
    cell = next(iter(results))
    return PaperPage(
        title="Cliques and independent sets",
        overview=next(iter(drawn.values())),
        findings=findings(results),
        figures=(
            Figure(
                title="Approximation ratios",
                words="Means over the test graphs: dots are ours, rings the paper's.",
                panels=panels,
                wide=True,
            ),
        ),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "epochs": f"{_epochs(results)} (the paper's: {EPOCHS})",
            "network": f"GAT, then {cell.layers} gated graph convolutions, {cell.width} features",
            "batch": f"{cell.batch_size} graphs",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "split": "60 % to train, 30 % to test, 10 % to validate; the best epoch on the last",
            "seed": str(cell.seed),
        },
    )


def findings(results: Mapping[GraphTraining, GraphScore]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    pairs = [(problem, name) for problem in (CLIQUE, INDEPENDENT) for name in _names(results)]
    measured = {
        method: {pair: _ratio(results, pair[0], method, pair[1]) for pair in pairs}
        for method in METHODS
        if all(method in _methods(results, *pair) for pair in pairs)
    }
    found = []
    for neural in ("neural Lovász", "neural Lovász, peak"):
        if neural not in measured or "Lovász" not in measured:
            continue
        ahead = [pair for pair in pairs if measured[neural][pair] >= measured["Lovász"][pair]]
        found.append(
            Finding(
                paper="The neural Lovász extension outperforms its scalar counterpart in 8 out of 10 cases.",
                ours=f"'{neural}' is at least as good as the scalar one in {len(ahead)} of {len(pairs)}.",
                agrees=len(ahead) >= 0.8 * len(pairs),
            )
        )
    near = [
        abs(measured[method][pair] - PAPER[pair[0], method][pair[1]])
        for method in measured
        for pair in pairs
        if pair[1] in PAPER.get((pair[0], method), {})
    ]
    if near:
        within = sum(each <= 0.05 for each in near)
        found.append(
            Finding(
                paper="Table 8.1's ratios.",
                ours=f"{within} of {len(near)} are within 0.05 of the paper's; the mean difference is "
                f"{sum(near) / len(near):.3f}.",
                agrees=within > len(near) / 2,
            )
        )
    if {"neural Lovász", "Lovász of columns"} <= measured.keys():
        ahead = [
            pair for pair in pairs if measured["neural Lovász"][pair] > measured["Lovász of columns"][pair]
        ]
        found.append(
            Finding(
                paper="Figure 8-5: the naive extension of columns performs considerably worse than neural "
                "ones, and better than one-dimensional ones.",
                ours=f"The neural extension is ahead of that of columns in {len(ahead)} of {len(pairs)}.",
                agrees=len(ahead) > len(pairs) / 2,
            )
        )
    return tuple(found)


def numbers(results: Mapping[GraphTraining, GraphScore]) -> Numbers:
    """A row for each problem and method: ours, and the paper's in parentheses."""
    rows = []
    for problem in (CLIQUE, INDEPENDENT):
        there = {cell.method for cell in results if cell.problem == problem}
        for method in (each for each in METHODS if each in there):
            cells = []
            for name in _names(results):
                if method not in _methods(results, problem, name):
                    cells.append("-")
                    continue
                paper = PAPER.get((problem, method), {}).get(name)
                ours = f"{_ratio(results, problem, method, name):.3f}"
                cells.append(ours if paper is None else f"{ours} ({paper:.3f})")
            rows.append((f"{problem}: {method}", *cells))
    return Numbers(
        header=("", *_names(results)),
        rows=tuple(rows),
        note="Mean approximation ratio over the test graphs; the paper's in parentheses.",
    )


def _epochs(results: Mapping[GraphTraining, GraphScore]) -> str:
    by_data = {cell.data: cell.epochs for cell in results}
    if len(set(by_data.values())) == 1:
        return str(next(iter(by_data.values())))
    return ", ".join(f"{name} {epochs}" for name, epochs in by_data.items())


def _names(results: Mapping[GraphTraining, GraphScore]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.data for cell in results))


def _methods(results: Mapping[GraphTraining, GraphScore], problem: str, name: str) -> tuple[str, ...]:
    there = {cell.method for cell in results if cell.problem == problem and cell.data == name}
    return tuple(method for method in METHODS if method in there)


def _ratio(results: Mapping[GraphTraining, GraphScore], problem: str, method: str, name: str) -> float:
    return next(
        measured.ratio
        for cell, measured in results.items()
        if (cell.problem, cell.method, cell.data) == (problem, method, name)
    )


ENTRY = Entry(
    name="sets-combinatorial",
    statement="Networks trained through neural set function extensions find larger cliques and independent "
    "sets than those trained through scalar ones, and compare well with other methods.",
    source="Robinson (2023), section 8.5.1, Table 8.1, and Figure 8-5",
    data="a folder with unpacked archives of the TU collection in it: MUTAG, ENZYMES, IMDB-BINARY, PROTEINS, "
    "COLLAB, or some of them",
    run=run,
)
