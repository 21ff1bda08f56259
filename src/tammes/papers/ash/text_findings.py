"""The paper's statements on its text experiments, beside our measurements."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from tammes.estimate import Estimate
from tammes.papers.ash.accuracies import (
    Pick,
    best_place,
    by_batch_size,
    in_points,
    linear,
    mean,
    mean_early,
    over_seeds,
    points,
)
from tammes.papers.ash.optimum import best_by_others, best_of_others, growth, optimum
from tammes.papers.ash.text_summary import Summary
from tammes.papers.finding import Check, Effect, Finding
from tammes.report.markup import listed
from tammes.theory import ClassDistribution, best_k

EARLY_K = 50
"""Section 4: number of negatives up to which accuracy improves very rapidly; appendix D.1: the best one."""


def findings(summary: Summary) -> tuple[Finding | Check, ...]:
    """Return the paper's statements beside our numbers, in the order of its text."""
    plan = summary.plan
    compared = plan.at_classes if len(summary.batches) > 1 else ()
    return (
        rises_and_falls(summary),
        *((best_grows(summary),) if len(plan.classes) > 1 else ()),
        theory_beside(summary),
        gains_come_early(summary),
        size_of_the_effect(summary),
        linear_classifier(summary),
        *(batch_and_negatives(summary, classes) for classes in compared),
        *(after_equal_steps(summary, classes) for classes in compared),
        *((collisions_removed(summary), decay_without(summary)) if plan.true else ()),
        updates(summary),
    )


def rises_and_falls(summary: Summary) -> Finding:
    """Compare Fig. 3 left: up, then slowly down."""
    first, last = summary.counts[0], summary.counts[-1]
    effects = []
    for n in summary.plan.classes:
        values = summary.over_counts(mean, n)
        effects += [
            in_points(f"N = {n}, best k above k = {first}", over_seeds(_loss(values[:, ::-1]))),
            in_points(f"above k = {last}", over_seeds(_loss(values))),
        ]
    return Finding(
        paper="Section 4, Fig. 3 and 5: for every N, accuracy of the mean classifier improves as k increases "
        "and then slowly decays.",
        effects=tuple(effects),
        controls=_learned(summary, summary.plan.classes),
    )


def best_grows(summary: Summary) -> Finding:
    """Compare Fig. 3 left: the circles move to the right."""
    classes = summary.plan.classes
    few, many = classes[0], classes[-1]
    values = {n: summary.over_counts(mean, n) for n in classes}
    best = {n: best_by_others(values[n]) for n in (few, many)}
    seeds = np.arange(len(summary.seeds))
    return Finding(
        paper="Section 4: the optimal k slowly increases as N increases.",
        ours=_each({n: count_with_range(summary, mean, n) for n in classes}),
        effects=(
            Effect(
                name="slope of log(best k) over log(N)",
                difference=growth(classes, list(values.values()), summary.counts),
                digits=2,
            ),
            *(
                in_points(
                    f"N = {n}, best k above that of N = {other}",
                    over_seeds(values[n][seeds, best[n]] - values[n][seeds, best[other]]),
                )
                for n, other in ((few, many), (many, few))
            ),
        ),
        controls=_learned(summary, classes),
    )


def theory_beside(summary: Summary) -> Finding:
    """Compare Remark 2, the bounds' best k."""
    plain = [best_k(ClassDistribution.uniform(n)) for n in summary.plan.classes]
    refined = [best_k(ClassDistribution.uniform(n), growth=0.5) for n in summary.plan.classes]
    ours = [best_count(summary, mean, n) for n in summary.plan.classes]
    below = sum(a < b for a, b in zip(ours, plain, strict=True))
    return Finding(
        paper="Remark 2, Theorem 3: the bounds prefer k near N and near N / 2; section 5: linear in N.",
        ours=f"For N = {_row(summary.plan.classes)} the bounds prefer k = {_row(plain)} and {_row(refined)}; "
        f"measured best: {_row(ours)}, below the first bound's for {below} of {len(ours)} N.",
    )


def gains_come_early(summary: Summary) -> Finding:
    """Compare section 4: up to k = 50 quickly, then slowly down."""
    at, k = _early(summary)
    effects = []
    for n in summary.plan.classes:
        values = summary.over_counts(mean, n)
        best, early = best_of_others(values), values[:, at] - values[:, 0]
        effects += [
            in_points(
                f"N = {n}, gain up to k = {k} above the gain after it",
                over_seeds(early - (best - values[:, at])),
            ),
            in_points("above the loss after the best k", over_seeds(early - (best - values[:, -1]))),
        ]
    return Finding(
        paper="Section 4: accuracy improves very rapidly up to k = 50; beyond the optimum the decay is "
        "relatively mild in comparison to these initial gains.",
        effects=tuple(effects),
        controls=_learned(summary, summary.plan.classes),
    )


