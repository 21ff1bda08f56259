"""What the numbers say, and what they do not, in a sentence or two."""

import math
from dataclasses import dataclass

from tammes.report.comparison import Comparison
from tammes.report.scores import Scores

CLEAR = 2.0
"""Standard errors by which two accuracies must differ before the page calls the difference clear."""

ONE_SEED = (
    "Every objective was trained once, from the same seed: how much another seed would change is not in "
    "these errors."
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The lead of the page.

    Args:
        lead: one sentence.
        beside: what must be known beside it: the floors, the one seed; may be empty.
    """

    lead: str
    beside: str


def standard_error(accuracy: float, test_size: int) -> float:
    """Standard error of an accuracy, sqrt(p (1 - p) / n), with p a little inward so that it is never zero.

    Args:
        accuracy: fraction of n test images.
        test_size: n.

    >>> round(standard_error(0.9, 400), 4)
    0.0151
    >>> standard_error(1.0, 400) > 0
    True
    """
    inward = (accuracy * test_size + 1) / (test_size + 2)
    return math.sqrt(inward * (1 - inward) / test_size)


def error_of_difference(first: float, second: float, test_size: int) -> float:
    """Standard error of the difference of two accuracies, as if their test images were different ones.

    They are the same ones, so the true error is smaller as a rule: this errs on the careful side.

    >>> round(error_of_difference(0.9, 0.8, 400), 3)
    0.025
    """
    return math.hypot(standard_error(first, test_size), standard_error(second, test_size))


def verdict(comparison: Comparison) -> Verdict:
    """Say which objective reads best and whether that means anything."""
    measure = _measure(comparison)
    if measure is None:
        return _without_accuracy(comparison)
    scores = {outcome.name: measure.of(outcome.scores) for outcome in comparison.outcomes}
    floors = _floors(comparison, measure, scores)
    if len(scores) == 1:
        ((name, score),) = scores.items()
        lead = f"{measure.words} of {name} gets {_reached(score, comparison.test_size)}."
        return Verdict(lead=_capital(lead), beside=floors)
    lead = _best(scores, measure.words, comparison.test_size)
    return Verdict(lead=_capital(lead), beside=f"{floors} {ONE_SEED}".strip())


def _best(scores: dict[str, float], words: str, size: int) -> str:
    """The sentence about the best of several objectives and those that cannot be told from it."""
    best, *others = sorted(scores, key=lambda name: -scores[name])
    second = others[0]
    behind = [name for name in others if _clear(scores[best], scores[name], size)]
    level = [name for name in others if name not in behind]
    ahead = f"{100 * (scores[best] - scores[second]):.1f} points more than for {second}"
    error = f"{100 * error_of_difference(scores[best], scores[second], size):.1f}"
    if not level:
        return (
            f"{best} is clearly best: {words} of it gets {_reached(scores[best], size)}, {ahead} "
            f"(standard error of the difference: {error})."
        )
    tail = f"; {_list(behind)} {_be(behind)} clearly behind." if behind else "."
    who = f"No clear difference between {_list([best, *level])}"
    if scores[best] == scores[second]:
        return f"{who}: for {best} as for {second}, {words} gets {_reached(scores[best], size)}{tail}"
    return (
        f"{who}: for {best}, {words} gets {_reached(scores[best], size)}, {ahead}, but the standard error "
        f"of that difference is {error}{tail}"
    )


def _reached(accuracy: float, size: int) -> str:
    return f"{percent(accuracy)} of {size} test images right"


def _capital(sentence: str) -> str:
    """The sentence with a capital first letter, unless it starts with a name."""
    return sentence[0].upper() + sentence[1:] if sentence.startswith(("a ", "the ")) else sentence


def percent(fraction: float) -> str:
    """A fraction in per cent with one decimal.

    >>> percent(0.9715)
    '97.2 %'
    """
    return f"{100 * fraction:.1f} %"


@dataclass(frozen=True, kw_only=True)
class _Measure:
    """The accuracy that the verdict goes by."""

    probe: bool

    @property
    def words(self) -> str:
        return "a linear probe" if self.probe else "the vote of nearest neighbors"

    def of(self, scores: Scores) -> float:
        value = scores.probe if self.probe else scores.knn
        assert value is not None  # _measure chose one that all objectives have
        return value


def _measure(comparison: Comparison) -> _Measure | None:
    """The linear probe if every objective has it, or else the vote if every one has that."""
    if all(outcome.scores.probe is not None for outcome in comparison.outcomes):
        return _Measure(probe=True)
    if all(outcome.scores.knn is not None for outcome in comparison.outcomes):
        return _Measure(probe=False)
    return None


def _clear(high: float, low: float, size: int) -> bool:
    return high - low > CLEAR * error_of_difference(high, low, size)


def _floors(comparison: Comparison, measure: _Measure, scores: dict[str, float]) -> str:
    """One sentence for each floor: which objectives are clearly above it."""
    sentences = []
    for floor in comparison.floors:
        value = floor.scores.probe if measure.probe else floor.scores.knn
        if value is None:
            continue
        above = [name for name, score in scores.items() if _clear(score, value, comparison.test_size)]
        what = f"clearly above the {floor.name} ({percent(value)})"
        if len(scores) == 1:
            sentences.append(f"That is {'' if above else 'not '}{what}.")
        elif len(above) == len(scores):
            sentences.append(f"{'Both' if len(scores) == 2 else 'All'} are {what}.")
        elif above:
            sentences.append(f"Only {_list(above)} {_be(above)} {what}.")
        else:
            sentences.append(f"None is {what}.")
    return " ".join(sentences)


def _without_accuracy(comparison: Comparison) -> Verdict:
    falls = [
        f"{outcome.name} from {outcome.loss.values[0]:.3g} to {outcome.loss.last:.3g}"
        for outcome in comparison.outcomes
    ]
    return Verdict(
        lead=f"The training loss went: {_list(falls)}. How good the features are, no number here can say.",
        beside="There are no labels to test with, so there is no accuracy, and losses of different "
        "objectives do not compare. What follows shows how the embeddings lie and what is taken for a "
        "negative.",
    )


def _list(names: list[str]) -> str:
    """Names in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"


def _be(names: list[str]) -> str:
    """The verb that goes with so many names."""
    return "is" if len(names) == 1 else "are"
