"""Conclusions from the numbers, and their limits, in a sentence or two."""

import math
from collections.abc import Sequence

from tammes.estimate import LEVEL, Estimate
from tammes.report.comparison import Comparison, Outcome
from tammes.report.markup import listed, percent
from tammes.report.scores import JUDGES, OTHERS, Accuracy, Floor


def verdict(comparison: Comparison) -> tuple[str, str]:
    """Return which objective is best, if the seeds can tell, and a note.

    The first text is one sentence, and a second one if other accuracies show differences that the first does
    not. An objective is ahead of another where the 95 % interval of the difference, seed by seed, lies above
    zero; one seed has no verdict. The note compares with the floors and names the number of seeds.

    The judge is the linear probe or classifier with all labels if every objective has it, and otherwise the
    vote of nearest neighbors.
    """
    judge = next((each for each in JUDGES if is_complete(each, comparison)), None)
    if judge is None:
        return _without_accuracy(comparison)
    outcomes, seeds = comparison.outcomes, min(max(1, len(outcome.seeds)) for outcome in comparison.outcomes)
    if len(outcomes) == 1:
        lead = f"{judge.classifier} on {outcomes[0].name} {_reached(judge, outcomes[0], comparison)}."
        return _capital(lead), f"{_floors(judge, comparison)} {_on_seeds(seeds)}".strip()
    if seeds == 1:
        return _one_seed(judge, comparison), f"{_floors(judge, comparison)} {_on_seeds(seeds)}".strip()
    lead = f"{_best(judge, comparison)} {_other_columns(judge, comparison)}".strip()
    return lead, f"{_floors(judge, comparison)} {_on_seeds(seeds)} {_by_chance(comparison)}".strip()


def is_complete(accuracy: Accuracy, comparison: Comparison) -> bool:
    """Return whether every objective has this accuracy."""
    return all(accuracy.of(outcome.scores) is not None for outcome in comparison.outcomes)


def _means(accuracy: Accuracy, measured: Sequence[Outcome] | Sequence[Floor]) -> dict[str, float]:
    """Return the mean of this accuracy of each objective or floor that has it, the highest first."""
    means = {each.name: accuracy.of(each.scores) for each in measured}
    known = {name: mean for name, mean in means.items() if mean is not None}
    return dict(sorted(known.items(), key=lambda item: -item[1]))


def leads_of(accuracy: Accuracy, comparison: Comparison) -> tuple[Outcome, dict[str, Estimate]]:
    """Return the best objective, and its lead on each of the others, the closest first."""
    outcomes = {outcome.name: outcome for outcome in comparison.outcomes}
    best, *others = (outcomes[name] for name in _means(accuracy, comparison.outcomes))
    leads = {other.name: accuracy.difference(best, other, comparison.test_size) for other in others}
    return best, {name: lead for name, lead in leads.items() if lead is not None}


def _one_seed(judge: Accuracy, comparison: Comparison) -> str:
    means = _means(judge, comparison.outcomes)
    (best, high), *_, (worst, low) = means.items()
    where = f"of {comparison.test_size} test {comparison.sample.data} right"
    reached = (
        f"{percent(high)} {where} on each of them"
        if high == low
        else f"from {percent(low)} ({worst}) to {percent(high)} ({best}) {where}"
    )
    return f"One seed, so no verdict on which objective is best: {judge.classifier} gets {reached}."


def _best(judge: Accuracy, comparison: Comparison) -> str:
    """Return the sentence about the best of several objectives and those not resolved from it."""
    best, leads = leads_of(judge, comparison)
    behind = [name for name, lead in leads.items() if lead.above_zero]
    level = [name for name in leads if name not in behind]
    reached = _reached(judge, best, comparison)
    if not level:
        closest, lead = next(iter(leads.items()))
        return (
            f"{best.name} is best: {judge.classifier} on it {reached}, {lead.points} more than on {closest}."
        )
    tail = f"; {listed(behind)} {_be(behind)} behind." if behind else "."
    needed = leads[level[0]].seeds_needed
    seeds = "" if needed is None else f"; about {needed:,} seeds would resolve it"
    return (
        f"The difference between {listed([best.name, *level])} is not resolved: {judge.classifier} on "
        f"{best.name} {reached}, {leads[level[0]].points} more than on {level[0]}{seeds}{tail}"
    )


