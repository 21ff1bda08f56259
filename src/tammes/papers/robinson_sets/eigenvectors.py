"""How many eigenvectors a neural extension needs, and how fast the spectrum falls.

Robinson (2023), section 8.5.4, Figure 8-3. The figure's numbers are not in the text.
"""

from collections.abc import Mapping
from pathlib import Path

from tammes.papers.entry import Entry
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, write_page
from tammes.papers.robinson_sets.figures import lines
from tammes.papers.robinson_sets.training import CLIQUE, EPOCHS, Cell, Laboratory, Measured
from tammes.papers.study import Results, complete
from tammes.report.panels import Panel
from tammes.report.svg import inline_svg

DATA = ("ENZYMES", "PROTEINS")
COUNTS = (1, 2, 3, 4, 5, 6)


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
            Cell(data=name, problem=CLIQUE, method="neural Lovász", epochs=epochs, eigenvectors=k, seed=seed)
            for name in names
            for k in COUNTS
        ],
        laboratory.measure,
        name=lambda cell: f"{cell.data}, {cell.eigenvectors} eigenvectors",
    )
    write(out, results, ENTRY.command(budget=budget, seed=seed, data=data))


def write(out: Path, results: Mapping[Cell, Measured], command: str) -> None:
    """The figure and the page of what has been measured."""
    curves = _curves(results)
    ratio = lines(
        {name: (ks, each["ratio"]) for name, (ks, each) in curves.items()},
        across="eigenvectors",
        up="approximation ratio",
    )
    spent = lines(
        {name: (ks, each["seconds"]) for name, (ks, each) in curves.items()},
        across="eigenvectors",
        up="seconds an epoch",
    )
    ratio.savefig(out / "figure.svg", facecolor="white")
    cell = next(iter(results))
    page = PaperPage(
        title="The number of eigenvectors",
        statement=ENTRY.statement,
        source=ENTRY.source,
        findings=findings(results),
        figures=(
            Figure(
                title="Ratio and time",
                words="Cliques, neural Lovász extension: means over the test graphs; time of training.",
                panels=(
                    Panel(svg=inline_svg(ratio, name="ratio", description="Ratio over eigenvectors.")),
                    Panel(svg=inline_svg(spent, name="seconds", description="Time over eigenvectors.")),
                ),
            ),
        ),
        numbers=Numbers(
            header=("", "ratio", "seconds an epoch", "share of λ₁", "share of λ₁ to λ₄"),
            rows=tuple(
                (
                    f"{cell.data}, k = {cell.eigenvectors}",
                    f"{measured.ratio:.3f}",
                    f"{measured.seconds_per_epoch:.2f}",
                    f"{measured.largest:.3f}",
                    f"{measured.four_largest:.3f}",
                )
                for cell, measured in results.items()
            ),
            note="Shares are of the trace of X = Z Zᵀ, after training, on test graphs.",
        ),
        remarks=(),
        settings={
            "epochs": f"{cell.epochs} (the paper's: {EPOCHS})",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "seed": str(cell.seed),
        },
        command=command,
    )
    write_page(out / "report.html", page)


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers."""
    curves = _curves(results)
    rises = {
        name: each["ratio"][min(3, len(each["ratio"]) - 1)] - each["ratio"][0]
        for name, (_, each) in curves.items()
    }
    four = min(measured.four_largest for measured in results.values())
    slower = {name: each["seconds"][-1] / each["seconds"][0] for name, (_, each) in curves.items()}
    return (
        Finding(
            paper="Performance increases with k until saturation around k = 4.",
            ours="; ".join(f"{name}: {gain:+.3f} from k = 1 to 4" for name, gain in rises.items()) + ".",
            agrees=all(gain > 0 for gain in rises.values()),
        ),
        Finding(
            paper="Runtime grows linearly with k.",
            ours="; ".join(
                f"{name}: {ratio:.2f} times from the first k to the last" for name, ratio in slower.items()
            )
            + ", network included.",
            agrees=all(ratio > 1 for ratio in slower.values()),
        ),
        Finding(
            paper="The spectrum of X decays rapidly.",
            ours=f"Four eigenvalues hold at least {100 * four:.1f} % of the trace on average.",
            agrees=four > 0.9,
        ),
    )


def _curves(results: Mapping[Cell, Measured]) -> dict[str, tuple[list[int], dict[str, list[float]]]]:
    """For each data set the numbers of eigenvectors, and the ratios and times at them."""
    curves = {}
    for name in dict.fromkeys(cell.data for cell in results):
        own = {cell.eigenvectors: measured for cell, measured in results.items() if cell.data == name}
        counts = sorted(own)
        curves[name] = (
            counts,
            {
                "ratio": [own[k].ratio for k in counts],
                "seconds": [own[k].seconds_per_epoch for k in counts],
            },
        )
    return curves


ENTRY = Entry(
    name="sets-eigenvectors",
    statement="A neural extension needs few eigenvectors: performance saturates around four, and the "
    "spectrum of X falls rapidly.",
    source="Robinson (2023), section 8.5.4, Figure 8-3",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run,
)
