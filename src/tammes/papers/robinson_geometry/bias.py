"""How fast the debiased loss approaches its limit, in numbers of negatives and positives (Theorem 2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import Check, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study
from tammes.theory import DebiasingBound, Population, debiasing_error

CLASSES, EACH, DIM, SPREAD = 3, 50, 8, 0.7
"""Population: three classes of 50 embeddings around random directions of the sphere."""
COUNTS = (10, 30, 100, 300, 1000)
MANY = 30_000
"""The other number, where one of the two varies."""
DRAWS, FEWEST_DRAWS, AT_A_TIME = 5000, 600, 100
SEEDS = 5
RATE, TOLERANCE = -0.5, 0.1
REMARKS = (
    "Temperature 1, as in the text. Embeddings are fixed: the theorem is about any encoder, so nothing is "
    "learned here, and what it proves is checked rather than found.",
    "The distance of one draw falls like one over the square root, as the proof has it. The loss is its "
    "mean, in which the first order cancels, so that it converges faster than the theorem says.",
    "The biased loss takes all candidates for true negatives. Its distance does not fall with N.",
)


@dataclass(frozen=True, kw_only=True)
class BiasRun:
    """One population with N candidates and M positives.

    Args:
        negatives: number N.
        positives: number M.
        seed: random seed of the population and of the draws.
        draws: number of anchors.
    """

    negatives: int
    positives: int
    seed: int
    draws: int


@dataclass(frozen=True, kw_only=True)
class BiasScore:
    """Distances from the limit.

    Args:
        of_draws: E |difference of a draw|.
        of_loss: difference of the loss.
        loss_error: standard error of `of_loss`.
        biased: E |difference of a draw| of the loss without a correction.
        printed: bound of the theorem.
        by_variance: bound without tails.
    """

    of_draws: float
    of_loss: float
    loss_error: float
    biased: float
    printed: float
    by_variance: float


Results = Mapping[BiasRun, BiasScore]


def run(request: Request) -> None:
    """Measure the distance for each N with many positives, and for each M with many negatives."""
    seeds = request.seed_range(SEEDS, fewest=3)
    draws = max(FEWEST_DRAWS, round(DRAWS * request.budget))
    cells = [
        BiasRun(negatives=negatives, positives=positives, seed=seed, draws=draws)
        for seed in seeds
        for negatives, positives in (*((n, MANY) for n in COUNTS), *((MANY, m) for m in COUNTS))
    ]
    Study(
        cells=cells,
        scores=BiasScore,
        measure=measure,
        name=lambda run: f"N = {run.negatives}, M = {run.positives}, seed {run.seed}",
        protocol=Protocol(
            seeds=seeds, controls=("the loss without a correction",), measured_on="a known population"
        ),
        page=partial(page, draws=draws),
    ).run(request)


@lru_cache(maxsize=2)
def population(seed: int) -> Population:
    """Return the embeddings of a seed: classes around random directions."""
    generator = np.random.default_rng(seed)
    centers = generator.standard_normal((CLASSES, DIM))
    rows = np.repeat(centers / np.linalg.norm(centers, axis=1, keepdims=True), EACH, axis=0)
    rows = rows + SPREAD / math.sqrt(DIM) * generator.standard_normal(rows.shape)
    return Population(embeddings=rows, labels=np.repeat(np.arange(CLASSES), EACH), temperature=1.0)


def measure(run: BiasRun) -> BiasScore:
    """Measure one cell, in parts of the draws that fit into memory."""
    known = population(run.seed)
    generator = np.random.default_rng([run.seed, run.negatives, run.positives])
    parts, biased = [], []
    for first in range(0, run.draws, AT_A_TIME):
        draws = max(2, min(AT_A_TIME, run.draws - first))
        parts.append(
            debiasing_error(
                known, negatives=run.negatives, positives=run.positives, draws=draws, generator=generator
            )
        )
        biased.append(_biased(known, run.negatives, draws, generator))
    bound = DebiasingBound(
        negatives=run.negatives, positives=run.positives, class_prior=known.class_prior, temperature=1.0
    )
    return BiasScore(
        of_draws=float(np.mean([part.of_draws[0] for part in parts])),
        of_loss=float(np.mean([part.of_loss[0] for part in parts])),
        loss_error=float(np.sqrt(np.sum([part.of_loss[1] ** 2 for part in parts])) / len(parts)),
        biased=float(np.mean(biased)),
        printed=bound.printed,
        by_variance=bound.by_variance,
    )


def _biased(known: Population, negatives: int, draws: int, generator: np.random.Generator) -> float:
    """Return E |difference of a draw| where every candidate counts as a true negative."""
    exponentials = np.exp(known.logits)
    x, positive = known.pairs(draws, generator)
    candidates = generator.integers(len(known.labels), size=(draws, negatives))
    found = exponentials[x[:, None], candidates].mean(axis=1)
    true = np.exp(known.log_mean(known.logits, ~known.same))[x]
    to_positive = exponentials[x, positive]
    return float(np.abs(np.log((to_positive + negatives * found) / (to_positive + negatives * true))).mean())


def over(results: Results, *, negatives: bool) -> dict[int, dict[int, BiasScore]]:
    """Return the scores by seed, then by the number that varies.

    Args:
        results: scores of all cells.
        negatives: whether N varies; else M does.
    """
    found: dict[int, dict[int, BiasScore]] = {}
    for cell, score in results.items():
        varied, other = cell.negatives, cell.positives
        if not negatives:
            varied, other = other, varied
        if other == MANY and varied != MANY:
            found.setdefault(cell.seed, {})[varied] = score
    return found


def slopes(series: Mapping[int, Mapping[int, BiasScore]], pick: Callable[[BiasScore], float]) -> Estimate:
    """Return the slope of a distance over a number, both as logarithms, as a mean over the seeds."""
    fits = []
    for scores in series.values():
        counts = np.log(list(scores))
        fits.append(float(np.polyfit(counts, np.log([pick(score) for score in scores.values()]), 1)[0]))
    return Estimate.over_seeds(fits)


def page(results: Results, *, draws: int) -> PaperPage:
    """Return the page of all cells."""
    in_n, in_m = over(results, negatives=True), over(results, negatives=False)
    drawn = {name: _drawing(series, name) for name, series in (("N", in_n), ("M", in_m))}
    return PaperPage(
        title="The bias of the debiased loss",
        overview=drawn["N"],
        findings=findings(results),
        figures=(
            Figure(
                title="Distance from the limit",
                words="Logarithms to the base ten, means over the seeds; the other number is 30,000.",
                panels=tuple(
                    panel(drawing, f"Distance over {name}.", name=f"over {name}")
                    for name, drawing in drawn.items()
                ),
                wide=True,
            ),
        ),
        numbers=_numbers(results),
        remarks=REMARKS,
        settings={
            "population": f"{CLASSES} classes of {EACH} embeddings in {DIM} dimensions, temperature 1",
            "draws": f"{draws:,} anchors for each cell",
        },
    )


def findings(results: Results) -> tuple[Check | Finding, ...]:
    """Return the theorem's statements beside our numbers."""
    in_n, in_m = over(results, negatives=True), over(results, negatives=False)
    found: list[Check | Finding] = []
    for name, series in (("N", in_n), ("M", in_m)):
        slope = slopes(series, lambda score: score.of_draws)
        ours = f"Slope of the logarithm of E |difference of a draw| over that of {name}: {slope.text(3)}."
        passed = abs(slope.mean - RATE) <= TOLERANCE
        found.append(
            Check(paper=f"Theorem 2: the distance falls like 1 / sqrt({name}).", ours=ours, passed=passed)
        )
    ratio = max((abs(score.of_loss) - 3 * score.loss_error) / score.printed for score in results.values())
    draws = max(score.of_draws / score.by_variance for score in results.values())
    found.append(
        Check(
            paper="Theorem 2: the bound e^{3/2} sqrt(pi / 2) / tau- (1 / sqrt(N) + tau+ / sqrt(M)) holds.",
            ours=f"The loss is at most {ratio:.3f} times the bound from its limit, three standard errors "
            f"aside; one draw at most {draws:.3f} times the bound by variances.",
            passed=ratio <= 1 and draws <= 1,
        )
    )
    biased = slopes(in_n, lambda score: score.biased)
    found.append(
        Finding(
            paper="(No statement:) the loss itself, and the loss without a correction.",
            ours=f"The mean falls faster: slope over N {_slope_of_loss(in_n)}. Without a correction the "
            f"distance hardly falls with N: slope {biased.text(3)}.",
        )
    )
    return tuple(found)


