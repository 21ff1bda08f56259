"""Cliques and independent sets by networks trained through extensions, and by others.

Robinson (2023), section 8.5.1, Table 8.1, and section 8.5.4, Figure 8-5. The paper searches over 27 settings
for each cell, as `sets-search` does; here, every method has the same one. In the copy at hand, the row of the
neural extension for independent sets is illegible, except for one number in the text.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_sets import training
from tammes.papers.robinson_sets.training import (
    CLIQUE,
    GREEDY,
    INDEPENDENT,
    UNTRAINED,
    GraphData,
    GraphScore,
    GraphTraining,
)
from tammes.papers.study import Study

DATA = ("MUTAG", "ENZYMES", "IMDB-BINARY", "PROTEINS", "COLLAB")
FIRST = ("Lovász", "neural Lovász", "neural Lovász, peak", GREEDY)
LATER = ("Erdős", "straight-through", "Lovász of columns", "REINFORCE")
EXACT = ("Lovász, exact", "neural Lovász, exact", "neural Lovász, peak, exact")
METHODS = (*FIRST, *EXACT, *LATER)
_ORDER = ("ENZYMES", "PROTEINS", "IMDB-BINARY", "MUTAG", "COLLAB")
Published = tuple[float, float | None]
"""Ratio of the paper, and its standard deviation between test graphs."""
PAPER: Mapping[tuple[str, str], Mapping[str, Published]] = {
    key: dict(zip(_ORDER, zip(ratios, deviations, strict=True), strict=False))
    for key, (ratios, deviations) in {
        (CLIQUE, "straight-through"): (
            (0.725, 0.722, 0.917, 0.965, 0.856),
            (0.268, 0.260, 0.253, 0.162, 0.221),
        ),
        (CLIQUE, "Erdős"): ((0.883, 0.905, 0.936, 1.000, 0.852), (0.156, 0.133, 0.175, 0.000, 0.212)),
        (CLIQUE, "REINFORCE"): ((0.751, 0.725, 0.881, 1.000, 0.781), (0.301, 0.285, 0.240, 0.000, 0.316)),
        (CLIQUE, "Lovász"): ((0.723, 0.778, 0.975, 0.977, 0.855), (0.272, 0.270, 0.125, 0.125, 0.225)),
        (CLIQUE, "neural Lovász"): (
            (0.933, 0.926, 0.961, 1.000, 0.864),
            (0.148, 0.165, 0.143, 0.000, 0.205),
        ),
        (INDEPENDENT, "straight-through"): (
            (0.505, 0.430, 0.701, 0.721, 0.331),
            (0.244, 0.252, 0.252, 0.257, 0.260),
        ),
        (INDEPENDENT, "Erdős"): ((0.821, 0.903, 0.515, 0.939, 0.886), (0.124, 0.114, 0.310, 0.069, 0.198)),
        (INDEPENDENT, "REINFORCE"): (
            (0.617, 0.579, 0.899, 0.744, 0.053),
            (0.214, 0.340, 0.275, 0.121, 0.164),
        ),
        (INDEPENDENT, "Lovász"): ((0.311, 0.462, 0.716, 0.737, 0.302), (0.289, 0.260, 0.269, 0.154, 0.238)),
        (INDEPENDENT, "neural Lovász"): ((0.775,), (None,)),
    }.items()
}
STATEMENTS = (
    ("The neural Lovász extension outperforms its scalar counterpart in 8 out of 10 cases.", "Lovász", 0.8),
    (
        "It outperforms or equals straight-through in 9 out of 10 cases.",
        "straight-through",
        0.9,
    ),
    ("It outperforms or equals the method of Karalias and Loukas in 6 out of 10.", "Erdős", 0.6),
    (
        "Figure 8-5: the naive extension of columns performs considerably worse than neural ones.",
        "Lovász of columns",
        1.0,
    ),
)
"""Statement, method that the neural extension is ahead of, and share of the cases in which it is."""
NEAR = 0.05
"""Largest difference from a ratio of Table 8.1 that counts as agreement."""
REMARKS = (
    "All methods have one setting: 64 features, 6 layers, batches of 32 graphs, Adam at 1e-4. The paper "
    "reports, for each cell, the best of 27 settings on the validation graphs, as sets-search does.",
    "The input of the networks is the degree. The greedy solution takes nodes in the order of their degree "
    "and needs no training: what is not above it has learned nothing that its input does not say already.",
    "The paper's statements about cases are tried with intervals: a tie counts neither for nor against.",
    "With the paper's sigmoid, eigenvectors give numbers near 1/2, and half of the mass lies on the set of "
    "all nodes. The rows 'peak' divide an eigenvector by its largest entry instead.",
    "The paper's objectives are surrogates: they need not be least at the solutions, and on a graph with few "
    "edges the one for independent sets is nearly least for the set of all nodes. The rows 'exact' minimize "
    "-|S| + 2 (pairs that break the rule) instead, which is least at the solutions.",
)

Task = tuple[str, str, str]
"""Data set, problem and method, or what the method is compared with."""
Ratios = Mapping[Task, Sequence[float]]
"""Mean approximation ratio over the test graphs by task, one for each seed."""


def run(request: Request) -> None:
    """Train each method on each data set for both problems."""
    graphs = GraphData.of(request)
    seeds = request.seed_range(training.SEEDS)
    Study(
        cells=cells(
            graphs.found(DATA),
            epochs=training.epochs_of(request.budget),
            seeds=seeds,
            learning_rate=request.rate(training.RATE),
        ),
        scores=GraphScore,
        measure=graphs.measure,
        name=lambda cell: f"{cell.data}, {cell.problem}, {cell.label}, seed {cell.seed}",
        protocol=Protocol(
            seeds=seeds,
            controls=["untrained network", "greedy solution by degree"],
            measured_on="test graphs",
        ),
        page=page,
    ).run(request)


def cells(
    names: Sequence[str], *, epochs: int, seeds: Iterable[int], learning_rate: float = training.RATE
) -> list[GraphTraining]:
    """Return all cells, and their networks without training; first those of the paper's main statement."""
    return training.with_untrained(
        GraphTraining(
            data=name,
            problem=problem,
            method=method,
            epochs=0 if method == GREEDY else epochs,
            learning_rate=learning_rate,
            seed=seed,
        )
        for methods in (FIRST, EXACT, LATER)
        for seed in seeds
        for name in names
        for problem in (CLIQUE, INDEPENDENT)
        for method in methods
    )


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of the scores."""
    ratios = ratios_of(results)
    drawn = {
        f"{problem}, {name}": ratio_dots(
            {task[2]: task for task in _sorted(ratios) if task[:2] == (name, problem)}, ratios
        )
        for problem in (CLIQUE, INDEPENDENT)
        for name in dict.fromkeys(name for name, _, _ in ratios)
    }
    return PaperPage(
        title="Cliques and independent sets",
        overview=next(iter(drawn.values())),
        findings=findings(ratios),
        figures=(ratio_figure(drawn),),
        numbers=numbers(ratios),
        remarks=REMARKS,
        settings=training.settings(results),
    )


def ratios_of(results: Mapping[GraphTraining, GraphScore]) -> Ratios:
    """Return the ratios of each task, in the order of the seeds."""
    found: dict[Task, list[float]] = {}
    for cell, score in results.items():
        found.setdefault((cell.data, cell.problem, cell.label), []).append(score.ratio)
    return found


def ratio_dots(tasks: Mapping[str, Task], ratios: Ratios) -> Drawing:
    """Draw ratios as dots, the paper's as rings; `tasks` has data set, problem and method of each line."""
    return dots(
        {line: Estimate.over_seeds(ratios[task]) for line, task in tasks.items()},
        {line: value[0] for line, task in tasks.items() if (value := published_ratio(*task)) is not None},
        label="approximation ratio",
        limits=(0.0, 1.03),
    )


