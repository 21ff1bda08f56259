"""Worst-case negatives under marginal constraints alone make a constant map the best one.

Jiang et al. (2023), "Hard Negative Sampling via Regularized Optimal Transport"; the numbers below are
theirs. Let f map into the unit sphere, v(x, x+, x-) = f(x).f(x-) - f(x).f(x+), and psi be convex and
non-decreasing; here the logistic loss psi(v) = log(1 + q e^v) of eq. 1 with one negative and q = 1.
Omega_mar holds every coupling under which x- has the distribution of x.

The inner maximum. Since f(x).f(x-) <= 1 = f(x).f(x), the anchor itself is its worst negative, for any
non-decreasing psi and for each anchor singly, and the choice x- = x meets the marginals. So

    max over Omega_mar of E[psi(v)]  =  E[psi(1 - f(x).f(x+))],                      (a)

which for psi(v) = v is eq. 2. On a batch Omega_mar is the set of doubly stochastic matrices, the maximum is
at a permutation, and finding it is the assignment problem.

The outer minimum. (a) is at least psi(0), with equality exactly when f(x) = f(x+) with probability one. A
constant map does that: Lemma 2 (value 0) and Theorem 1 (loss psi(0)). It is the only one if any two inputs
are linked by a chain of positive pairs; the theorem says that the solutions contain a constant map, and
leaves open which of them training finds.

The gradient. With the maximizer held fixed (the envelope theorem) the negatives contribute the gradient of
f(x).f(x) = 1, which is zero on the sphere. What is left is alignment alone: nothing pushes apart.

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

import numpy as np
from matplotlib.figure import Figure as Drawing

from tammes.coupling import Transport, Uniform
from tammes.data import digits
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.finding import Check, Effect, Finding, within
from tammes.papers.jiang import minmax
from tammes.papers.jiang.minmax import Adversary, EncoderScore, Trained, logistic
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study, grouped
from tammes.report.curve import Curve
from tammes.report.figures.curves import draw_lines, lines_over_steps
from tammes.report.figures.sphere import draw_sphere, sphere_map
from tammes.report.markup import percent
from tammes.report.palette import MUTED, css_color, objective_color

STEPS, SEEDS = 400, 10
LOSS_OF_A_POINT = math.log(2)
"""psi(0), the loss of every constant map."""

NEAR = 0.01
"""Distance from a value of the theory within which a measurement agrees with it."""
UNTRAINED = "untrained"
ADVERSARIES: Mapping[str, Adversary] = {
    "marginals only": minmax.MARGINALS,
    "no self-coupling": minmax.NO_SELF,
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
    """Train against five adversaries: the full work is 400 steps and ten seeds for each."""
    steps = max(2, round(STEPS * request.budget))
    seeds, rate = request.seed_range(SEEDS), request.rate(minmax.LEARNING_RATE)
    batches = cache(lambda seed: minmax.draw_batches(steps, seed=seed))

    @cache  # the page shows encoders of the first seed, which a table does not hold
    def trained(name: str, seed: int) -> Trained:
        if name == UNTRAINED:
            return minmax.train(minmax.MARGINALS, (), seed=seed)
        return minmax.train(ADVERSARIES[name], batches(seed), seed=seed, learning_rate=rate)

    Study(
        cells=[
            EncoderTraining(adversary=name, seed=seed, steps=0 if name == UNTRAINED else steps)
            for seed in seeds
            for name in (UNTRAINED, *ADVERSARIES)
        ],
        scores=EncoderScore,
        measure=lambda cell: trained(cell.adversary, cell.seed).score,
        name=lambda cell: f"{cell.adversary}, seed {cell.seed}",
        protocol=Protocol(seeds=seeds, controls=["untrained encoder"], measured_on="test images"),
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
            "pairs in a batch": str(minmax.PAIRS),
            "steps": str(max(cell.steps for cell in results)),
            "Adam, learning rate": f"{minmax.LEARNING_RATE:g}",
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
    yield (
        "mean cosine of two images",
        ("constant map", 1.0),
        {name: first[name].cosine for name in ADVERSARIES},
    )


def findings(scores: Scores) -> tuple[Finding | Check, ...]:
    """Return the paper's statements beside our numbers."""
    return *_checks(scores), *_collapse(scores), *_entropy(scores)


def _checks(scores: Scores) -> tuple[Check, ...]:
    """Return what holds for every encoder by construction."""
    everyone = [score for repeats in scores.values() for score in repeats]
    least = min(score.value_marginals for score in everyone)
    matched = min(score.self_matched for score in everyone)
    return (
        Check(
            paper="Proof of Lemma 2: x⁻ = x attains the worst case over Ω_mar.",
            ours=f"The assignment solver, free to choose, matches at least {percent(matched)} of the anchors "
            "with themselves, for every encoder and seed; f(x)·f(x⁻) <= 1 = f(x)·f(x) leaves no other way.",
            passed=matched > 0.99,
        ),
        Check(
            paper="Lemma 2: no encoder's worst case over Ω_mar has E[v] below 0.",
            ours=f"The least of any encoder and seed is {least:.4f}.",
            passed=least > -1e-5,
        ),
    )


