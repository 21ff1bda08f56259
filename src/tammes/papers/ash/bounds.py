"""The coverage-collision trade-off, computed and simulated (Figures 1 and 2).

Figure 1 is the bound of Theorem 1 over the number of negatives k, for different growths of the loss. Figure 2
is an example in which few negatives, and very many, choose the worse of two representations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Check
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study, grouped
from tammes.theory import ClassDistribution, TwoRepresentations, best_k, closed_form_best_k, log_bound

CLASSES = 100
"""Figure 1."""
GROWTHS = (0.0, 0.25, 0.5, 0.75)
EXAMPLE = TwoRepresentations(classes=40, epsilon=0.35)
"""Figure 2."""
COUNTS = (1, 2, 4, 7, 14, 20, 30, 45, 60, 80, 120, 200)
DRAWS, FEWEST_DRAWS, SEEDS = 200_000, 20_000, 5
ERRORS = 5.0
"""Standard errors within which a simulation agrees with the exact value."""
REMARKS = (
    "Nothing is learned here: Figure 1 is a formula, and Figure 2 a simulation of two given representations. "
    "What the paper proves is checked rather than found.",
    "Because of a ceiling in Theorem 1 the bound is a sawtooth, and the exact best k differs from the closed "
    "form of Remark 2 by a few.",
)


@dataclass(frozen=True, kw_only=True)
class BoundRun:
    """Simulation of both representations with k negatives.

    Args:
        k: number of negatives.
        seed: random seed.
        draws: number of anchors.
    """

    k: int
    seed: int
    draws: int


@dataclass(frozen=True, kw_only=True)
class BoundScore:
    """Simulated NCE losses, with their standard errors.

    Args:
        merging: loss of f1, which merges pairs of classes.
        merging_error: its standard error.
        noisy: loss of f2, which separates all classes.
        noisy_error: its standard error.
    """

    merging: float
    merging_error: float
    noisy: float
    noisy_error: float


Results = Mapping[BoundRun, BoundScore]


def run(request: Request) -> None:
    """Simulate Figure 2, and draw both."""
    seeds = request.seed_range(SEEDS, fewest=2)
    draws = max(FEWEST_DRAWS, round(DRAWS * request.budget))
    Study(
        cells=[BoundRun(k=k, seed=seed, draws=draws) for seed in seeds for k in COUNTS],
        scores=BoundScore,
        measure=measure,
        name=lambda run: f"k = {run.k}, seed {run.seed}",
        protocol=Protocol(seeds=seeds, controls=("exact values",), measured_on="a known distribution"),
        page=partial(page, draws=draws),
    ).run(request)


def measure(run: BoundRun) -> BoundScore:
    """Simulate one number of negatives."""
    generator = np.random.default_rng([run.seed, run.k])
    merging = EXAMPLE.simulate_merging(run.k, draws=run.draws, generator=generator)
    noisy = EXAMPLE.simulate_noisy(run.k, draws=run.draws, generator=generator)
    return BoundScore(merging=merging[0], merging_error=merging[1], noisy=noisy[0], noisy_error=noisy[1])


def page(results: Results, *, draws: int) -> PaperPage:
    """Return the page of all simulations."""
    first = _figure_1()
    simulated = {
        name: (list(COUNTS), [_mean(results, k, attribute) for k in COUNTS])
        for name, attribute in (("f1, merging", "merging"), ("f2, separating", "noisy"))
    }
    exact = {
        "f1, merging": (list(COUNTS), [EXAMPLE.merging_loss(k) for k in COUNTS]),
        "f2, lower bound": (list(COUNTS), [EXAMPLE.noisy_loss_bounds(k)[0] for k in COUNTS]),
        "f2, exact": (list(COUNTS), [EXAMPLE.noisy_loss(k) for k in COUNTS]),
        "f2, upper bound": (list(COUNTS), [EXAMPLE.noisy_loss_bounds(k)[1] for k in COUNTS]),
    }
    second = (
        panel(
            curves(exact, across="k", up="NCE loss", logarithmic=True, width=5.2),
            "Exact NCE losses of both representations over k.",
            name="computed",
        ),
        panel(
            curves(simulated, across="k", up="NCE loss", logarithmic=True, width=5.2),
            "Simulated NCE losses of both representations over k.",
            name="simulated",
        ),
    )
    return PaperPage(
        title="Coverage against collisions",
        overview=first,
        findings=findings(results),
        figures=(
            Figure(
                title="Figure 1",
                words=f"Logarithm of the bound on the supervised loss for {CLASSES} classes, if the NCE loss "
                "above its floor grows like a power of k.",
                panels=(panel(first, "Bound over k for four growths."),),
                wide=True,
            ),
            Figure(
                title="Figure 2",
                words=f"N = {EXAMPLE.classes}, epsilon = {EXAMPLE.epsilon:g}. The lower curve is chosen.",
                panels=second,
                wide=True,
            ),
        ),
        numbers=_numbers(results),
        remarks=REMARKS,
        settings={"draws": f"{draws:,} anchors for each k and seed"},
    )


def findings(results: Results) -> tuple[Check, ...]:
    """Return the paper's statements beside our numbers."""
    classes = ClassDistribution.uniform(CLASSES)
    best = {growth: best_k(classes, growth=growth) for growth in (0.0, 0.5)}
    closed = {growth: closed_form_best_k(classes, growth=growth) for growth in best}
    words = "; ".join(
        f"growth {growth:g}: {best[growth]}, by the formula {closed[growth]:.1f}" for growth in best
    )
    off = max(
        max(
            abs(score.merging - EXAMPLE.merging_loss(run.k)) / max(score.merging_error, 1e-12),
            abs(score.noisy - EXAMPLE.noisy_loss(run.k)) / max(score.noisy_error, 1e-12),
        )
        for run, score in results.items()
        if score.merging_error > 0 and score.noisy_error > 0
    )
    crossings = EXAMPLE.crossings()
    assert crossings is not None
    low, high = crossings
    chosen = {k: _mean(results, k, "noisy").mean < _mean(results, k, "merging").mean for k in COUNTS}
    right = [chosen[k] == (low <= k < high) for k in COUNTS]
    return (
        Check(
            paper="Remark 2, Figure 1: alpha falls to k of about 1 / (log N - log(N - 1)), and then rises; "
            "half as many with a loss that grows like sqrt(k).",
            ours=f"Best k, exactly: {words}.",
            passed=all(abs(best[growth] / closed[growth] - 1) <= 0.1 for growth in best),
        ),
        Check(
            paper="Appendix C: the losses of both representations.",
            ours=f"Simulations are at most {off:.1f} standard errors from the exact values.",
            passed=off <= ERRORS,
        ),
        Check(
            paper="Figure 2, right: the losses cross twice.",
            ours=f"The better representation has the lower loss from k = {low} to {high - 1}; the simulation "
            f"agrees at {sum(right)} of {len(right)} values of k.",
            passed=all(right),
        ),
        Check(
            paper="Section 3: the supervised losses are 1 and epsilon / 2.",
            ours=f"{EXAMPLE.merging_supervised_loss:g} and {EXAMPLE.noisy_supervised_loss:g}.",
            passed=EXAMPLE.noisy_supervised_loss < EXAMPLE.merging_supervised_loss,
        ),
    )


