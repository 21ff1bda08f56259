"""Worst-case negatives under marginal constraints alone make a constant map the best one.

Jiang et al. (2023), "Hard Negative Sampling via Regularized Optimal Transport"; the numbers below are
theirs. Let f map into the unit sphere, v(x, x+, x-) = f(x).f(x-) - f(x).f(x+), and psi be convex and
non-decreasing; here the logistic loss psi(v) = log(1 + q e^v) of eq. 1 with one negative and q = 1.
Omega_mar holds every coupling under which x- has the distribution of x.

The inner maximum. Since f(x).f(x-) <= 1 = f(x).f(x), no negative is worse than the anchor itself, for any
non-decreasing psi and for each anchor singly, and the choice x- = x meets the marginals. So

    max over Omega_mar of E[psi(v)]  =  E[psi(1 - f(x).f(x+))],                      (a)

which for psi(v) = v is eq. 2. (Theorem 1 goes by Jensen's inequality instead, and needs psi convex.) On a
batch Omega_mar is the set of doubly stochastic matrices, the maximum is at a permutation, and finding it is
the assignment problem.

The outer minimum. (a) is at least psi(0), with equality exactly when f(x) = f(x+) with probability one. A
constant map does that: Lemma 2 (value 0) and Theorem 1 (loss psi(0)). It is the only one if any two inputs
are linked by a chain of positive pairs; the theorem says that the solutions contain a constant map, and
leaves open which of them training finds.

The gradient. With the maximizer held fixed (the envelope theorem) the negatives contribute the gradient of
f(x).f(x) = 1, which is zero on the sphere. What is left is alignment alone: nothing pushes apart.

Without entropy, but with x- neither x nor x+ (eq. 5 as epsilon goes to 0). The constant map still has loss
psi(0), but this is no lower bound any more, because the batch may hold nothing as close to x as x+ is. For
a continuous distribution the constraint is empty: negatives as close as one likes are allowed.

With entropy (eq. 5, epsilon > 0). A plan then has weight on every allowed pair, so E_P[f(x).f(x-)] < 1 unless
f is constant. For psi(v) = v the gradient with the plan held fixed is, again by the envelope theorem, that of

    max over P of { E_P[f(x).f(x-)] - epsilon KL(P || p x p) }  -  E[f(x).f(x+)],      (b)

and at every f that is aligned and not constant (b) is below its value at a constant map: there the first term
is 1 less the least divergence, here less than 1 less at least as much. So no constant map is optimal.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from tammes.coupling import Transport, Uniform
from tammes.papers.entry import Entry
from tammes.papers.jiang.minmax import (
    LEARNING_RATE,
    MARGINALS,
    NO_SELF,
    PAIRS,
    Adversary,
    Measured,
    Trained,
    draw_batches,
    logistic,
    train,
)
from tammes.papers.jiang.minmax_figures import Results, line_panels, numbers, overview, sphere_panels
from tammes.papers.page import Figure, Finding, PaperPage, write_page, write_table

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
REMARKS = (
    "The theorem says that the solutions contain a constant map, not that training must find one. It is "
    "found here because the worst negative of an image is the image itself, whose similarity to itself is 1 "
    "and has no gradient on the sphere: what is left of the loss only pulls positives together.",
    "Every constant map has the loss log 2 under every adversary, so a loss near log 2 is no success. Under "
    "entropy the loss that is printed is not what training descends: the plan is held fixed, and its "
    "gradient belongs to the regularized value, which counts the plan's entropy too. So an encoder can stay "
    "spread out although its printed loss is no better than that of a constant map.",
    "Forbidding self-coupling alone is not enough here: a batch of 128 views in three dimensions holds a "
    "permutation that is closer, on average, than the positives are (its E[v] is above zero for every "
    "encoder that is spread out), so a constant map has the lower worst-case loss. For a continuous "
    "distribution the constraint is empty altogether. What keeps the encoder spread out is the entropy.",
    "Nearest neighbors do not see how far apart points are, only which are nearer: after a collapse they "
    "still read something from the little spread that is left.",
)


def run(out: Path, *, budget: float, seed: int, data: Path | None) -> None:
    """See `Reproduction`: the full work is 400 steps for each of five adversaries and three seeds."""
    steps, seeds = max(2, round(STEPS * budget)), range(seed, seed + max(1, round(SEEDS * budget)))
    results: dict[str, list[Trained]] = {name: [] for name in (UNTRAINED, *ADVERSARIES)}
    for each in seeds:
        batches = draw_batches(steps, seed=each)
        results[UNTRAINED].append(train(MARGINALS, (), seed=each))
        for name, adversary in ADVERSARIES.items():
            results[name].append(train(adversary, batches, seed=each))
    out.mkdir(parents=True, exist_ok=True)
    rows = [
        {"adversary": name, "seed": each, "steps": steps if name in ADVERSARIES else 0}
        | dataclasses.asdict(trained.measured)
        for name, repeats in results.items()
        for each, trained in zip(seeds, repeats, strict=True)
    ]
    write_table(out / "table.csv", rows)
    overview(results, UNTRAINED, LOSS_OF_A_POINT).savefig(out / "figure.svg", facecolor="white")
    command = ENTRY.command(budget=budget, seed=seed)
    write_page(out / "report.html", _page(results, steps, command))


def findings(results: Results) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers; one agrees if it does so for every seed."""
    trained = {name: [each.measured for each in repeats] for name, repeats in results.items()}
    everyone = [measured for repeats in trained.values() for measured in repeats]
    marginals, no_self = trained["marginals only"], trained["no self-coupling"]
    entropic = [measured for name, each in trained.items() if name.startswith("entropy") for measured in each]
    least = min(measured.value_marginals for measured in everyone)
    return (
        Finding(
            paper="Proof of Lemma 2: x⁻ = x attains the worst case over Ω_mar.",
            ours=f"The assignment solver, free to choose, matches "
            f"{_percent(_mean('self_matched', everyone))} of the anchors with themselves.",
            agrees=all(measured.self_matched > 0.99 for measured in everyone),
        ),
        Finding(
            paper="Lemma 2: min over f of max over Ω_mar of E[v] = 0, attained by a constant map.",
            ours=f"Training against it ends at E[v] = {_mean('value', marginals):.4f}; the least worst case "
            f"of any encoder and seed is {least:.4f}.",
            agrees=all(abs(measured.value) < 0.01 for measured in marginals) and least > -1e-5,
        ),
        Finding(
            paper=f"Theorem 1: the least worst-case loss is ψ(0) = log 2 = {LOSS_OF_A_POINT:.4f}, "
            "attained by a constant map.",
            ours=f"Loss {_mean('loss', marginals):.4f}, mean cosine of two images "
            f"{_mean('cosine', marginals):.3f}; nearest neighbors get "
            f"{_percent(_mean('knn', marginals))}, of the untrained encoder "
            f"{_percent(_mean('knn', trained[UNTRAINED]))}.",
            agrees=all(
                measured.loss - LOSS_OF_A_POINT < 0.01 and measured.cosine > 0.99 for measured in marginals
            ),
        ),
        Finding(
            paper="Section VI: entropy and no self-coupling preclude the degenerate solution.",
            ours="; ".join(
                f"{name}: mean cosine {_mean('cosine', each):.2f}, nearest neighbors "
                f"{_percent(_mean('knn', each))}"
                for name, each in trained.items()
                if name.startswith("entropy")
            )
            + ".",
            agrees=all(measured.cosine < 0.9 for measured in entropic)
            and min(measured.knn for measured in entropic) > max(each.knn for each in trained[UNTRAINED]),
        ),
        Finding(
            paper="(No statement: self-coupling forbidden, but no entropy.)",
            ours=f"Mean cosine {_mean('cosine', no_self):.3f}, loss {_mean('loss', no_self):.4f}: "
            + ("it collapses as well." if _mean("cosine", no_self) > 0.99 else "it does not collapse."),
        ),
    )


