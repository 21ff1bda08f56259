"""Whether a graph has a clique of size k, by extensions that look at small sets only.

Robinson (2023), section 8.5.2, Figure 8-2, and F.6.4. The figure's numbers are not in the text. A network
answers yes by showing a clique, so precision is 1, and F1 says how many of the cliques it found.
"""

from collections.abc import Mapping

from tammes.papers.entry import Entry, Request
from tammes.papers.figures import dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets import training
from tammes.papers.robinson_sets.training import OF_SIZE, GraphData, GraphScore, GraphTraining
from tammes.papers.study import Study

DATA = ("ENZYMES", "PROTEINS")
METHODS = ("bounded Lovász", "Lovász", "REINFORCE")
SIZES = (3, 4)


def run(request: Request) -> None:
    """Train each method on each data set for each k."""
    graphs = GraphData.of(request)
    epochs = training.epochs_of(request.budget)
    Study(
        cells=[
            GraphTraining(data=name, problem=OF_SIZE, method=method, epochs=epochs, k=k, seed=request.seed)
            for name in graphs.found(DATA)
            for k in SIZES
            for method in METHODS
        ],
        scores=GraphScore,
        measure=graphs.measure,
        name=lambda cell: f"{cell.data}, k = {cell.k}, {cell.method}",
        page=page,
    ).run(request)


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of the scores."""
    f1 = {(cell.data, cell.k, cell.method): score.f1 for cell, score in results.items()}
    places = {f"{name}, k = {k}": (name, k) for name, k, _ in f1}
    drawn = {
        title: dots({method: f1[*place, method] for method in METHODS}, {}, label="F1", limits=(0.0, 1.03))
        for title, place in places.items()
    }
    first, *others = METHODS
    ahead = {
        other: sum(f1[*place, first] > f1[*place, other] for place in places.values()) for other in others
    }
    return PaperPage(
        title="Cliques of size k",
        overview=next(iter(drawn.values())),
        findings=tuple(
            Finding(
                paper=f"Figure 8-2: searching over sets of size k improves significantly over {other}.",
                ours=f"The bounded extension is ahead of {other} in {count} of {len(places)} cases.",
                agrees=count == len(places),
            )
            for other, count in ahead.items()
        ),
        figures=(
            Figure(
                title="F1",
                words="On the test graphs.",
                panels=tuple(
                    panel(figure, f"F1 of each method as a dot: {title}.", name=title)
                    for title, figure in drawn.items()
                ),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("", *METHODS),
            rows=tuple(
                (title, *(f"{f1[*place, method]:.3f}" for method in METHODS))
                for title, place in places.items()
            ),
            note="F1 of telling graphs with a clique of k nodes from others.",
        ),
        remarks=(
            "The extensions of small sets take x from a smaller domain than the cube: where the sigmoids add "
            "up to more than 1, they are divided by their sum.",
        ),
        settings=training.settings(results),
    )


ENTRY = Entry(
    name="sets-k-clique",
    statement="An extension that looks at sets of at most k elements is better at telling whether a graph "
    "has a clique of size k than the Lovász extension and REINFORCE.",
    source="Robinson (2023), section 8.5.2, Figure 8-2",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run,
)
