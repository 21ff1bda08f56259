"""What Ash et al. (2022) state of their vision experiments, beside our numbers."""

from collections.abc import Callable, Sequence

from tammes.papers.ash.vision_training import VisionScore
from tammes.papers.ash.vision_trends import Arm
from tammes.papers.page import Finding
from tammes.papers.statistics import Interval
from tammes.report.markup import percent

ALIKE = 0.02
"""Accuracies that differ by less than this, two points, count as roughly equivalent."""

WORSE = 0.05
"""Five points: what we take for significantly worse."""


def linear(measured: VisionScore) -> float:
    """Of the trained linear classifier, all batch sizes after equal epochs, as in Fig. 4."""
    return measured.linear


def mean(measured: VisionScore) -> float:
    """Of the mean classifier, all batch sizes after equal epochs, as in Fig. 8."""
    return measured.mean


def linear_early(measured: VisionScore) -> float:
    """Of the trained linear classifier, all batch sizes after equally many steps."""
    return measured.linear_early


def mean_early(measured: VisionScore) -> float:
    """Of the mean classifier, all batch sizes after equally many steps."""
    return measured.mean_early


def findings(arms: Sequence[Arm]) -> tuple[Finding, ...]:
    """The statements that can be tried on these sets; a trend agrees if it is that of every seed."""
    found: list[Finding] = []
    for real, augmented in _by_set(arms):
        found += _augmented(augmented)
        if real.data == "CIFAR-10":
            found += [*_photographs(real), _gap(real, augmented)]
        else:
            found += [_digits(real), _mean_classifier(augmented)]
        found.append(_counts_alone(real))
    return tuple(found)


def _by_set(arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    """Real and augmented positives of each set."""
    real = {arm.data: arm for arm in arms if arm.positives == "real"}
    return [(real[arm.data], arm) for arm in arms if arm.positives == "augmented"]


def _augmented(arm: Arm) -> list[Finding]:
    paper = "Sec. 4: with augmentation, accuracy tends to improve with increasing batch size."
    return [
        *_batch_sizes(arm, paper, agrees=lambda change: change.rises),
        Finding(
            paper="Sec. 4: with augmentation, accuracy tends to improve with increasing k.",
            ours=_counts_in_words(arm),
            agrees=arm.by_count(linear).rises,
        ),
    ]


def _photographs(arm: Arm) -> list[Finding]:
    paper = "Sec. 4: with real positives on CIFAR-10, accuracy tends to increase as batch size decreases."
    return _batch_sizes(arm, paper, agrees=lambda change: change.falls)


def _batch_sizes(arm: Arm, paper: str, *, agrees: Callable[[Interval], bool]) -> list[Finding]:
    """A statement on batch sizes, after equal epochs as in the paper, and after equally many steps."""
    ends = f"{arm.name}, B from {arm.batch_sizes[0]} to {arm.batch_sizes[-1]} at equal k"
    epochs, steps = arm.by_batch_size(linear), arm.by_batch_size(linear_early)
    by_means, by_means_early = arm.by_batch_size(mean), arm.by_batch_size(mean_early)
    comparable = len(arm.batch_sizes) > 1
    return [
        Finding(
            paper=paper,
            ours=f"{ends}: {epochs.change} (mean classifier {by_means.change}).",
            agrees=agrees(epochs) if comparable else None,
        ),
        Finding(
            paper="(The same, where all batch sizes take equally many steps. Not in the paper.)",
            ours=f"{ends}: {steps.change} (mean classifier {by_means_early.change}).",
            agrees=agrees(steps) if comparable else None,
        ),
    ]


def _gap(real: Arm, augmented: Arm) -> Finding:
    best, other = real.best(linear)[2], augmented.best(linear)[2]
    return Finding(
        paper="Sec. 4: on CIFAR-10, accuracy without augmentation is poor in comparison with augmentation.",
        ours=f"Best {percent(best)} with real positives, {percent(other)} with augmented ones.",
        agrees=other - best > ALIKE,
    )


def _digits(arm: Arm) -> Finding:
    stand_in = "" if arm.data == "SVHN" else f" ({arm.data} stands in.)"
    return Finding(
        paper="Sec. 4: with real positives on SVHN, nearly all combinations of k and batch size give "
        f"roughly equivalent representations.{stand_in}",
        ours=f"{arm.name}, from the worst cell to the best: {100 * arm.spread(linear):.1f} points; after "
        f"equally many steps {100 * arm.spread(linear_early):.1f}. Best {percent(arm.best(linear)[2])}.",
        agrees=arm.spread(linear) < ALIKE,
    )


def _mean_classifier(arm: Arm) -> Finding:
    trained, means = arm.best(linear)[2], arm.best(mean)[2]
    stand_in = "" if arm.data == "SVHN" else f" ({arm.data} stands in.)"
    return Finding(
        paper="Appendix D.2: with augmentation on SVHN, the mean classifier is significantly worse than the "
        f"trained one.{stand_in}",
        ours=f"{arm.name}: best {percent(means)} against {percent(trained)}.",
        agrees=trained - means > WORSE,
    )


def _counts_alone(arm: Arm) -> Finding:
    return Finding(paper="(No statement of its own: k with real positives.)", ours=_counts_in_words(arm))


def _counts_in_words(arm: Arm) -> str:
    """How accuracy changes from one negative to all, and from a few to all."""
    few = arm.counts(arm.batch_sizes[0])[1]
    return (
        f"{arm.name}, k from 1 to all of the batch: {arm.by_count(linear).change} (mean classifier "
        f"{arm.by_count(mean).change}); from {few} to all: {arm.by_count(linear, since=few).change}."
    )
