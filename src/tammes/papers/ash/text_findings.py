"""The paper's statements on its text experiments, beside our measurements."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from tammes.papers.ash.accuracies import (
    Pick,
    best_place,
    by_batch_size,
    linear,
    mean,
    mean_early,
    mean_over_counts,
)
from tammes.papers.ash.optimum import growth, optimum, rise_and_fall
from tammes.papers.ash.text_summary import Summary
from tammes.papers.page import Finding
from tammes.papers.statistics import Interval
from tammes.report.markup import listed, percent
from tammes.theory import ClassDistribution, best_k

SURE = 0.95
"""Fraction of the resamples from which on a change counts as a trend."""


def findings(summary: Summary) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers, in the order of its text."""
    return (
        rises_and_falls(summary),
        best_grows(summary),
        theory_beside(summary),
        gains_come_early(summary),
        size_of_the_effect(summary),
        linear_classifier(summary),
        *(batch_and_negatives(summary, classes) for classes in summary.plan.at_classes),
        *(after_equal_steps(summary, classes) for classes in summary.plan.at_classes),
        *((collisions_removed(summary), decay_without(summary)) if summary.plan.true else ()),
        updates(summary),
    )


def rises_and_falls(summary: Summary) -> Finding:
    """Compare Fig. 3 left: up, then slowly down."""
    changes = {n: rise_and_fall(summary.over_counts(mean, n)) for n in summary.plan.classes}
    counts = summary.counts
    first, last = counts[0], counts[-1]
    return Finding(
        paper="Section 4, Fig. 3 and 5: for every N, accuracy of the mean classifier improves as k increases "
        "and then slowly decays.",
        ours=_each(
            {
                n: f"{rise.change} from k = {first} to the best k, {fall.change} from there to k = {last}"
                for n, (rise, fall) in changes.items()
            },
        ),
        agrees=all(rise.rises and fall.falls for rise, fall in changes.values()),
    )


