"""Conditions on measures, such as `rankme < 50 or hubs > 0`: parsed, never evaluated as code."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tammes.checks import nearest
from tammes.diagnosis.measure import NEEDS, Measure

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*(?:\.\w+)?)|(?P<sign><=|>=|==|!=|<|>|\(|\)))"
)
_PARTS = ("value", "low", "high")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One comparison of a measure with a number.

    Args:
        name: name of the measure.
        part: `value`, `low` or `high`.
        sign: sign of the comparison.
        number: number on its right.
    """

    name: str
    part: str
    sign: str
    number: float

    @property
    def text(self) -> str:
        """The comparison as it is written."""
        return f"{self.name}{'' if self.part == 'value' else f'.{self.part}'} {self.sign} {self.number:g}"


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Comparisons of measures with numbers, joined by `and` and `or`.

        condition   =  conjunction { or conjunction } ,      conjunction  =  comparison { and comparison }
        comparison  =  name[.low|.high] sign number  |  ( condition ) ,    sign  =  < <= > >= == !=

    Args:
        text: the condition as it was written.
        alternatives: conjunctions of which one must hold.

    Example:
        >>> condition = Condition.of("rankme < 50 and (hubs > 0 or faults > 1)")
        >>> condition.holds({"rankme": Measure(value=9.0), "hubs": Measure(value=0.1),
        ...                  "faults": Measure(value=1.0)})
        True
    """

    text: str
    alternatives: tuple[tuple[Comparison, ...], ...]

    @staticmethod
    def of(text: str) -> Condition:
        """Return the condition that a text states.

        Raises:
            ValueError: the text is no condition, or names no measure.
        """
        return Condition(text=text, alternatives=_Parser(text).parsed())

    @property
    def names(self) -> tuple[str, ...]:
        """Measures that the condition names."""
        return tuple(dict.fromkeys(each.name for part in self.alternatives for each in part))

    def holds(self, measures: Mapping[str, Measure]) -> bool:
        """Return whether the condition holds.

        Args:
            measures: measures by their names.

        Raises:
            ValueError: a measure that the condition names has no value.
        """
        for name in self.names:
            if measures[name].value is None:
                needs = f": it needs {NEEDS[name]}" if NEEDS[name] else f": {measures[name].verdict}"
                raise ValueError(f"{name} of the condition {self.text!r} was not measured{needs}")
        return any(all(_holds(each, measures) for each in part) for part in self.alternatives)


def _holds(comparison: Comparison, measures: Mapping[str, Measure]) -> bool:
    number = getattr(measures[comparison.name], comparison.part)
    if number is None:
        raise ValueError(f"{comparison.name} has no {comparison.part}: it has no interval here")
    return _OPERATORS[comparison.sign](number, comparison.number)


class _Parser:
    """Parser by recursive descent; brackets are multiplied out."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.place = 0

    def parsed(self) -> tuple[tuple[Comparison, ...], ...]:
        found = self._either()
        if self.place < len(self.tokens):
            raise self._error(f"the end instead of {self.tokens[self.place]}")
        return found

    def _either(self) -> tuple[tuple[Comparison, ...], ...]:
        found = self._both()
        while self._take("or"):
            found += self._both()
        return found

    def _both(self) -> tuple[tuple[Comparison, ...], ...]:
        found = self._one()
        while self._take("and"):
            found = tuple(a + b for b in self._one() for a in found)
        return found

    def _one(self) -> tuple[tuple[Comparison, ...], ...]:
        if self._take("("):
            found = self._either()
            if not self._take(")"):
                raise self._error("a closing bracket")
            return found
        name, _, part = self._next("the name of a measure").partition(".")
        _check_name(name, NEEDS)
        part = part or "value"
        if part not in _PARTS:
            raise ValueError(f"expected {name}, {name}.low or {name}.high, got {name}.{part}")
        sign = self._next("one of < <= > >= == !=")
        if sign not in _OPERATORS:
            raise self._error(f"one of < <= > >= == != after {name}")
        number = self._next("a number")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if math.isnan(value):  # nothing is less or more than NaN: the condition would never hold
            raise self._error(f"a number after {name} {sign}")
        return ((Comparison(name=name, part=part, sign=sign, number=value),),)

    def _take(self, token: str) -> bool:
        if self.place < len(self.tokens) and self.tokens[self.place] == token:
            self.place += 1
            return True
        return False

    def _next(self, expected: str) -> str:
        if self.place == len(self.tokens):
            raise self._error(expected)
        self.place += 1
        return self.tokens[self.place - 1]

    def _error(self, expected: str) -> ValueError:
        return ValueError(
            f"expected {expected} in the condition {self.text!r}, as in 'rankme < 50 or hubs > 0'"
        )


def _tokens(text: str) -> Iterable[str]:
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            raise ValueError(
                f"expected comparisons of measures with numbers, got {text!r}: write 'rankme < 50'"
            )
        yield found[0].strip()
        place = found.end()


def _check_name(name: str, known: Iterable[str]) -> None:
    names = list(known)
    if name in names:
        return
    meant = nearest(name, names)
    question = f": did you mean {meant}? There is" if meant else "; there is"
    raise ValueError(f"there is no measure {name}{question} {', '.join(names)}")