def ratio_figure(drawn: Mapping[str, Drawing]) -> Figure:
    """Return drawings of ratios, by name, as a figure of the page."""
    return Figure(
        title="Approximation ratios",
        words="Means over the test graphs: dots are ours, with 95 % intervals over the seeds, rings the "
        "paper's.",
        panels=tuple(
            panel(drawing, f"Approximation ratios as dots, the paper's as rings: {name}.", name=name)
            for name, drawing in drawn.items()
        ),
        wide=True,
    )


def published_ratio(data: str, problem: str, method: str) -> Published | None:
    """Return the paper's ratio and its deviation between test graphs, or None if it has none."""
    return PAPER.get((problem, method), {}).get(data)


def findings(ratios: Ratios) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    scalar, *others = STATEMENTS
    return (
        ahead(ratios, *scalar),
        ahead(ratios, f"{scalar[0]} (With 'peak' in place of the sigmoid.)", *scalar[1:], neural=FIRST[2]),
        near_the_paper(ratios),
        *(ahead(ratios, *each) for each in others),
        ahead(
            ratios,
            "Figure 8-5: the naive extension of columns improves over one-dimensional extensions.",
            "Lovász",
            1.0,
            neural="Lovász of columns",
        ),
    )


def ahead(ratios: Ratios, paper: str, other: str, share: float, *, neural: str = FIRST[1]) -> Finding:
    """Return a statement that one method is ahead of another in a share of the cases, beside our numbers."""
    both = [
        (name, problem)
        for name, problem, method in ratios
        if method == neural and (name, problem, other) in ratios
    ]
    effects = tuple(
        Effect(
            name=", ".join(pair),
            difference=Estimate.of_difference(ratios[*pair, neural], ratios[*pair, other]),
        )
        for pair in both
    ) or (Effect(name=neural, difference=None),)
    return Finding(
        paper=paper,
        ours=f"'{neural}' less '{other}':",
        effects=effects,
        controls=controls(ratios, [(*pair, neural) for pair in both]),
        required=math.ceil(share * len(effects)),
    )