def best_grows(summary: Summary) -> Finding:
    """Compare Fig. 3 left: the circles move to the right."""
    sure = _growth(summary, mean)
    best = [best_count(summary, mean, n) for n in summary.plan.classes]
    return Finding(
        paper="Section 4: the optimal k slowly increases as N increases.",
        ours=_each({n: count_with_range(summary, mean, n) for n in summary.plan.classes})
        + f" It increases with N in {percent(sure)} of the resamples of the seeds.",
        agrees=sure >= SURE and best[-1] > best[0],
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
    counts = summary.counts
    middle = max((k for k in counts if k <= 50), default=counts[0])
    values = summary.over_classes(mean)
    best, first, last = np.nanmax(values, axis=1), values[:, 0], values[:, -1]
    room = np.maximum(best - first, 1e-12)
    gained, lost = (values[:, counts.index(middle)] - first) / room, (best - last) / room
    return Finding(
        paper="Section 4: accuracy improves very rapidly up to k = 50; beyond the optimum the decay is "
        "relatively mild.",
        ours=_each(
            {
                n: f"k = {middle} has {100 * g:.0f} % of the gain, and k = {counts[-1]} has lost "
                f"{100 * f:.0f} % of it again"
                for n, g, f in zip(summary.plan.classes, gained, lost, strict=True)
            }
        ),
        agrees=bool((gained > 0.75).all() and (lost < 0.5).all()),
    )


def size_of_the_effect(summary: Summary) -> Finding:
    """Compare appendix D.1: the gap between the best and the worst k, beside the noise."""
    gaps, noise = [], 0.0
    for n in summary.plan.classes:
        values = summary.over_counts(mean, n)
        gaps.append(float(np.nanmax(values.mean(axis=0)) - np.nanmin(values.mean(axis=0))))
        if len(values) > 1:
            noise = max(noise, float(values.std(axis=0, ddof=1).max()))
    return Finding(
        paper="Appendix D.1, Fig. 5: between the best and the worst k lie about 2 to 3 %; standard "
        "deviations over five seeds are at most 0.25 %.",
        ours=_each({n: percent(gap) for n, gap in zip(summary.plan.classes, gaps, strict=True)})
        + f" Standard deviations over {len(summary.seeds)} seeds are at most {percent(noise)}.",
    )


def linear_classifier(summary: Summary) -> Finding:
    """Compare Fig. 6: k = 50 for every N."""
    counts = summary.counts
    found = [optimum(summary.over_counts(linear, n)) for n in summary.plan.classes]
    return Finding(
        paper="Appendix D.1, Fig. 6: for the trained linear classifier an intermediate k is best, k = 50 for "
        "every N.",
        ours=_each({n: count_with_range(summary, linear, n) for n in summary.plan.classes}),
        agrees=all(
            0 < each.best < len(counts) - 1 and counts[each.first] <= 50 <= counts[each.last]
            for each in found
        ),
    )


def batch_and_negatives(summary: Summary, classes: int) -> Finding:
    """Compare Fig. 3 center: the best is a large batch with some of its negatives."""
    values = summary.over_batches(mean, classes).mean(axis=0)
    row, column = best_place(values)
    change = by_batch_size(summary.over_batches(mean, classes)).change
    return Finding(
        paper="Section 4, Fig. 3 and 7: at the same k a larger batch can be better; the best is the largest "
        "batch with an intermediate k.",
        ours=f"N = {classes}, mean classifier: best {percent(values[row, column])} at B = "
        f"{summary.batches[row]}, k = {summary.plan.columns[column]}. From the smallest batch to the largest "
        f"at the same k: {change}. After equally many epochs, a batch of {summary.batches[0]} has taken "
        f"{summary.batches[-1] // summary.batches[0]} times as many steps as one of {summary.batches[-1]}.",
        agrees=row == len(summary.batches) - 1 and 0 < column < len(summary.plan.columns) - 1,
    )


def after_equal_steps(summary: Summary, classes: int) -> Finding:
    """Compare batch sizes after equally many steps."""
    change = by_batch_size(summary.over_batches(mean_early, classes)).change
    return Finding(
        paper="(No statement: batches after equally many steps.)",
        ours=f"N = {classes}, mean classifier, from the smallest batch to the largest at the same k: "
        f"{change}; here the larger batch has seen more sentences.",
    )


def collisions_removed(summary: Summary) -> Finding:
    """Compare Fig. 3 right: the oracle that knows the true negatives."""
    gains = {n: without_collisions(summary, mean, n) for n in summary.plan.true}
    words = {
        n: f"{gain.change} at k = {k}, {mean_over_counts(_gain(summary, mean, n)).change} over all k, "
        f"{mean_over_counts(_gain(summary, linear, n)).change} for the trained linear classifier"
        for n, (k, gain) in gains.items()
    }
    means = [gain.mean for _, gain in gains.values()]
    return Finding(
        paper="Section 4, Fig. 3 right: without collisions accuracy is higher for every N, most for small N "
        "(1.5 % for N = 200 and k = 1,000).",
        ours=_each(words),
        agrees=all(gain.rises for _, gain in gains.values()) and means == sorted(means, reverse=True),
    )


def decay_without(summary: Summary) -> Finding:
    """Compare Fig. 3 right: the decay that remains without collisions."""
    words, falls = {}, []
    for n in summary.plan.true:
        k, _ = without_collisions(summary, mean, n)
        given, true = (_fall_to(summary, n, k, collisions=collisions) for collisions in (True, False))
        words[n] = f"from the best k to k = {k} {given.change} with collisions, {true.change} without"
        falls.append((given, true))
    return Finding(
        paper="Section 4: without collisions accuracy decays only slightly for very large k.",
        ours=_each(words),
        agrees=all(bool(true.values) and true.mean > given.mean for given, true in falls),
    )


def updates(summary: Summary) -> Finding:
    """Compare footnote 4: batches that cannot give k true negatives."""
    skipped = [
        f"N = {cell.classes}, k = {cell.negatives}, seed {cell.seed}: {scores.skipped} of "
        f"{scores.skipped + scores.steps}"
        for cell, scores in summary.skipped.items()
    ]
    return Finding(
        paper="Footnote 4: a batch in which an anchor has fewer than k true negatives makes no update; this "
        "never occurred.",
        ours=f"Batches without an update: {'; '.join(skipped)}." if skipped else "It never occurred here.",
        agrees=not skipped,
    )


def best_count(summary: Summary, pick: Pick, classes: int) -> int:
    """Return the best k for an N."""
    return summary.counts[optimum(summary.over_counts(pick, classes)).best]


def count_with_range(summary: Summary, pick: Pick, classes: int) -> str:
    """Return the best k for an N, with the range of the resamples if they differ."""
    counts = summary.counts
    found = optimum(summary.over_counts(pick, classes))
    best, first, last = (counts[place] for place in (found.best, found.first, found.last))
    return f"k = {best}" if first == last else f"k = {best} ({first} to {last})"


def without_collisions(summary: Summary, pick: Pick, classes: int) -> tuple[int, Interval]:
    """Return the largest k that was also measured without collisions, and the gain in accuracy there."""
    gain = _gain(summary, pick, classes)
    at = int(np.flatnonzero(np.isfinite(gain).all(axis=0))[-1])
    return summary.counts[at], Interval.of(gain[:, at].tolist())


def _gain(summary: Summary, pick: Pick, classes: int) -> Float[np.ndarray, "seeds counts"]:
    """Return the gain in accuracy without collisions; NaN where only one of the two was measured."""
    return summary.over_counts(pick, classes, collisions=False) - summary.over_counts(pick, classes)


def _fall_to(summary: Summary, classes: int, k: int, *, collisions: bool) -> Interval:
    """Return the change from the best k to this one, over the k up to it."""
    counts = summary.counts
    values = summary.over_counts(mean, classes, collisions=collisions)
    return rise_and_fall(values[:, : counts.index(k) + 1])[1]


def _growth(summary: Summary, pick: Pick) -> float:
    """Return the fraction of the resamples in which the best k grows with N."""
    if len(summary.plan.classes) < 2:
        return 0.0
    values = [summary.over_counts(pick, n) for n in summary.plan.classes]
    return growth(summary.plan.classes, values, summary.counts)


def _each(words: dict[int, str]) -> str:
    """Return words for every N as one sentence."""
    return "; ".join(f"N = {n}: {each}" for n, each in words.items()) + "."


def _row(numbers: Sequence[int]) -> str:
    return listed([f"{number:,}" for number in numbers])
