"""Worst-case negatives under marginal constraints alone make a constant map the best one.

Jiang et al. (2023), "Hard Negative Sampling via Regularized Optimal Transport"; the numbers below are
theirs. Let f map into the unit sphere, v(x, x+, x-) = f(x).f(x-) - f(x).f(x+), and psi be convex and
non-decreasing; here the logistic loss psi(v) = log(1 + q e^v) of eq. 1 with one negative and q = 1.
Omega_mar holds every coupling under which x- has the distribution of x.

The inner maximum. Since f(x).f(x-) <= 1 = f(x).f(x), the anchor itself is its worst negative, for any
non-decreasing psi and for each anchor singly, and the choice x- = x meets the marginals. So

    max over Omega_mar of E[psi(v)]  =  E[psi(1 - f(x).f(x+))],                      (a)

which for psi(v) = v is eq. 2. (The proof of Theorem 1 uses Jensen's inequality instead, and needs a convex
psi.) On a batch Omega_mar is the set of doubly stochastic matrices, the maximum is at a permutation, and
finding it is the assignment problem.

The outer minimum. (a) is at least psi(0), with equality exactly when f(x) = f(x+) with probability one. A
constant map does that: Lemma 2 (value 0) and Theorem 1 (loss psi(0)). It is the only one if any two inputs
are linked by a chain of positive pairs; the theorem says that the solutions contain a constant map, and
leaves open which of them training finds.

The gradient. With the maximizer held fixed (the envelope theorem) the negatives contribute the gradient of
f(x).f(x) = 1, which is zero on the sphere. What is left is alignment alone: nothing pushes apart.

Without entropy, but with x- neither x nor x+ (eq. 5 as epsilon goes to 0). The constant map still has loss
psi(0), but psi(0) is no longer a lower bound, because the batch may hold nothing as close to x as x+ is. For
a continuous distribution the constraint is empty: it allows negatives arbitrarily close to x.

With entropy (eq. 5, epsilon > 0). A plan then has weight on every allowed pair, so E_P[f(x).f(x-)] < 1 unless
f is constant. For psi(v) = v the gradient with the plan held fixed is, again by the envelope theorem, that of

    max over P of { E_P[f(x).f(x-)] - epsilon KL(P || p x p) }  -  E[f(x).f(x+)],      (b)

and every f that is aligned and not constant has a smaller (b) than a constant map. At a constant map the
first term is 1 minus epsilon times the least divergence; at f the plan's mean similarity is below 1 and its
divergence at least as large. So no constant map is optimal.
"""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from statistics import fmean

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.coupling import Transport, Uniform
from tammes.data import digits
from tammes.papers.entry import Entry, Request
from tammes.papers.jiang.minmax import (
    LEARNING_RATE,
    MARGINALS,
    NO_SELF,
    PAIRS,
    Adversary,
    EncoderScore,
    Trained,
    draw_batches,
    logistic,
    train,
)
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.study import Study, grouped
from tammes.report.figures.curves import draw_lines, lines_over_steps
from tammes.report.figures.sphere import draw_sphere, sphere_map
from tammes.report.palette import MUTED, css_color, objective_color
from tammes.report.scores import Curve

STEPS, SEEDS = 400, 3
LOSS_OF_A_POINT = math.log(2)
"""psi(0), the loss of every constant map."""

