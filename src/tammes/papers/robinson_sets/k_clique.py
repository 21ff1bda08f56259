"""Whether a graph has a clique of size k, by extensions that look at small sets only.

Robinson (2023), section 8.5.2, Figure 8-2, and F.6.4. The figure's numbers are not in the text. A clique that
is found is one, so that precision is 1, and F1 tells how many of those that are there were found.
"""

from collections.abc import Mapping
from pathlib import Path

from tammes.papers.entry import Entry
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, write_page
from tammes.papers.robinson_sets.figures import dots
from tammes.papers.robinson_sets.training import EPOCHS, OF_SIZE, Cell, Laboratory, Measured
from tammes.papers.study import Results, complete
from tammes.report.panels import Panel
from tammes.report.svg import inline_svg

DATA = ("ENZYMES", "PROTEINS")
METHODS = ("bounded Lovász", "Lovász", "REINFORCE")
SIZES = (3, 4)


def run(out: Path, *, budget: float, seed: int, data: Path | None) -> None:
    """See `Reproduction`; a table that is there already is gone on with."""
    assert data is not None  # the entry asks for it
    laboratory = Laboratory(data, out / "answers.jsonl")
    names = laboratory.found(DATA)
    out.mkdir(parents=True, exist_ok=True)
    epochs = max(1, round(EPOCHS * budget))
    results = complete(
        Results(out / "table.csv", Cell, Measured),
        [
            Cell(data=name, problem=OF_SIZE, method=method, epochs=epochs, k=k, seed=seed)
            for name in names
            for k in SIZES
            for method in METHODS
        ],
        laboratory.measure,
        name=lambda cell: f"{cell.data}, k = {cell.k}, {cell.method}",
    )
    write(out, results, ENTRY.command(budget=budget, seed=seed, data=data))


def write(out: Path, results: Mapping[Cell, Measured], command: str) -> None:
    """The figure and the page of what has been measured."""
    panels = []
    for place, (name, k) in enumerate(_places(results)):
        figure = dots(
            {method: _f1(results, name, k, method) for method in METHODS}, {}, label="F1", limits=(0.0, 1.03)
        )
        if place == 0:
            figure.savefig(out / "figure.svg", facecolor="white")
        svg = inline_svg(figure, name=f"f1-{place}", description=f"F1 on {name} for k = {k}, a dot each.")
        panels.append(Panel(name=f"{name}, k = {k}", svg=svg))
    cell = next(iter(results))
    page = PaperPage(
        title="Cliques of size k",
        statement=ENTRY.statement,
        source=ENTRY.source,
        findings=findings(results),
        figures=(Figure(title="F1", words="On the test graphs.", panels=tuple(panels), wide=True),),
        numbers=Numbers(
            header=("", *METHODS),
            rows=tuple(
                (f"{name}, k = {k}", *(f"{_f1(results, name, k, method):.3f}" for method in METHODS))
                for name, k in _places(results)
            ),
            note="F1 of telling graphs with a clique of k nodes from others.",
        ),
        remarks=(
            "The extensions of small sets take x in a smaller domain than the cube: sigmoids are divided by "
            "what their probabilities add up to, where that is more than 1.",
        ),
        settings={
            "epochs": f"{cell.epochs} (the paper's: {EPOCHS})",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "seed": str(cell.seed),
        },
        command=command,
    )
    write_page(out / "report.html", page)


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statement beside our numbers."""
    places = _places(results)
    found = []
    for other in METHODS[1:]:
        ahead = [
            (name, k)
            for name, k in places
            if _f1(results, name, k, METHODS[0]) > _f1(results, name, k, other)
        ]
        found.append(
            Finding(
                paper=f"Figure 8-2: searching over sets of size k improves significantly over {other}.",
                ours=f"The bounded extension is ahead of {other} in {len(ahead)} of {len(places)} cases.",
                agrees=len(ahead) == len(places),
            )
        )
    return tuple(found)


def _places(results: Mapping[Cell, Measured]) -> tuple[tuple[str, int], ...]:
    return tuple(dict.fromkeys((cell.data, cell.k) for cell in results))


def _f1(results: Mapping[Cell, Measured], name: str, k: int, method: str) -> float:
    return next(
        measured.f1
        for cell, measured in results.items()
        if (cell.data, cell.k, cell.method) == (name, k, method)
    )


ENTRY = Entry(
    name="sets-k-clique",
    statement="An extension that looks at sets of at most k elements is better at telling whether a graph "
    "has a clique of size k than the Lovász extension and REINFORCE.",
    source="Robinson (2023), section 8.5.2, Figure 8-2",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run,
)
