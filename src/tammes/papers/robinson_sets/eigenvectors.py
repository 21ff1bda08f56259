"""How many eigenvectors a neural extension needs, and how fast the spectrum falls.

Robinson (2023), section 8.5.4, Figure 8-3. The figure's numbers are not in the text.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Effect, Finding, within
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_sets import training
from tammes.papers.robinson_sets.training import CLIQUE, UNTRAINED, GraphData, GraphScore, GraphTraining
from tammes.papers.study import Study

DATA = ("ENZYMES", "PROTEINS")
COUNTS = (1, 2, 3, 4, 5, 6)
FEWEST, SATURATED, MOST = 1, 4, 6
FLAT = 0.02
"""Largest difference of two ratios that counts as none."""
LINEAR = 0.25
"""Largest distance of an exponent from 1 that counts as linear."""
RAPID = 0.9
"""Share of the trace that four eigenvalues have in a spectrum that decays rapidly."""
Series = Mapping[str, Mapping[int, Sequence[float]]]
"""Numbers of each seed, by data set (and ", untrained"), then by number of eigenvectors."""


def run(request: Request) -> None:
    """Train with one to six eigenvectors on each data set."""
    graphs = GraphData.of(request)
    seeds = request.seed_range(training.SEEDS)
    Study(
        cells=training.with_untrained(
            GraphTraining(
                data=name,
                problem=CLIQUE,
                method="neural Lovász",
                epochs=training.epochs_of(request.budget),
                learning_rate=request.rate(training.RATE),
                eigenvectors=k,
                seed=seed,
            )
            for seed in seeds
            for name in graphs.found(DATA)
            for k in COUNTS
        ),
        scores=GraphScore,
        measure=graphs.measure,
        name=lambda cell: f"{cell.data}, {cell.eigenvectors} eigenvectors, {cell.label}, seed {cell.seed}",
        protocol=Protocol(seeds=seeds, controls=["untrained network"], measured_on="test graphs"),
        page=page,
    ).run(request)


def page(results: Mapping[GraphTraining, GraphScore]) -> PaperPage:
    """Return the page of the scores."""
    ratios = series(results, lambda score: score.ratio)
    times = trained(series(results, lambda score: score.seconds_per_epoch))
    shares = (series(results, lambda score: score.largest), series(results, lambda score: score.four_largest))
    ratio = _drawn(ratios, "approximation ratio")
    return PaperPage(
        title="The number of eigenvectors",
        overview=ratio,
        findings=findings(ratios, times, shares[1]),
        figures=(
            Figure(
                title="Ratio and time",
                words="Cliques, neural Lovász extension: means over the test graphs; time of training. Bands "
                "are 95 % intervals over the seeds.",
                panels=(
                    panel(ratio, "Ratio over eigenvectors."),
                    panel(_drawn(times, "seconds an epoch"), "Time over eigenvectors."),
                ),
            ),
        ),
        numbers=Numbers(
            header=("", "ratio", "seconds an epoch", "share of λ₁", "share of λ₁ to λ₄"),
            rows=tuple(
                (
                    f"{name}, k = {k}",
                    Estimate.over_seeds(values).text(3),
                    Estimate.over_seeds(times[name][k]).text(2) if name in times else "–",
                    *(Estimate.over_seeds(each[name][k]).text(3) for each in shares),
                )
                for name, by_count in ratios.items()
                for k, values in by_count.items()
            ),
            note="With 95 % intervals over the seeds. Shares are of the trace of X = Z Zᵀ, on test graphs.",
        ),
        remarks=(
            "The decoded set is the best one over all eigenvectors: with more of them, an untrained network "
            "finds larger cliques as well.",
            "Times are of whole epochs, network and validation included. An exponent of 1 is a time "
            "proportional to k, as F.6.2 has it (about k times that of the scalar extension).",
        ),
        settings=training.settings(results),
    )


def findings(ratios: Series, times: Series, shares: Series) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers.

    Args:
        ratios: approximation ratios, of trained and untrained networks.
        times: seconds an epoch.
        shares: shares of the trace that the four largest eigenvalues have.
    """

    def gain(name: str, fewer: int, more: int) -> Estimate:
        return Estimate.of_difference(ratios[name][more], ratios[name][fewer])

    def learned(numbers: Series, name: str) -> Estimate:
        return Estimate.of_difference(numbers[name][SATURATED], numbers[name + UNTRAINED][SATURATED])

    names = [*trained(ratios)]
    untrained = "; ".join(
        f"{name} {gain(name + UNTRAINED, FEWEST, SATURATED).text(signed=True)}" for name in names
    )
    exponents = {name: Estimate.over_seeds(slopes(times[name])) for name in names}
    return (
        Finding(
            paper=f"Performance increases with k until saturation around k = {SATURATED}.",
            ours=f"Untrained networks gain from k = {FEWEST} to {SATURATED}: {untrained}. Trained ones:",
            effects=tuple(
                effect
                for name in names
                for effect in (
                    Effect(
                        name=f"{name}, gain from k = {FEWEST} to {SATURATED}",
                        difference=gain(name, FEWEST, SATURATED),
                    ),
                    within(
                        f"{name}, gain from k = {SATURATED} to {MOST}", gain(name, SATURATED, MOST), 0.0, FLAT
                    ),
                )
            ),
            controls=tuple(
                Effect(
                    name=f"{name}, k = {SATURATED} above the untrained network",
                    difference=learned(ratios, name),
                )
                for name in names
            ),
        ),
        Finding(
            paper="Runtime grows linearly with k.",
            ours="Exponent b of a fit of time = a kᵇ:",
            effects=tuple(within(name, each, 1.0, LINEAR, digits=2) for name, each in exponents.items()),
            controls=tuple(
                Effect(name=f"{name}, exponent above 0, that of a constant time", difference=each, digits=2)
                for name, each in exponents.items()
            ),
        ),
        Finding(
            paper="The spectrum of X, as trained networks produce it, decays rapidly.",
            ours=f"Share of the trace that the four largest eigenvalues have, above {RAPID:g}:",
            effects=tuple(
                Effect(name=name, difference=Estimate.over_seeds(shares[name][SATURATED]) - RAPID)
                for name in names
            ),
            controls=tuple(
                Effect(name=f"{name}, above the untrained network", difference=learned(shares, name))
                for name in names
            ),
        ),
    )