def _other_columns(judge: Accuracy, comparison: Comparison) -> str:
    """Return the sentence about differences in other accuracies that the judge does not show."""
    judged, judged_leads = leads_of(judge, comparison)
    found = []
    for accuracy in (*JUDGES, *OTHERS):
        if accuracy is judge or not is_complete(accuracy, comparison):
            continue
        best, leads = leads_of(accuracy, comparison)
        behind = [name for name, lead in leads.items() if lead.above_zero]
        shown = [name for name, lead in judged_leads.items() if lead.above_zero and judged is best]
        if all(name in shown for name in behind):
            continue
        means = _means(accuracy, comparison.outcomes)
        below = listed([f"{name} ({percent(means[name])})" for name in behind])
        found.append(f"{accuracy.where}, {best.name} ({percent(means[best.name])}) is above {below}")
    return f"Differences in other columns: {'; '.join(found)}." if found else ""


def _reached(accuracy: Accuracy, outcome: Outcome, comparison: Comparison) -> str:
    estimate = accuracy.estimate(outcome, comparison.test_size)
    assert estimate is not None
    return f"gets {estimate.percent} % of {comparison.test_size} test {comparison.sample.data} right"


def _on_seeds(seeds: int) -> str:
    """Return the sentence about the number of seeds, and what the intervals hold."""
    if seeds == 1:
        return (
            "Trained once: intervals are those of the test set (Wilson) and leave out the variation from "
            "seed to seed."
        )
    return f"Trained {seeds} times, with different seeds: means with 95 % intervals over the seeds (Student)."


def _by_chance(comparison: Comparison) -> str:
    """Return how many comparisons of two objectives would be resolved by chance.

    The best is chosen by the same numbers, so that any pair may come to be compared, in either direction.
    """
    columns = sum(is_complete(accuracy, comparison) for accuracy in (*JUDGES, *OTHERS))
    pairs = columns * math.comb(len(comparison.outcomes), 2)
    chance = f"{(1 - LEVEL) * pairs:.2g}"
    return f"Of the comparisons of two objectives ({pairs} in all), {chance} would be resolved by chance."


def _capital(sentence: str) -> str:
    """Return the sentence with a capital first letter, unless it starts with a name."""
    return sentence[0].upper() + sentence[1:] if sentence.startswith(("a ", "the ")) else sentence


def _floors(judge: Accuracy, comparison: Comparison) -> str:
    """Return which objectives are above which floors; with one seed, the floors alone."""
    sentences = []
    for floor in comparison.floors:
        level = judge.estimate(floor, comparison.test_size)
        if level is None:
            continue
        leads = {
            outcome.name: judge.difference(outcome, floor, comparison.test_size)
            for outcome in comparison.outcomes
        }
        known = {name: lead for name, lead in leads.items() if lead is not None and lead.is_known}
        if len(known) < len(leads):
            sentences.append(f"The {floor.name}: {level.percent} %.")
            continue
        above = [name for name, lead in known.items() if lead.above_zero]
        where = f"the {floor.name} ({percent(level.mean)})"
        if len(above) == len(known):
            who = {1: "It is", 2: "Both are"}.get(len(above), "All are")
            sentences.append(f"{who} above {where}.")
        else:
            who = f"Only {listed(above)} {_be(above)}" if above else "None is"
            sentences.append(f"{who} above {where} beyond the intervals.")
    return " ".join(sentences)


def _without_accuracy(comparison: Comparison) -> tuple[str, str]:
    outcomes = comparison.outcomes
    went = "went" if len(outcomes[0].loss.values) > 1 else "was"
    losses = [
        f"from {outcome.loss.values[0]:.3g} to {outcome.loss.last:.3g} for {outcome.name}"
        if went == "went"
        else f"{outcome.loss.last:.3g} for {outcome.name}"
        for outcome in outcomes
    ]
    compare = ", and losses of different objectives cannot be compared" if len(losses) > 1 else ""
    return (
        f"The training loss {went} {listed(losses)}, which does not tell how good the features are.",
        f"There are no test labels, so there is no accuracy{compare}. The figures below show the geometry of "
        "the embeddings and the hardest negatives.",
    )


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