UNTRAINED = "untrained"
ADVERSARIES: Mapping[str, Adversary] = {
    "marginals only": MARGINALS,
    "no self-coupling": NO_SELF,
    "entropy, ε = 0.1": logistic(Transport(epsilon=0.1)),
    "entropy, ε = 0.3": logistic(Transport(epsilon=0.3)),
    "uniform": logistic(Uniform()),
}
COLORS = {name: objective_color(index) for index, name in enumerate(ADVERSARIES)}
COLUMNS = (
    ("loss", "loss, own adversary", 4),
    ("value", "E[v], own adversary", 3),
    ("value_marginals", "E[v], marginals only", 3),
    ("value_no_self", "E[v], no self-coupling", 3),
    ("cosine", "mean cosine", 3),
    ("rank", "effective rank", 2),
    ("knn", "kNN", 3),
)
"""Field of a score, title of its column and digits."""
Scores = Mapping[str, Sequence[EncoderScore]]
"""Scores by adversary, one for each seed; among them those of the untrained encoders."""
REMARKS = (
    "The theorem says that the solutions contain a constant map, not that training must find one. It is "
    "found here because the worst negative of an image is the image itself, whose similarity to itself is 1 "
    "and has no gradient on the sphere: the rest of the loss only pulls positives together.",
    "Every constant map has the loss log 2 under every adversary, so a loss near log 2 is no success. Under "
    "entropy, training does not descend the printed loss: the plan is held fixed, and the "
    "gradient belongs to the regularized value, which counts the plan's entropy too. So an encoder can stay "
    "spread out although its printed loss is no better than that of a constant map.",
    "Forbidding self-coupling alone is not enough here: a batch of 128 views in three dimensions holds a "
    "permutation that is closer, on average, than the positives are (its E[v] is above zero for every "
    "encoder that is spread out), so a constant map has the lower worst-case loss. For a continuous "
    "distribution the constraint is empty altogether. What keeps the encoder spread out is the entropy.",
    "Nearest neighbors compare distances, whatever their scale: after a collapse they still read "
    "something from the little spread that is left.",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderTraining:
    """Training of one encoder against one adversary."""

    adversary: str
    seed: int
    steps: int


def run(request: Request) -> None:
    """Train against five adversaries: the full work is 400 steps and three seeds for each."""
    steps = max(2, round(STEPS * request.budget))
    batches = cache(lambda seed: draw_batches(steps, seed=seed))

    @cache  # the page shows encoders of the first seed, which a table does not hold
    def trained(name: str, seed: int) -> Trained:
        if name == UNTRAINED:
            return train(MARGINALS, (), seed=seed)
        return train(ADVERSARIES[name], batches(seed), seed=seed)

    Study(
        cells=[
            EncoderTraining(adversary=name, seed=seed, steps=0 if name == UNTRAINED else steps)
            for seed in range(request.seed, request.seed + max(1, round(SEEDS * request.budget)))
            for name in (UNTRAINED, *ADVERSARIES)
        ],
        scores=EncoderScore,
        measure=lambda cell: trained(cell.adversary, cell.seed).score,
        name=lambda cell: f"{cell.adversary}, seed {cell.seed}",
        page=lambda results: page(
            results, {name: trained(name, request.seed) for name in (UNTRAINED, *ADVERSARIES)}
        ),
    ).run(request)


def page(results: Mapping[EncoderTraining, EncoderScore], first: Mapping[str, Trained]) -> PaperPage:
    """Return the page of all scores, with the encoders of the first seed in its figures."""
    scores = {name: list(group.values()) for name, group in grouped(results, "adversary").items()}
    labels = digits("test").required_labels().numpy()
    return PaperPage(
        title="The degeneracy of worst-case negatives",
        overview=overview(first, labels),
        lead=_lead(scores),
        findings=findings(scores),
        figures=(
            Figure(
                title="Where test images lie",
                words="Digits of the test set on a map of the sphere with equal areas, turned so that their "
                "mean is in the middle; colors are classes, which no encoder has seen. First seed.",
                panels=tuple(
                    panel(
                        sphere_map(trained.embeddings, labels),
                        f"Test images on the sphere, {name}.",
                        name=name,
                        caption=f"mean cosine {trained.score.cosine:.2f}",
                        color=css_color(list(COLORS).index(name)) if name in COLORS else "",
                    )
                    for name, trained in first.items()
                ),
            ),
            Figure(
                title="Loss and mean cosine over the steps",
                words="First, the loss that each encoder was trained on; a constant map has the loss ψ(0) "
                "under every adversary. Second, the mean cosine of two images: 1 for a constant map, 0 for "
                "one that covers the sphere evenly. First seed; the last point of a line is on test images.",
                panels=tuple(
                    panel(
                        lines_over_steps(curves, list(COLORS.values()), label=label, level=level),
                        f"{label} over steps: "
                        + ", ".join(f"{name} ends at {curve.last:.3f}" for name, curve in curves.items())
                        + ".",
                        name=label,
                    )
                    for label, level, curves in _lines(first)
                ),
                wide=True,
            ),
        ),
        numbers=numbers(scores),
        remarks=REMARKS,
        settings={
            "data": "digits of scikit-learn",
            "pairs in a batch": str(PAIRS),
            "steps": str(max(cell.steps for cell in results)),
            "seeds": str(len(scores[UNTRAINED])),
            "Adam, learning rate": f"{LEARNING_RATE:g}",
            "loss": "log(1 + e^v) at temperature 1",
        },
    )


def overview(first: Mapping[str, Trained], labels: np.ndarray) -> Drawing:
    """Draw the first seed on one sheet: the test images on the sphere, and loss and cosine over steps."""
    figure = Drawing(figsize=(11, 5.2), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=(1, 2.6))
    above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    for axes, (name, trained) in zip(above.subplots(1, len(first)), first.items(), strict=True):
        draw_sphere(axes, trained.embeddings, labels)
        axes.set_title(name, fontsize=9, fontweight="bold", color=COLORS.get(name, MUTED))
    for axes, (label, level, curves) in zip(below.subplots(1, 2), _lines(first), strict=True):
        draw_lines(axes, curves, list(COLORS.values()), label=label, level=level)
    return figure


def _lines(first: Mapping[str, Trained]) -> Iterator[tuple[str, tuple[str, float], dict[str, Curve]]]:
    """Yield the label, the level of a constant map and the curves, of the loss and of the cosine."""
    level = ("constant map, ψ(0)", LOSS_OF_A_POINT)
    yield "loss under its own adversary", level, {name: first[name].loss for name in ADVERSARIES}
    level = ("constant map", 1.0)
    yield "mean cosine of two images", level, {name: first[name].cosine for name in ADVERSARIES}


def findings(scores: Scores) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers; a statement agrees if it holds for every seed."""
    everyone = [score for repeats in scores.values() for score in repeats]
    marginals, no_self = scores["marginals only"], scores["no self-coupling"]
    entropic = [score for name, each in scores.items() if name.startswith("entropy") for score in each]
    least = min(score.value_marginals for score in everyone)
    return (
        Finding(
            paper="Proof of Lemma 2: x⁻ = x attains the worst case over Ω_mar.",
            ours=f"The assignment solver, free to choose, matches "
            f"{_percent(_mean('self_matched', everyone))} of the anchors with themselves.",
            agrees=all(score.self_matched > 0.99 for score in everyone),
        ),
        Finding(
            paper="Lemma 2: min over f of max over Ω_mar of E[v] = 0, attained by a constant map.",
            ours=f"Training against it ends at E[v] = {_mean('value', marginals):.4f}; the least worst case "
            f"of any encoder and seed is {least:.4f}.",
            agrees=all(abs(score.value) < 0.01 for score in marginals) and least > -1e-5,
        ),
        Finding(
            paper=f"Theorem 1: the least worst-case loss is ψ(0) = log 2 = {LOSS_OF_A_POINT:.4f}, "
            "attained by a constant map.",
            ours=f"Loss {_mean('loss', marginals):.4f}, mean cosine of two images "
            f"{_mean('cosine', marginals):.3f}; nearest neighbors get "
            f"{_percent(_mean('knn', marginals))}, of the untrained encoder "
            f"{_percent(_mean('knn', scores[UNTRAINED]))}.",
            agrees=all(score.loss - LOSS_OF_A_POINT < 0.01 and score.cosine > 0.99 for score in marginals),
        ),
        Finding(
            paper="Section VI: entropy and no self-coupling preclude the degenerate solution.",
            ours="; ".join(
                f"{name}: mean cosine {_mean('cosine', each):.2f}, nearest neighbors "
                f"{_percent(_mean('knn', each))}"
                for name, each in scores.items()
                if name.startswith("entropy")
            )
            + ".",
            agrees=all(score.cosine < 0.9 for score in entropic)
            and min(score.knn for score in entropic) > max(each.knn for each in scores[UNTRAINED]),
        ),
        Finding(
            paper="(No statement: self-coupling forbidden, but no entropy.)",
            ours=f"Mean cosine {_mean('cosine', no_self):.3f}, loss {_mean('loss', no_self):.4f}: "
            + ("it collapses as well." if _mean("cosine", no_self) > 0.99 else "it does not collapse."),
        ),
    )


def numbers(scores: Scores) -> Numbers:
    """Return all scores, as mean and standard deviation over the seeds."""
    return Numbers(
        header=("trained against", *(title for _, title, _ in COLUMNS)),
        rows=tuple(
            (
                name,
                *(
                    _over_seeds([getattr(each, field) for each in repeats], digits)
                    for field, _, digits in COLUMNS
                ),
            )
            for name, repeats in scores.items()
        ),
        note=f"On test images; mean ± standard deviation over {len(scores[UNTRAINED])} seeds. The untrained "
        "encoder's own adversary is the first one.",
    )


def _lead(scores: Scores) -> str:
    """Return the first sentence of the page: whether the encoder collapses."""
    worst, entropic = _mean("cosine", scores["marginals only"]), _mean("cosine", scores["entropy, ε = 0.3"])
    what = "collapses to a point" if worst > 0.99 else "has not collapsed to a point after these few steps"
    return (
        f"Trained against the worst negatives that marginal constraints allow, the encoder {what} (mean "
        f"cosine of two test images {worst:.3f}); against a plan with entropy, ε = 0.3, that cosine is "
        f"{entropic:.2f}."
    )


def _mean(field: str, scores: Sequence[EncoderScore]) -> float:
    return fmean(getattr(score, field) for score in scores)


def _over_seeds(values: Sequence[float], digits: int) -> str:
    """Return mean and standard deviation, or the one value; a rounded zero has no sign."""
    mean = f"{np.mean(values) + 0.0:.{digits}f}"
    mean = mean.removeprefix("-") if float(mean) == 0 else mean.replace("-", "\N{MINUS SIGN}")
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.0f} %"


ENTRY = Entry(
    name="transport-degeneracy",
    statement="If negatives are the worst that marginal constraints allow, a constant map is optimal: the "
    "min-max value of E[f(x)·f(x⁻) − f(x)·f(x⁺)] is 0 and that of the loss is ψ(0, …, 0). Regularizing the "
    "coupling, by entropy and without self-coupling, is meant to preclude this.",
    source="Jiang, Ishwar and Aeron, Hard Negative Sampling via Regularized Optimal Transport for "
    "Contrastive Representation Learning, arXiv:2111.03169, Lemma 2, Theorem 1, Section VI",
    run=run,
)