def _slope_of_loss(series: Mapping[int, Mapping[int, BiasScore]]) -> str:
    """Return the slope of the loss between the two smallest N, where it stands out of the noise."""
    few, more = COUNTS[:2]
    pairs = [(abs(scores[few].of_loss), abs(scores[more].of_loss)) for scores in series.values()]
    each = [math.log(late / early) / math.log(more / few) for early, late in pairs if early > 0 and late > 0]
    return Estimate.over_seeds(each).text(2) if each else "not measured"


def _drawing(series: Mapping[int, Mapping[int, BiasScore]], name: str) -> Drawing:
    counts = sorted(next(iter(series.values())))

    def line(pick: Callable[[BiasScore], float]) -> tuple[Sequence[float], Sequence[Estimate]]:
        values = [
            Estimate.over_seeds([math.log10(max(pick(scores[count]), 1e-9)) for scores in series.values()])
            for count in counts
        ]
        return [float(count) for count in counts], values

    return curves(
        {
            "one draw": line(lambda score: score.of_draws),
            "the loss": line(lambda score: abs(score.of_loss)),
            "no correction": line(lambda score: score.biased),
            "bound": line(lambda score: score.printed),
        },
        across=name,
        up="distance, log10",
        logarithmic=True,
        width=5.2,
    )


def _numbers(results: Results) -> Numbers:
    rows = []
    for name, series in (("N", over(results, negatives=True)), ("M", over(results, negatives=False))):
        for count in COUNTS:
            scores = [each[count] for each in series.values()]
            rows.append(
                (
                    f"{name} = {count}",
                    Estimate.over_seeds([score.of_draws for score in scores]).text(4),
                    Estimate.over_seeds([score.of_loss for score in scores]).text(5),
                    Estimate.over_seeds([score.biased for score in scores]).text(4),
                    f"{scores[0].by_variance:.3f}",
                    f"{scores[0].printed:.3f}",
                )
            )
    return Numbers(
        header=("number", "one draw", "the loss", "no correction", "bound by variances", "printed bound"),
        rows=tuple(rows),
        note=f"Means over the seeds with 95 % intervals; the other number is {MANY:,}.",
    )