def slopes(times: Mapping[int, Sequence[float]]) -> list[float]:
    """Return for each seed the slope of log time over log k, by least squares.

    Example:
        >>> [round(slope, 6) for slope in slopes({1: [1.0, 2.0], 2: [2.0, 2.0], 4: [4.0, 2.0]})]
        [1.0, 0.0]
    """
    of_seeds = zip(*times.values(), strict=True)
    return [float(np.polyfit(np.log([*times]), np.log(seconds), 1)[0]) for seconds in of_seeds]


def series(results: Mapping[GraphTraining, GraphScore], number: Callable[[GraphScore], float]) -> Series:
    """Return a number of the scores by data set, then by number of eigenvectors."""
    found: dict[str, dict[int, list[float]]] = {}
    for cell, score in results.items():
        name = cell.data if cell.epochs else cell.data + UNTRAINED
        found.setdefault(name, {}).setdefault(cell.eigenvectors, []).append(number(score))
    return found


def trained(numbers: Series) -> Series:
    """Return the series of trained networks."""
    return {name: own for name, own in numbers.items() if not name.endswith(UNTRAINED)}


def _drawn(numbers: Series, label: str) -> Drawing:
    """Draw numbers over the number of eigenvectors."""
    return curves(
        {name: ([*own], [*map(Estimate.over_seeds, own.values())]) for name, own in numbers.items()},
        across="eigenvectors",
        up=label,
    )