def _figure_1() -> Drawing:
    classes = ClassDistribution.uniform(CLASSES)
    counts = sorted({round(10 ** (place / 12)) for place in range(37)})
    series: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    for growth in GROWTHS:
        # The natural logarithm of the bound, to the base ten.
        values = [log_bound(k, classes, growth=growth) / math.log(10) for k in counts]
        series[f"k^{growth:g}, best {best_k(classes, growth=growth)}"] = (
            [math.log10(k) for k in counts],
            values,
        )
    return curves(series, across="log10 of k", up="log10 of the bound", width=5.2)


def _mean(results: Results, k: int, attribute: str) -> Estimate:
    return Estimate.over_seeds([vars(score)[attribute] for run, score in results.items() if run.k == k])


def _numbers(results: Results) -> Numbers:
    return Numbers(
        header=("k", "f1, exact", "f1, simulated", "f2, exact", "f2, simulated"),
        rows=tuple(
            (
                f"{k}",
                f"{EXAMPLE.merging_loss(k):.4f}",
                _mean(results, k, "merging").text(4),
                f"{EXAMPLE.noisy_loss(k):.4f}",
                _mean(results, k, "noisy").text(4),
            )
            for k in grouped(results, "k")
        ),
        note="NCE losses with the hinge; means of the simulations over the seeds with 95 % intervals.",
    )
