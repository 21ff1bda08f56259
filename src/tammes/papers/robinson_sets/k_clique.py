"""Whether a graph has a clique of size k, by extensions that look at small sets only.

Robinson (2023), section 8.5.2, Figure 8-2, and F.6.4. The figure's numbers are not in the text. A network
answers yes by showing a clique, so precision is 1, and F1 says how many of the cliques it found.
"""

from collections.abc import Mapping, Sequence

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_sets import training
from tammes.papers.robinson_sets.training import (
    OF_SIZE,
    RANDOM,
    UNTRAINED,
    GraphData,
    GraphScore,
    GraphTraining,
)
from tammes.papers.study import Study

DATA = ("ENZYMES", "PROTEINS")
BOUNDED, *OTHERS = METHODS = ("bounded Lovász", "Lovász", "REINFORCE")
SIZES = (3, 4)
CONTROLS = {"the untrained network": BOUNDED + UNTRAINED, "the greedy decoding of random scores": RANDOM}
"""What the bounded extension must exceed to have learned something, and its label."""
Place = tuple[str, int]
"""Data set and k."""
F1 = Mapping[tuple[str, int, str], Sequence[float]]
"""F1 score by data set, k and label, one for each seed."""


def run(request: Request) -> None:
    """Train each method on each data set for each k."""
    graphs = GraphData.of(request)
    epochs, seeds = training.epochs_of(request.budget), request.seed_range(training.SEEDS)
    Study(
        cells=training.with_untrained(
            GraphTraining(
                data=name,
                problem=OF_SIZE,
                method=method,
                epochs=0 if method == RANDOM else epochs,
                learning_rate=request.rate(training.RATE),
                k=k,
                seed=seed,
            )
            for seed in seeds
            for name in graphs.found(DATA)
            for k in SIZES
            for method in (*METHODS, RANDOM)
        ),
        scores=GraphScore,
        measure=graphs.measure,
        name=lambda cell: f"{cell.data}, k = {cell.k}, {cell.label}, seed {cell.seed}",
        protocol=Protocol(seeds=seeds, controls=[*CONTROLS], measured_on="test graphs"),
        page=page,
    ).run(request)


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of the scores."""
    f1: dict[tuple[str, int, str], list[float]] = {}
    for cell, score in results.items():
        f1.setdefault((cell.data, cell.k, cell.label), []).append(score.f1)
    estimates = {key: Estimate.over_seeds(values) for key, values in f1.items()}
    places = {f"{name}, k = {k}": (name, k) for name, k, _ in f1}
    labels = [*dict.fromkeys(label for _, _, label in f1)]
    drawn = {
        title: dots({label: estimates[*place, label] for label in labels}, {}, label="F1", limits=(0.0, 1.03))
        for title, place in places.items()
    }
    return PaperPage(
        title="Cliques of size k",
        overview=next(iter(drawn.values())),
        findings=findings(f1, places),
        figures=(
            Figure(
                title="F1",
                words="On the test graphs, with 95 % intervals over the seeds.",
                panels=tuple(
                    panel(figure, f"F1 of each method as a dot: {title}.", name=title)
                    for title, figure in drawn.items()
                ),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("", *places),
            rows=tuple(
                (label, *(estimates[*place, label].text(3) for place in places.values())) for label in labels
            ),
            note="F1 of telling graphs with a clique of k nodes from others, with its 95 % interval over the "
            "seeds.",
        ),
        remarks=(
            "The extensions of small sets take x from a smaller domain than the cube: where the sigmoids add "
            "up to more than 1, they are divided by their sum.",
            "An untrained network answers by decoding alone. Greedy decoding adds the nodes of a graph in a "
            "random order, each if the set remains a clique.",
        ),
        settings=training.settings(results),
    )


def findings(f1: F1, places: Mapping[str, Place]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""

    def above(label: str) -> dict[str, Estimate]:
        return {
            title: Estimate.of_difference(f1[*place, BOUNDED], f1[*place, label])
            for title, place in places.items()
        }

    return tuple(
        Finding(
            paper=f"Figure 8-2: searching over sets of size k improves significantly over {other}.",
            ours=f"F1 of the bounded extension less that of {other}:",
            effects=tuple(Effect(name=title, difference=each) for title, each in above(other).items()),
            controls=tuple(
                Effect(name=f"{title}, above {control}", difference=each)
                for control, label in CONTROLS.items()
                for title, each in above(label).items()
            ),
        )
        for other in OTHERS
    )
