"""How many eigenvectors a neural extension needs, and how fast the spectrum falls.

Robinson (2023), section 8.5.4, Figure 8-3. The figure's numbers are not in the text.
"""

from collections.abc import Mapping
from functools import partial

from tammes.papers.entry import Entry, Request
from tammes.papers.figures import curves
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets.training import CLIQUE, EPOCHS, GraphScore, GraphSets, GraphTraining
from tammes.papers.study import Study

DATA = ("ENZYMES", "PROTEINS")
COUNTS = (1, 2, 3, 4, 5, 6)


def run(request: Request) -> None:
    """Train with one to six eigenvectors on each data set."""
    sets = GraphSets(request.required_data(), request.out / "answers.jsonl")
    setting = partial(
        GraphTraining,
        problem=CLIQUE,
        method="neural Lovász",
        epochs=max(1, round(EPOCHS * request.budget)),
        seed=request.seed,
    )
    Study(
        cells=[setting(data=name, eigenvectors=k) for name in sets.found(DATA) for k in COUNTS],
        scores=GraphScore,
        measure=sets.measure,
        name=lambda cell: f"{cell.data}, {cell.eigenvectors} eigenvectors",
        page=page,
    ).run(request)


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of what has been measured."""
    series = _series(results)
    ratio = curves(
        {name: (ks, each["ratio"]) for name, (ks, each) in series.items()},
        across="eigenvectors",
        up="approximation ratio",
    )
    spent = curves(
        {name: (ks, each["seconds"]) for name, (ks, each) in series.items()},
        across="eigenvectors",
        up="seconds an epoch",
    )
    cell = next(iter(results))
    return PaperPage(
        title="The number of eigenvectors",
        overview=ratio,
        findings=findings(results),
        figures=(
            Figure(
                title="Ratio and time",
                words="Cliques, neural Lovász extension: means over the test graphs; time of training.",
                panels=(
                    panel(ratio, "Ratio over eigenvectors."),
                    panel(spent, "Time over eigenvectors."),
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
        settings={
            "epochs": f"{cell.epochs} (the paper's: {EPOCHS})",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "seed": str(cell.seed),
        },
    )


def findings(results: Mapping[GraphTraining, GraphScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    series = _series(results)
    rises = {
        name: each["ratio"][min(3, len(each["ratio"]) - 1)] - each["ratio"][0]
        for name, (_, each) in series.items()
    }
    four = min(measured.four_largest for measured in results.values())
    slower = {name: each["seconds"][-1] / each["seconds"][0] for name, (_, each) in series.items()}
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


def _series(
    results: Mapping[GraphTraining, GraphScore],
) -> dict[str, tuple[list[int], dict[str, list[float]]]]:
    """Return the numbers of eigenvectors of each data set, and the ratios and times at them."""
    series = {}
    for name in dict.fromkeys(cell.data for cell in results):
        own = {cell.eigenvectors: measured for cell, measured in results.items() if cell.data == name}
        counts = sorted(own)
        series[name] = (
            counts,
            {
                "ratio": [own[k].ratio for k in counts],
                "seconds": [own[k].seconds_per_epoch for k in counts],
            },
        )
    return series


ENTRY = Entry(
    name="sets-eigenvectors",
    statement="A neural extension needs few eigenvectors: performance saturates around four, and the "
    "spectrum of X falls rapidly.",
    source="Robinson (2023), section 8.5.4, Figure 8-3",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run,
)
