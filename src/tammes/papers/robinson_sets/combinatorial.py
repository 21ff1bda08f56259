"""Cliques and independent sets by networks trained through extensions, and by others.

Robinson (2023), section 8.5.1, Table 8.1, and section 8.5.4, Figure 8-5. The paper searches over 27 settings
for each cell, as `sets-search` does; here, every method has the same one. In the copy at hand, the row of the
neural extension for independent sets is illegible, except for one number in the text.
"""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Entry, Request
from tammes.papers.figures import dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets import training
from tammes.papers.robinson_sets.training import CLIQUE, INDEPENDENT, GraphData, GraphScore, GraphTraining
from tammes.papers.study import Study

DATA = ("MUTAG", "ENZYMES", "IMDB-BINARY", "PROTEINS", "COLLAB")
FIRST = ("Lovász", "neural Lovász", "neural Lovász, peak", training.GREEDY)
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
    "Compare each ratio with that of the greedy solution, which takes nodes in order of their degree and "
    "needs no training.",
    "With the paper's sigmoid, eigenvectors give numbers near 1/2, and half of the mass lies on the set of "
    "all nodes. The rows 'peak' divide an eigenvector by its largest entry instead.",
    "The paper's objectives are surrogates: they need not be least at the solutions, and on a graph with few "
    "edges the one for independent sets is nearly least for the set of all nodes. The rows 'exact' minimize "
    "-|S| + 2 (pairs that break the rule) instead, which is least at the solutions.",
)


Ratios = Mapping[tuple[str, str, str], float]
"""Mean approximation ratio by data set, problem and method."""


def run(request: Request) -> None:
    """Train each method on each data set for both problems."""
    graphs = GraphData.of(request)
    Study(
        cells=cells(graphs.found(DATA), epochs=training.epochs_of(request.budget), seed=request.seed),
        scores=GraphScore,
        measure=graphs.measure,
        name=lambda cell: f"{cell.data}, {cell.problem}, {cell.method}",
        page=page,
    ).run(request)


def cells(names: list[str], *, epochs: int, seed: int) -> list[GraphTraining]:
    """Return all cells; first those of the paper's main statement."""
    return [
        GraphTraining(data=name, problem=problem, method=method, epochs=epochs, seed=seed)
        for methods in (FIRST, EXACT, LATER)
        for name in names
        for problem in (CLIQUE, INDEPENDENT)
        for method in methods
    ]


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of the scores."""
    ratios = {(cell.data, cell.problem, cell.method): score.ratio for cell, score in results.items()}
    names = tuple(dict.fromkeys(name for name, _, _ in ratios))
    drawn = {
        f"{problem}, {name}": ratio_dots(
            {method: (name, problem, method) for method in METHODS if (name, problem, method) in ratios},
            ratios,
        )
        for problem in (CLIQUE, INDEPENDENT)
        for name in names
    }
    return PaperPage(
        title="Cliques and independent sets",
        overview=next(iter(drawn.values())),
        findings=findings(ratios),
        figures=(ratio_figure(drawn),),
        numbers=numbers(ratios, names),
        remarks=REMARKS,
        settings=training.settings(results),
    )


def ratio_dots(tasks: Mapping[str, tuple[str, str, str]], ratios: Ratios) -> Drawing:
    """Draw ratios as dots, the paper's as rings; `tasks` has data set, problem and method of each line."""
    return dots(
        {line: ratios[task] for line, task in tasks.items()},
        {line: value for line, task in tasks.items() if (value := published_ratio(*task)) is not None},
        label="approximation ratio",
        limits=(0.0, 1.03),
    )


def ratio_figure(drawn: Mapping[str, Drawing]) -> Figure:
    """Return drawings of ratios, by name, as a figure of the page."""
    return Figure(
        title="Approximation ratios",
        words="Means over the test graphs: dots are ours, rings the paper's.",
        panels=tuple(
            panel(drawing, f"Approximation ratios as dots, the paper's as rings: {name}.", name=name)
            for name, drawing in drawn.items()
        ),
        wide=True,
    )


def published_ratio(data: str, problem: str, method: str) -> float | None:
    """Return the paper's ratio, or None if it has none."""
    return PAPER.get((problem, method), {}).get(data)


def findings(ratios: Ratios) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    columns, pairs = "Lovász of columns", shared_pairs(ratios, "neural Lovász", "Lovász of columns")
    found = [ahead_of_scalar(ratios, each) for each in ("neural Lovász", "neural Lovász, peak")]
    found.append(near_the_paper(ratios))
    if pairs:
        ahead = sum(ratios[*pair, "neural Lovász"] > ratios[*pair, columns] for pair in pairs)
        found.append(
            Finding(
                paper="Figure 8-5: the naive extension of columns performs considerably worse than neural "
                "ones, and better than one-dimensional ones.",
                ours=f"The neural extension is ahead of that of columns in {ahead} of {len(pairs)}.",
                agrees=ahead > len(pairs) / 2,
            )
        )
    return tuple(found)


def shared_pairs(ratios: Ratios, first: str, second: str) -> Sequence[tuple[str, str]]:
    """Return the data sets and problems on which both of two methods have been measured."""
    return [
        (name, problem)
        for name, problem, method in ratios
        if method == first and (name, problem, second) in ratios
    ]


def ahead_of_scalar(ratios: Ratios, neural: str) -> Finding:
    """Return the paper's statement that a neural extension is ahead of the scalar one, beside our numbers."""
    pairs = shared_pairs(ratios, neural, "Lovász")
    ahead = sum(ratios[*pair, neural] >= ratios[*pair, "Lovász"] for pair in pairs)
    ours = f"'{neural}' is at least as good as the scalar one in {ahead} of {len(pairs)}."
    return Finding(
        paper="The neural Lovász extension outperforms its scalar counterpart in 8 out of 10 cases.",
        ours=ours if pairs else f"'{neural}' and the scalar one have not both been measured yet.",
        agrees=ahead >= 0.8 * len(pairs) if pairs else None,
    )


def near_the_paper(ratios: Ratios) -> Finding:
    """Return how far our ratios are from those of Table 8.1."""
    near = [abs(own - value) for task, own in ratios.items() if (value := published_ratio(*task)) is not None]
    within = sum(each <= 0.05 for each in near)
    ours = f"{within} of {len(near)} are within 0.05 of the paper's; the mean difference is "
    return Finding(
        paper="Table 8.1's ratios.",
        ours=f"{ours}{sum(near) / len(near):.3f}." if near else "The paper has none of these ratios.",
        agrees=within > len(near) / 2 if near else None,
    )


def numbers(ratios: Ratios, names: tuple[str, ...]) -> Numbers:
    """Return a row for each problem and method: ours, and the paper's in parentheses."""

    def text(task: tuple[str, str, str]) -> str:
        paper = published_ratio(*task)
        ours = f"{ratios[task]:.3f}" if task in ratios else "-"
        return ours if paper is None or task not in ratios else f"{ours} ({paper:.3f})"

    return Numbers(
        header=("", *names),
        rows=tuple(
            (f"{problem}: {method}", *(text((name, problem, method)) for name in names))
            for problem in (CLIQUE, INDEPENDENT)
            for method in METHODS
            if any((name, problem, method) in ratios for name in names)
        ),
        note="Mean approximation ratio over the test graphs; the paper's in parentheses.",
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
