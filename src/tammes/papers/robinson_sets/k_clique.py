"""Whether a graph has a clique of size k, by extensions that look at small sets only.

Robinson (2023), section 8.5.2, Figure 8-2, and F.6.4. The figure's numbers are not in the text. A network
answers yes by showing a clique, so precision is 1, and F1 says how many of the cliques it found.
"""

from collections.abc import Mapping

from tammes.papers.entry import Entry, Request
from tammes.papers.figures import dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets.training import EPOCHS, OF_SIZE, GraphScore, GraphSets, GraphTraining
from tammes.papers.study import Study

DATA = ("ENZYMES", "PROTEINS")
METHODS = ("bounded Lovász", "Lovász", "REINFORCE")
SIZES = (3, 4)


def run(request: Request) -> None:
    """Train each method on each data set for each k."""
    sets = GraphSets(request.required_data(), request.out / "answers.jsonl")
    epochs = max(1, round(EPOCHS * request.budget))
    Study(
        cells=[
            GraphTraining(data=name, problem=OF_SIZE, method=method, epochs=epochs, k=k, seed=request.seed)
            for name in sets.found(DATA)
            for k in SIZES
            for method in METHODS
        ],
        scores=GraphScore,
        measure=sets.measure,
        name=lambda cell: f"{cell.data}, k = {cell.k}, {cell.method}",
        page=page,
    ).run(request)


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of what has been measured."""
    f1 = {(cell.data, cell.k, cell.method): score.f1 for cell, score in results.items()}
    places = list(dict.fromkeys((name, k) for name, k, _ in f1))
    drawn = {
        (name, k): dots(
            {method: f1[name, k, method] for method in METHODS}, {}, label="F1", limits=(0.0, 1.03)
        )
        for name, k in places
    }
    cell = next(iter(results))
    return PaperPage(
        title="Cliques of size k",
        overview=next(iter(drawn.values())),
        findings=findings(results),
        figures=(
            Figure(
                title="F1",
                words="On the test graphs.",
                panels=tuple(
                    panel(figure, f"F1 on {name} for k = {k}, a dot each.", name=f"{name}, k = {k}")
                    for (name, k), figure in drawn.items()
                ),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("", *METHODS),
            rows=tuple(
                (f"{name}, k = {k}", *(f"{f1[name, k, method]:.3f}" for method in METHODS))
                for name, k in places
            ),
            note="F1 of telling graphs with a clique of k nodes from others.",
        ),
        remarks=(
            "The extensions of small sets take x from a smaller domain than the cube: where the sigmoids add "
            "up to more than 1, they are divided by their sum.",
        ),
        settings={
            "epochs": f"{cell.epochs} (the paper's: {EPOCHS})",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "seed": str(cell.seed),
        },
    )


def findings(results: Mapping[GraphTraining, GraphScore]) -> tuple[Finding, ...]:
    """Return the paper's statement on each of the other methods beside our numbers."""
    f1 = {(cell.data, cell.k, cell.method): score.f1 for cell, score in results.items()}
    places = {(name, k) for name, k, _ in f1}
    first, *others = METHODS
    found = []
    for other in others:
        ahead = sum(f1[*place, first] > f1[*place, other] for place in places)
        found.append(
            Finding(
                paper=f"Figure 8-2: searching over sets of size k improves significantly over {other}.",
                ours=f"The bounded extension is ahead of {other} in {ahead} of {len(places)} cases.",
                agrees=ahead == len(places),
            )
        )
    return tuple(found)


ENTRY = Entry(
    name="sets-k-clique",
    statement="An extension that looks at sets of at most k elements is better at telling whether a graph "
    "has a clique of size k than the Lovász extension and REINFORCE.",
    source="Robinson (2023), section 8.5.2, Figure 8-2",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run,
)