def _page(results: Results, steps: int, command: str) -> PaperPage:
    return PaperPage(
        title="The degeneracy of worst-case negatives",
        statement=ENTRY.statement,
        source=ENTRY.source,
        lead=_lead(results),
        findings=findings(results),
        figures=(
            Figure(
                title="Where test images lie",
                words="Digits of the test set on a map of the sphere with equal areas, turned so that their "
                "mean is in the middle; colors are classes, which no encoder has seen. First seed.",
                panels=sphere_panels(results, UNTRAINED),
            ),
            Figure(
                title="On the way there",
                words="First, the loss that each encoder was trained on; a constant map has the loss ψ(0) "
                "under every adversary. Second, the mean cosine of two images: 1 for a constant map, 0 for "
                "one that covers the sphere evenly. First seed; the last point of a line is on test images.",
                panels=line_panels(results, UNTRAINED, LOSS_OF_A_POINT),
                wide=True,
            ),
        ),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "data": "digits of scikit-learn",
            "pairs in a batch": str(PAIRS),
            "steps": str(steps),
            "seeds": str(len(results[UNTRAINED])),
            "Adam, learning rate": f"{LEARNING_RATE:g}",
            "loss": "log(1 + e^v) at temperature 1",
        },
        command=command,
    )


def _lead(results: Results) -> str:
    """What happened, in a sentence."""
    worst = _mean("cosine", [each.measured for each in results["marginals only"]])
    entropic = _mean("cosine", [each.measured for each in results["entropy, ε = 0.3"]])
    what = "collapses to a point" if worst > 0.99 else "has not collapsed to a point after these few steps"
    return (
        f"Trained against the worst negatives that marginal constraints allow, the encoder {what} (mean "
        f"cosine of two test images {worst:.3f}); against a plan with entropy, ε = 0.3, that cosine is "
        f"{entropic:.2f}."
    )


def _mean(name: str, measured: Sequence[Measured]) -> float:
    """The mean of one of the measured numbers."""
    return sum(dataclasses.asdict(each)[name] for each in measured) / len(measured)


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
