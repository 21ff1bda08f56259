"""What the numbers say, and what they do not, in a sentence or two."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tammes.report.comparison import Comparison, Outcome
from tammes.report.estimate import Estimate, estimate
from tammes.report.scores import Floor, Scores
from tammes.report.wording import listed, percent


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The lead of the page.

    Args:
        lead: one sentence, and a second where another accuracy says what the first does not.
        beside: what must be known beside it: the floors, the number of seeds; may be empty.
    """

    lead: str
    beside: str


def verdict(comparison: Comparison) -> Verdict:
    """Say which objective reads best and whether that means anything."""
    measure = _measure(comparison)
    if measure is None:
        return _without_accuracy(comparison)
    estimates = {outcome.name: measure.estimate(outcome, comparison) for outcome in comparison.outcomes}
    floors = _floors(comparison, measure, estimates)
    if len(estimates) == 1:
        ((name, accuracy),) = estimates.items()
        lead = f"{measure.words} of {name} gets {_reached(accuracy, comparison)}."
        return Verdict(lead=_capital(lead), beside=floors)
    lead = _capital(_best(estimates, measure.words, comparison))
    others = _other_columns(comparison, measure, estimates)
    return Verdict(lead=f"{lead} {others}".strip(), beside=f"{floors} {_seeds(comparison)}".strip())


def _best(estimates: Mapping[str, Estimate], words: str, comparison: Comparison) -> str:
    """The sentence about the best of several objectives and those that cannot be told from it."""
    best, *others = sorted(estimates, key=lambda name: -estimates[name].value)
    first, second = estimates[best], estimates[others[0]]
    behind = [name for name in others if first.clearly_above(estimates[name])]
    level = [name for name in others if name not in behind]
    ahead = f"{100 * (first.value - second.value):.1f} points more than for {others[0]}"
    error = f"{100 * first.error_of_difference(second):.1f}"
    if not level:
        return (
            f"{best} is clearly best: {words} of it gets {_reached(first, comparison)}, {ahead} "
            f"(standard error of the difference: {error})."
        )
    tail = f"; {listed(behind)} {_be(behind)} clearly behind." if behind else "."
    who = f"No clear difference between {listed([best, *level])}"
    if first.value == second.value:
        return f"{who}: for {best} as for {others[0]}, {words} gets {_reached(first, comparison)}{tail}"
    return (
        f"{who}: for {best}, {words} gets {_reached(first, comparison)}, {ahead}, but the standard error "
        f"of that difference is {error}{tail}"
    )


def _other_columns(comparison: Comparison, judge: "_Measure", judged: Mapping[str, Estimate]) -> str:
    """The sentence about clear differences that other accuracies show, and the one judged by does not."""
    found = []
    for measure in _MEASURES:
        if measure is judge or not measure.complete(comparison):
            continue
        estimates = {outcome.name: measure.estimate(outcome, comparison) for outcome in comparison.outcomes}
        best = max(estimates, key=lambda name: estimates[name].value)
        behind = [name for name in estimates if estimates[best].clearly_above(estimates[name])]
        if all(judged[best].clearly_above(judged[name]) for name in behind):
            continue
        below = listed([f"{name} ({percent(estimates[name].value)})" for name in behind])
        found.append(f"{measure.where}, {best} ({percent(estimates[best].value)}) is above {below}")
    return f"Clear elsewhere in the table: {'; '.join(found)}." if found else ""


def _reached(accuracy: Estimate, comparison: Comparison) -> str:
    return f"{percent(accuracy.value)} of {comparison.test_size} test {comparison.sample.data} right"


def _seeds(comparison: Comparison) -> str:
    """How many seeds there were, and whether their differences are in the errors."""
    counts = {max(1, len(outcome.seeds)) for outcome in comparison.outcomes}
    if counts == {1}:
        return (
            "Every objective was trained once, from the same seed: how much another seed would change is "
            "not in these errors."
        )
    fewest = f"{min(counts)} times" if len(counts) == 1 else f"{min(counts)} to {max(counts)} times"
    return f"Every objective was trained {fewest}, from different seeds; numbers are means over these."