def size_of_the_effect(summary: Summary) -> Finding:
    """Compare appendix D.1: the gap between the best and the worst k, beside the noise."""
    effects = []
    for n in summary.plan.classes:
        values = summary.over_counts(mean, n)
        gap = Estimate.over_seeds((best_of_others(values) + best_of_others(-values)).tolist())
        columns = values[:, np.isfinite(values).all(axis=0)].T.tolist()
        deviation = max(Estimate.over_seeds(column).deviation or 0.0 for column in columns)
        words = f"{gap.points}, largest deviation {100 * deviation:.1f}"
        effects.append(Effect(name=f"N = {n}, gap", difference=gap - deviation, words=words))
    return Finding(
        paper="Appendix D.1, Fig. 5: the gap between the best and the worst k, about 2 to 3 %, is much "
        "larger than the standard deviation over five seeds, at most 0.25 %.",
        effects=tuple(effects),
        controls=_learned(summary, summary.plan.classes),
    )


def linear_classifier(summary: Summary) -> Finding:
    """Compare Fig. 6: k = 50 for every N."""
    at, k = _early(summary)
    effects = []
    for n in summary.plan.classes:
        values = summary.over_counts(linear, n)
        others = best_of_others(np.delete(values, at, axis=1))
        name = f"N = {n}, k = {k} above the best other k"
        effects.append(in_points(name, over_seeds(values[:, at] - others)))
    return Finding(
        paper="Appendix D.1, Fig. 6: for the trained linear classifier an intermediate k is best, k = 50 for "
        "every N.",
        ours=_each({n: count_with_range(summary, linear, n) for n in summary.plan.classes}),
        effects=tuple(effects),
        controls=_learned(summary, summary.plan.classes, linear),
    )


def batch_and_negatives(summary: Summary, classes: int) -> Finding:
    """Compare Fig. 3 center: the best is a large batch with some of its negatives."""
    values = summary.over_batches(mean, classes)
    row, column = best_place(values.mean(axis=0))
    best = Estimate.over_seeds(values[:, row, column].tolist())
    largest = values[:, -1, np.isfinite(values[:, -1]).all(axis=0)]  # (seeds, k)
    others = best_of_others(values[:, :-1].reshape(len(values), -1))
    effects = [
        in_points("from the smallest batch to the largest at the same k", by_batch_size(values)),
        in_points(
            "best of the largest batch above the best of the others",
            over_seeds(best_of_others(largest) - others),
        ),
    ]
    if largest.shape[1] > 2:
        inner = best_of_others(largest[:, 1:-1])
        effects += [
            in_points(
                "largest batch, best intermediate k above the smallest", over_seeds(inner - largest[:, 0])
            ),
            in_points("above the largest", over_seeds(inner - largest[:, -1])),
        ]
    untrained = summary.untrained(mean, classes)[:, None, None]
    return Finding(
        paper="Section 4, Fig. 3 and 7: at the same k a larger batch can be better; the best is the largest "
        "batch with an intermediate k.",
        ours=f"N = {classes}, mean classifier: best {best.percent} % at B = {summary.batches[row]}, "
        f"k = {summary.plan.columns[column]}. After equally many epochs, a batch of {summary.batches[0]} has "
        f"taken {summary.batches[-1] // summary.batches[0]} times as many steps as one of "
        f"{summary.batches[-1]}.",
        effects=tuple(effects),
        controls=(in_points("above the untrained encoder", over_seeds(values - untrained)),),
    )


def after_equal_steps(summary: Summary, classes: int) -> Finding:
    """Compare batch sizes after equally many steps."""
    change = by_batch_size(summary.over_batches(mean_early, classes))
    return Finding(
        paper="(No statement: batches after equally many steps.)",
        ours=f"N = {classes}, mean classifier, from the smallest batch to the largest at the same k: "
        f"{points(change)}; here the larger batch has seen more sentences.",
    )