def _collapse(scores: Scores) -> tuple[Finding, ...]:
    """Return Lemma 2 and Theorem 1: against marginal constraints alone, a constant map is optimal."""
    worst, untrained = scores["marginals only"], scores[UNTRAINED]
    # A constant map has rank 1: that training collapsed the encoder, and not chance its first weights.
    rank = _difference("rank", untrained, worst)
    collapsed = (Effect(name="effective rank of the untrained encoder above it", difference=rank, digits=2),)
    return (
        Finding(
            paper="Lemma 2: min over f of max over Ω_mar of E[v] = 0, attained by a constant map.",
            effects=(
                within("E[v] after training against it", _over_seeds("value", worst), 0.0, NEAR, digits=4),
            ),
            controls=collapsed,
        ),
        Finding(
            paper=f"Theorem 1: the least worst-case loss is ψ(0) = log 2 = {LOSS_OF_A_POINT:.4f}, "
            "attained by a constant map.",
            ours=f"Nearest neighbors get {_over_seeds('knn', worst).percent} % right, those of the untrained "
            f"encoder {_over_seeds('knn', untrained).percent} %.",
            effects=(
                within("loss", _over_seeds("loss", worst), LOSS_OF_A_POINT, NEAR, digits=4),
                Effect(
                    name="mean cosine of two images above 0.99",
                    difference=_over_seeds("cosine", worst) - 0.99,
                ),
            ),
            controls=collapsed,
        ),
    )


def _entropy(scores: Scores) -> tuple[Finding, ...]:
    """Return section VI, with entropy and no self-coupling, and what happens with the latter alone."""
    worst, untrained, no_self = scores["marginals only"], scores[UNTRAINED], scores["no self-coupling"]
    entropic = {name: each for name, each in scores.items() if name.startswith("entropy")}
    return (
        Finding(
            paper="Section VI: entropy and no self-coupling preclude the degenerate solution.",
            effects=tuple(
                Effect(
                    name=f"{name}, mean cosine below that of marginals only",
                    difference=_difference("cosine", worst, each),
                )
                for name, each in entropic.items()
            ),
            controls=tuple(
                Effect(
                    name=f"{name}, nearest neighbors above the untrained encoder's",
                    difference=_difference("knn", each, untrained),
                )
                for name, each in entropic.items()
            ),
        ),
        Finding(
            paper="(No statement: self-coupling forbidden, but no entropy.)",
            ours=f"Mean cosine {_over_seeds('cosine', no_self)}, "
            f"loss {_over_seeds('loss', no_self).text(4)}: "
            + (
                "it collapses as well."
                if _over_seeds("cosine", no_self).mean > 0.99
                else "it does not collapse."
            ),
        ),
    )


def numbers(scores: Scores) -> Numbers:
    """Return all scores, as means over the seeds with their intervals."""
    return Numbers(
        header=("trained against", *(title for _, title, _ in COLUMNS)),
        rows=tuple(
            (
                name,
                *(_over_seeds(field, repeats).text(digits) for field, _, digits in COLUMNS),
            )
            for name, repeats in scores.items()
        ),
        note=f"On test images; means over {len(scores[UNTRAINED])} seeds with 95 % intervals. The untrained "
        "encoder's own adversary is the first one.",
    )


def _lead(scores: Scores) -> str:
    """Return the first sentence of the page: whether the encoder collapses."""
    worst = _over_seeds("cosine", scores["marginals only"]).mean
    entropic = _over_seeds("cosine", scores["entropy, ε = 0.3"]).mean
    what = "collapses to a point" if worst > 0.99 else "has not collapsed to a point after these few steps"
    return (
        f"Trained against the worst negatives that marginal constraints allow, the encoder {what} (mean "
        f"cosine of two test images {worst:.3f}); against a plan with entropy, ε = 0.3, that cosine is "
        f"{entropic:.2f}."
    )


def _values(field: str, scores: Sequence[EncoderScore]) -> list[float]:
    return [getattr(score, field) for score in scores]


def _over_seeds(field: str, scores: Sequence[EncoderScore]) -> Estimate:
    return Estimate.over_seeds(_values(field, scores))


def _difference(field: str, more: Sequence[EncoderScore], less: Sequence[EncoderScore]) -> Estimate:
    return Estimate.of_difference(_values(field, more), _values(field, less))