def _capital(sentence: str) -> str:
    """The sentence with a capital first letter, unless it starts with a name."""
    return sentence[0].upper() + sentence[1:] if sentence.startswith(("a ", "the ")) else sentence


@dataclass(frozen=True, kw_only=True)
class _Measure:
    """The accuracy that the verdict goes by."""

    words: str
    where: str
    of: Callable[[Scores], float | None]

    def complete(self, comparison: Comparison) -> bool:
        """Whether every objective has this accuracy."""
        return all(self.of(outcome.scores) is not None for outcome in comparison.outcomes)

    def estimate(self, measured: Outcome | Floor, comparison: Comparison) -> Estimate:
        """This accuracy of an objective or a floor, which must have it."""
        value = self.of(measured.scores)
        assert value is not None  # chosen so
        seeds = [each for each in map(self.of, measured.seeds) if each is not None]
        return estimate(value, comparison.test_size, seeds)


_PROBE = _Measure(words="a linear probe", where="with all labels", of=lambda scores: scores.probe)
_VOTE = _Measure(
    words="the vote of nearest neighbors", where="by nearest neighbors", of=lambda scores: scores.knn
)
_MEANS = _Measure(words="the mean classifier", where="by class means", of=lambda scores: scores.means)
_LINEAR = _Measure(
    words="a linear classifier", where="by a linear classifier", of=lambda scores: scores.linear
)
_FEW = _Measure(
    words="a linear probe", where="with 10 % of the labels", of=lambda scores: scores.probe_10_percent
)
_FEWEST = _Measure(
    words="a linear probe", where="with 1 % of the labels", of=lambda scores: scores.probe_1_percent
)
_MEASURES = (_PROBE, _LINEAR, _VOTE, _MEANS, _FEW, _FEWEST)


def _measure(comparison: Comparison) -> _Measure | None:
    """What classifies linearly with all labels, if every objective has it, or else the vote."""
    return next((measure for measure in (_PROBE, _LINEAR, _VOTE) if measure.complete(comparison)), None)


def _floors(comparison: Comparison, measure: _Measure, estimates: Mapping[str, Estimate]) -> str:
    """Which objectives are clearly above which floors."""
    levels = {
        f"the {floor.name} ({percent(level.value)})": level
        for floor in comparison.floors
        if measure.of(floor.scores) is not None
        for level in [measure.estimate(floor, comparison)]
    }
    if len(estimates) == 1:
        (accuracy,) = estimates.values()
        above = [what for what, level in levels.items() if accuracy.clearly_above(level)]
        below = [what for what, level in levels.items() if level.clearly_above(accuracy)]
        level_with = [what for what in levels if what not in (*above, *below)]
        told = {"clearly above": above, "not clearly above": level_with, "clearly below": below}
        return " ".join(f"That is {where} {listed(which)}." for where, which in told.items() if which)
    sentences = []
    for what, level in levels.items():
        above = [name for name, accuracy in estimates.items() if accuracy.clearly_above(level)]
        if len(above) == len(estimates):
            who = "Both are" if len(estimates) == 2 else "All are"
        else:
            who = f"Only {listed(above)} {_be(above)}" if above else "None is"
        sentences.append(f"{who} clearly above {what}.")
    return " ".join(sentences)


def _without_accuracy(comparison: Comparison) -> Verdict:
    falls = [
        f"from {outcome.loss.values[0]:.3g} to {outcome.loss.last:.3g} for {outcome.name}"
        for outcome in comparison.outcomes
    ]
    compare = ", and losses of different objectives do not compare" if len(falls) > 1 else ""
    return Verdict(
        lead=f"The training loss went {listed(falls)}; how good the features are, that does not say.",
        beside=f"There are no test labels, so there is no accuracy{compare}. What follows shows how the "
        "embeddings lie and what is taken for a negative.",
    )


def _be(names: list[str]) -> str:
    """The verb that goes with so many names."""
    return "is" if len(names) == 1 else "are"
