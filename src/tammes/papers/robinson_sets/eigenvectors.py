"""How many eigenvectors a neural extension needs, and how fast the spectrum falls.

Robinson (2023), section 8.5.4, Figure 8-3. The figure's numbers are not in the text.
"""

from collections.abc import Callable, Mapping
from functools import partial

from tammes.papers.entry import Entry, Request
from tammes.papers.figures import curves
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_sets import training
from tammes.papers.robinson_sets.training import CLIQUE, GraphData, GraphScore, GraphTraining
from tammes.papers.study import Study

DATA = ("ENZYMES", "PROTEINS")
COUNTS = (1, 2, 3, 4, 5, 6)


def run(request: Request) -> None:
    """Train with one to six eigenvectors on each data set."""
    graphs = GraphData.of(request)
    setting = partial(
        GraphTraining,
        problem=CLIQUE,
        method="neural Lovász",
        epochs=training.epochs_of(request.budget),
        seed=request.seed,
    )
    Study(
        cells=[setting(data=name, eigenvectors=k) for name in graphs.found(DATA) for k in COUNTS],
        scores=GraphScore,
        measure=graphs.measure,
        name=lambda cell: f"{cell.data}, {cell.eigenvectors} eigenvectors",
        page=page,
    ).run(request)


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of the scores."""
    across = "eigenvectors"
    ratio = curves(series(results, lambda score: score.ratio), across=across, up="approximation ratio")
    time = curves(
        series(results, lambda score: score.seconds_per_epoch), across=across, up="seconds an epoch"
    )
    return PaperPage(
        title="The number of eigenvectors",
        overview=ratio,
        findings=findings(results),
        figures=(
            Figure(
                title="Ratio and time",
                words="Cliques, neural Lovász extension: means over the test graphs; time of training.",
                panels=(panel(ratio, "Ratio over eigenvectors."), panel(time, "Time over eigenvectors.")),
            ),
        ),
        numbers=Numbers(
            header=("", "ratio", "seconds an epoch", "share of λ₁", "share of λ₁ to λ₄"),
            rows=tuple(
                (
                    f"{cell.data}, k = {cell.eigenvectors}",
                    f"{score.ratio:.3f}",
                    f"{score.seconds_per_epoch:.2f}",
                    f"{score.largest:.3f}",
                    f"{score.four_largest:.3f}",
                )
                for cell, score in results.items()
            ),
            note="Shares are of the trace of X = Z Zᵀ, after training, on test graphs.",
        ),
        settings=training.settings(results),
    )


def findings(results: Mapping[GraphTraining, GraphScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    ratios = series(results, lambda score: score.ratio)
    times = series(results, lambda score: score.seconds_per_epoch)
    gains = {name: values[min(3, len(values) - 1)] - values[0] for name, (_, values) in ratios.items()}
    slower = {name: seconds[-1] / seconds[0] for name, (_, seconds) in times.items()}
    four = min(score.four_largest for score in results.values())
    return (
        Finding(
            paper="Performance increases with k until saturation around k = 4.",
            ours="; ".join(f"{name}: {gain:+.3f} from k = 1 to 4" for name, gain in gains.items()) + ".",
            agrees=all(gain > 0 for gain in gains.values()),
        ),
        Finding(
            paper="Runtime grows linearly with k.",
            ours="; ".join(
                f"{name}: {factor:.2f} times from the first k to the last" for name, factor in slower.items()
            )
            + ", network included.",
            agrees=all(factor > 1 for factor in slower.values()),
        ),
        Finding(
            paper="The spectrum of X decays rapidly.",
            ours=f"Four eigenvalues hold at least {100 * four:.1f} % of the trace on average.",
            agrees=four > 0.9,
        ),
    )


def series(
    results: Mapping[GraphTraining, GraphScore], number: Callable[[GraphScore], float]
) -> dict[str, tuple[list[int], list[float]]]:
    """Return the numbers of eigenvectors of each data set, and a number of the scores at them."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    for cell, score in sorted(results.items(), key=lambda item: item[0].eigenvectors):
        counts, values = found.setdefault(cell.data, ([], []))
        counts.append(cell.eigenvectors)
        values.append(number(score))
    return found


ENTRY = Entry(
    name="sets-eigenvectors",
    statement="A neural extension needs few eigenvectors: performance saturates around four, and the "
    "spectrum of X falls rapidly.",
    source="Robinson (2023), section 8.5.4, Figure 8-3",
    data="a folder with unpacked archives of the TU collection in it: ENZYMES, PROTEINS, or one of them",
    run=run,
)
