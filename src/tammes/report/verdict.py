"""Conclusions from the numbers, and their limits, in a sentence or two."""

from collections.abc import Mapping, Sequence

from tammes.report.comparison import Comparison, Outcome
from tammes.report.markup import listed, percent
from tammes.report.scores import JUDGES, OTHERS, Accuracy, Estimate, Floor


def verdict(comparison: Comparison) -> tuple[str, str]:
    """Return which objective is best, whether the difference exceeds its error, and a note.

    The first text is one sentence, and a second one if other accuracies show differences that the first does
    not. The note compares with the floors and names the number of seeds; it may be empty.

    The judge is the linear probe or classifier with all labels if every objective has it, and otherwise the
    vote of nearest neighbors.
    """
    judge = next((each for each in JUDGES if _is_complete(each, comparison)), None)
    if judge is None:
        return _without_accuracy(comparison)
    estimates = _estimates(judge, comparison.outcomes, comparison.test_size)
    floors = _floors(_estimates(judge, comparison.floors, comparison.test_size), estimates)
    if len(estimates) == 1:
        ((name, accuracy),) = estimates.items()
        lead = f"{judge.classifier} on {name} {_reached(accuracy, comparison)}."
        return _capital(lead), floors
    lead = _capital(_best(estimates, judge.classifier, comparison))
    others = _other_columns(comparison, judge, estimates)
    return f"{lead} {others}".strip(), f"{floors} {_seeds(comparison)}".strip()


def _is_complete(accuracy: Accuracy, comparison: Comparison) -> bool:
    """Return whether every objective has this accuracy."""
    return all(accuracy.of(outcome.scores) is not None for outcome in comparison.outcomes)


def _estimates(
    accuracy: Accuracy, measured: Sequence[Outcome] | Sequence[Floor], test_size: int
) -> dict[str, Estimate]:
    """Return this accuracy of each objective or floor that has it, by name."""
    found = {each.name: accuracy.estimate(each.scores, each.seeds, test_size) for each in measured}
    return {name: estimate for name, estimate in found.items() if estimate is not None}


def _best(estimates: Mapping[str, Estimate], classifier: str, comparison: Comparison) -> str:
    """Return the sentence about the best of several objectives and those not clearly behind it."""
    best, *others = sorted(estimates, key=lambda name: -estimates[name].value)
    first, second = estimates[best], estimates[others[0]]
    behind = [name for name in others if first.clearly_above(estimates[name])]
    level = [name for name in others if name not in behind]
    ahead = f"{100 * (first.value - second.value):.1f} points more than on {others[0]}"
    error = f"{100 * first.error_of_difference(second):.1f}"
    if not level:
        return (
            f"{best} is clearly best: {classifier} on it {_reached(first, comparison)}, {ahead} "
            f"(standard error of the difference: {error})."
        )
    tail = f"; {listed(behind)} {_be(behind)} clearly behind." if behind else "."
    who = f"No clear difference between {listed([best, *level])}"
    if first.value == second.value:
        return f"{who}: {classifier} {_reached(first, comparison)} on {best} and on {others[0]}{tail}"
    return (
        f"{who}: {classifier} on {best} {_reached(first, comparison)}, {ahead}, but the standard error "
        f"of that difference is {error}{tail}"
    )


def _other_columns(comparison: Comparison, judge: Accuracy, judged: Mapping[str, Estimate]) -> str:
    """Return the sentence about clear differences in other accuracies that the judge does not show."""
    found = []
    for accuracy in (*JUDGES, *OTHERS):
        if accuracy is judge or not _is_complete(accuracy, comparison):
            continue
        estimates = _estimates(accuracy, comparison.outcomes, comparison.test_size)
        best = max(estimates, key=lambda name: estimates[name].value)
        behind = [name for name in estimates if estimates[best].clearly_above(estimates[name])]
        if all(judged[best].clearly_above(judged[name]) for name in behind):
            continue
        below = listed([f"{name} ({percent(estimates[name].value)})" for name in behind])
        found.append(f"{accuracy.where}, {best} ({percent(estimates[best].value)}) is above {below}")
    return f"Clear differences in other columns: {'; '.join(found)}." if found else ""


def _reached(accuracy: Estimate, comparison: Comparison) -> str:
    return f"gets {percent(accuracy.value)} of {comparison.test_size} test {comparison.sample.data} right"


def _seeds(comparison: Comparison) -> str:
    """Return the sentence about the number of seeds, and whether the errors include their variation."""
    counts = {max(1, len(outcome.seeds)) for outcome in comparison.outcomes}
    if counts == {1}:
        return (
            "Every objective was trained once, with the same seed: the errors do not include the variation "
            "from seed to seed."
        )
    fewest = f"{min(counts)} times" if len(counts) == 1 else f"{min(counts)} to {max(counts)} times"
    return f"Every objective was trained {fewest}, with different seeds; numbers are means over the seeds."


def _capital(sentence: str) -> str:
    """Return the sentence with a capital first letter, unless it starts with a name."""
    return sentence[0].upper() + sentence[1:] if sentence.startswith(("a ", "the ")) else sentence


def _floors(floors: Mapping[str, Estimate], estimates: Mapping[str, Estimate]) -> str:
    """Return which objectives are clearly above which floors."""
    levels = {f"the {name} ({percent(level.value)})": level for name, level in floors.items()}
    if len(estimates) == 1:
        (accuracy,) = estimates.values()
        above = [what for what, level in levels.items() if accuracy.clearly_above(level)]
        below = [what for what, level in levels.items() if level.clearly_above(accuracy)]
        near = [what for what in levels if what not in (*above, *below)]
        groups = {"clearly above": above, "not clearly above": near, "clearly below": below}
        return " ".join(f"That is {where} {listed(which)}." for where, which in groups.items() if which)
    sentences = []
    for what, level in levels.items():
        above = [name for name, accuracy in estimates.items() if accuracy.clearly_above(level)]
        if len(above) == len(estimates):
            who = "Both are" if len(estimates) == 2 else "All are"
        else:
            who = f"Only {listed(above)} {_be(above)}" if above else "None is"
        sentences.append(f"{who} clearly above {what}.")
    return " ".join(sentences)


def _without_accuracy(comparison: Comparison) -> tuple[str, str]:
    losses = [
        f"from {outcome.loss.values[0]:.3g} to {outcome.loss.last:.3g} for {outcome.name}"
        for outcome in comparison.outcomes
    ]
    compare = ", and losses of different objectives cannot be compared" if len(losses) > 1 else ""
    return (
        f"The training loss went {listed(losses)}, which does not tell how good the features are.",
        f"There are no test labels, so there is no accuracy{compare}. The figures below show the geometry of "
        "the embeddings and the hardest negatives.",
    )


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