def collisions_removed(summary: Summary) -> Finding:
    """Compare Fig. 3 right: the oracle that knows the true negatives."""
    gains = {n: _gain(summary, mean, n) for n in summary.plan.true}
    at = {n: _last_shared(gain) for n, gain in gains.items()}
    effects = [
        in_points(f"N = {n}, k = {summary.counts[at[n]]}", over_seeds(gain[:, at[n]]))
        for n, gain in gains.items()
    ]
    if len(gains) > 1:
        few, many = min(gains), max(gains)
        shrinks = over_seeds(gains[few][:, at[few]] - gains[many][:, at[many]])
        effects.append(in_points(f"N = {few} above N = {many}", shrinks))
    words = {
        n: f"{points(over_seeds(gain))}, with the trained linear classifier "
        f"{points(over_seeds(_gain(summary, linear, n)))}"
        for n, gain in gains.items()
    }
    return Finding(
        paper="Section 4, Fig. 3 right: without collisions accuracy is higher for every N, most for small N "
        "(1.5 % for N = 200 and k = 1,000).",
        ours=f"Over all k: {_each(words)}",
        effects=tuple(effects),
        controls=_learned(summary, summary.plan.true),
    )


def decay_without(summary: Summary) -> Finding:
    """Compare Fig. 3 right: the decay that remains without collisions."""
    words, effects = {}, []
    for n in summary.plan.true:
        at = _last_shared(_gain(summary, mean, n))
        falls = []
        for collisions in (True, False):
            falls.append(_loss(summary.over_counts(mean, n, collisions=collisions)[:, : at + 1]))
        words[n] = f"from the best k to k = {summary.counts[at]} a loss of " + " with collisions, ".join(
            points(over_seeds(fall)) for fall in falls
        )
        effects.append(
            in_points(f"N = {n}, loss with collisions above that without", over_seeds(falls[0] - falls[1]))
        )
    return Finding(
        paper="Section 4: without collisions accuracy decays only slightly for very large k.",
        ours=_each({n: f"{each} without" for n, each in words.items()}),
        effects=tuple(effects),
        controls=_learned(summary, summary.plan.true),
    )


def updates(summary: Summary) -> Check:
    """Compare footnote 4: batches that cannot give k true negatives."""
    skipped = [
        f"N = {cell.classes}, k = {cell.negatives}, seed {cell.seed}: {scores.skipped} of "
        f"{scores.skipped + scores.steps}"
        for cell, scores in summary.skipped.items()
    ]
    return Check(
        paper="Footnote 4: a batch in which an anchor has fewer than k true negatives makes no update; this "
        "never occurred.",
        ours=f"Batches without an update: {'; '.join(skipped)}." if skipped else "It never occurred here.",
        passed=not skipped,
    )


def best_count(summary: Summary, pick: Pick, classes: int) -> int:
    """Return the best k for an N."""
    return summary.counts[optimum(summary.over_counts(pick, classes)).best]


def count_with_range(summary: Summary, pick: Pick, classes: int) -> str:
    """Return the best k for an N, with the range of those that it is not resolved from."""
    counts = summary.counts
    found = optimum(summary.over_counts(pick, classes))
    best, first, last = (counts[place] for place in (found.best, found.first, found.last))
    return f"k = {best}" if first == last else f"k = {best} ({first} to {last})"


def _learned(summary: Summary, classes: Iterable[int], pick: Pick = mean) -> tuple[Effect, ...]:
    """Return the differences from the untrained encoder, averaged over all k."""
    return tuple(
        in_points(
            f"N = {n}, above the untrained encoder",
            over_seeds(summary.over_counts(pick, n) - summary.untrained(pick, n)[:, None]),
        )
        for n in classes
    )


def _early(summary: Summary) -> tuple[int, int]:
    """Return place and value of the largest k up to `EARLY_K`."""
    at = sum(k <= EARLY_K for k in summary.counts) - 1
    return at, summary.counts[at]


def _loss(values: Float[np.ndarray, "seeds counts"]) -> Float[np.ndarray, " seeds"]:
    """Return the best accuracy before the last k minus that at the last; negative if the last is best."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    return best_of_others(values[:, :-1]) - values[:, -1]


def _gain(summary: Summary, pick: Pick, classes: int) -> Float[np.ndarray, "seeds counts"]:
    """Return the gain in accuracy without collisions; NaN where only one of the two was measured."""
    return summary.over_counts(pick, classes, collisions=False) - summary.over_counts(pick, classes)


def _last_shared(gain: Float[np.ndarray, "seeds counts"]) -> int:
    """Return the place of the largest k that was measured with and without collisions."""
    return int(np.flatnonzero(np.isfinite(gain).all(axis=0))[-1])


def _each(words: dict[int, str]) -> str:
    """Return words for every N as one sentence."""
    return "; ".join(f"N = {n}: {each}" for n, each in words.items()) + "."


def _row(numbers: Sequence[int]) -> str:
    return listed([f"{number:,}" for number in numbers])