def near_the_paper(ratios: Ratios) -> Finding:
    """Return how far the ratios of the two extensions are from those of Table 8.1."""
    papers = {
        task: paper[0]
        for task in ratios
        if task[2] in FIRST and (paper := published_ratio(*task)) is not None
    }
    effects = tuple(
        within(", ".join(task), Estimate.over_seeds(ratios[task]), paper, NEAR)
        for task, paper in papers.items()
    )
    return Finding(
        paper="Table 8.1's ratios of the two extensions.",
        effects=effects,
        controls=controls(ratios, list(papers)),
    )


def controls(ratios: Ratios, tasks: Sequence[Task]) -> tuple[Effect, ...]:
    """Return by how much the mean over tasks is above that of what needs no learning."""

    def above(name: str, control: Callable[[str], str]) -> Effect:
        gains = [
            np.subtract(ratios[task], ratios[*task[:2], control(task[2])])
            for task in tasks
            if (*task[:2], control(task[2])) in ratios
        ]
        mean = Estimate.over_seeds(np.mean(gains, axis=0).tolist()) if gains else None
        return Effect(name=f"mean above {name}", difference=mean)

    return (
        above("the untrained network", lambda method: method + UNTRAINED),
        above("the greedy solution by degree", lambda method: GREEDY),
    )


def numbers(ratios: Ratios) -> Numbers:
    """Return a row for each problem and method: ours, and the paper's in parentheses."""
    names = tuple(dict.fromkeys(name for name, _, _ in ratios))
    rows = dict.fromkeys(task[1:] for task in _sorted(ratios))

    def text(task: Task) -> str:
        ours = Estimate.over_seeds(ratios[task]).text(3) if task in ratios else "–"
        paper = published_ratio(*task) if task in ratios else None
        return ours if paper is None else f"{ours} ({published_text(paper)})"

    return Numbers(
        header=("", *names),
        rows=tuple((": ".join(row), *(text((name, *row)) for name in names)) for row in rows),
        note="Mean approximation ratio over the test graphs, with its 95 % interval over the seeds; in "
        "parentheses the paper's, with its standard deviation between test graphs.",
    )


def published_text(paper: Published) -> str:
    """Return the paper's ratio and its deviation, labeled.

    Example:
        >>> published_text((0.933, 0.148))
        '0.933, deviation 0.148'
    """
    ratio, deviation = paper
    return f"{ratio:.3f}" if deviation is None else f"{ratio:.3f}, deviation {deviation:.3f}"


def _sorted(ratios: Ratios) -> list[Task]:
    """Return the tasks by problem, then in the order of the methods, with the untrained networks last."""

    def place(task: Task) -> tuple[bool, bool, int]:
        _, problem, label = task
        method = label.removesuffix(UNTRAINED)
        return problem != CLIQUE, label != method, METHODS.index(method)

    return sorted(ratios, key=place)
