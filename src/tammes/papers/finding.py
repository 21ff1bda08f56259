"""Statements of a paper beside our measurements, and the verdicts that follow from their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tammes.estimate import LEVEL, Estimate

BY_CHANCE = (1 - LEVEL) / 2
"""Probability that an interval lies above zero where the true difference is zero."""
YES, NO, ONE_SEED, NOTHING = "yes", "no", "one seed: no verdict", "–"
UNLEARNED, OPEN = "no verdict: not above the control", "not resolved"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Difference that a statement says is above zero.

    Args:
        name: where it was measured ("MUTAG, cliques"); empty for the only one of a finding.
        difference: its estimate over seeds; None if one of the two has not been measured yet.
        digits: number of decimals on the page.
        scale: factor on the page; 100 for percentage points.
        words: text on the page in place of the difference; empty for the difference.
    """

    name: str
    difference: Estimate | None
    digits: int = 3
    scale: float = 1.0
    words: str = ""

    @property
    def text(self) -> str:
        """The difference as it stands on the page, with its interval."""
        if self.difference is not None and not self.words:
            return self.difference.text(self.digits, scale=self.scale, signed=True)
        return self.words or "not measured yet"

    def __str__(self) -> str:
        return f"{self.name}: {self.text}" if self.name else self.text


def effect_in_points(name: str, difference: Estimate | None) -> Effect:
    """Return a difference of accuracies as an effect in percentage points.

    Example:
        >>> print(effect_in_points("digits", Estimate.over_seeds([0.02, 0.03, 0.04])))
        digits: +3.0 [+0.5, +5.5]
    """
    return Effect(name=name, difference=difference, digits=1, scale=100)


def within(name: str, ours: Estimate, target: float, tolerance: float, *, digits: int = 3) -> Effect:
    """Return the effect that is above zero if the whole interval lies within a tolerance of a number.

        tolerance - |ours - target|

    Args:
        name: name of our number.
        ours: our number.
        target: number that it should agree with.
        tolerance: largest distance that counts as agreement.
        digits: number of decimals on the page.

    Example:
        >>> print(within("ratio", Estimate.over_seeds([0.51, 0.52]), 0.5, 0.1))
        ratio: 0.515 [0.451, 0.579], within 0.1 of 0.5 expected
    """
    far, near = max(abs(ours.low - target), abs(ours.high - target)), 0.0
    if not ours.low <= target <= ours.high:
        near = min(abs(ours.low - target), abs(ours.high - target))
    side = 1 if ours.mean >= target else -1
    room = Estimate(
        mean=tolerance - abs(ours.mean - target),
        low=tolerance - far,
        high=tolerance - near if ours.is_known else math.inf,
        values=tuple(tolerance - side * (value - target) for value in ours.values),
    )
    words = f"{ours.text(digits)}, within {tolerance:.3g} of {target:.{digits}g} expected"
    return Effect(name=name, difference=room, words=words)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Statement of the paper beside our measurement, with a verdict that can be no.

    The verdict is yes if enough effects lie above zero with their whole 95 % interval, and every control
    does. It is no if too many lie below zero for the statement to hold. Otherwise nothing is
    decided, and the verdict says what would decide it.

    Args:
        paper: statement of the paper, with its number.
        ours: measurement, in words; the page lists the effects below it.
        effects: differences that the statement says are above zero; empty if it states nothing to compare.
        controls: differences from what needs no learning (the untrained network, the raw input, chance);
            where one is not above zero, the effects are not what training has learned.
        required: number of effects that the statement says are above zero; None for all.

    Raises:
        ValueError: effects without a control, or a required number above that of the effects.

    Example:
        >>> gain = Effect(name="digits", difference=Estimate.over_seeds([0.02, 0.03, 0.025]))
        >>> learned = Effect(name="learned", difference=Estimate.over_seeds([0.4, 0.5, 0.4]))
        >>> finding = Finding(paper="Harder is better.", ours="", effects=(gain,), controls=(learned,))
        >>> finding.verdict
        'yes'
    """

    paper: str
    ours: str = ""
    effects: tuple[Effect, ...] = ()
    controls: tuple[Effect, ...] = ()
    required: int | None = None

    def __post_init__(self) -> None:
        if self.effects and not self.controls:
            raise ValueError(
                f"the finding {self.paper!r} has no control: add the difference from the untrained network, "
                "the raw input or chance"
            )
        if self.required is not None and not 0 < self.required <= len(self.effects):
            raise ValueError(
                f"expected `required` to be from 1 to the {len(self.effects)} effects, got {self.required}"
            )

    @property
    def verdict(self) -> str:
        """Verdict on the statement; a dash if it states nothing to compare."""
        differences = [effect.difference for effect in (*self.effects, *self.controls)]
        if not self.effects:
            return NOTHING
        if any(difference is None for difference in differences):
            return "not measured yet"
        if any(difference is not None and not difference.is_known for difference in differences):
            return ONE_SEED
        if not all(map(_is_above, self.controls)):
            return UNLEARNED
        required = len(self.effects) if self.required is None else self.required
        if sum(map(_is_above, self.effects)) >= required:
            return YES
        if sum(map(_is_below, self.effects)) > len(self.effects) - required:
            return NO
        return f"{OPEN}: {_needed(self.effects)}"

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict is yes (true) or no (false); None if nothing was decided."""
        return {YES: True, NO: False}.get(self.verdict)

    @property
    def count(self) -> str:
        """How many of several effects are above zero, beside chance; empty for one effect or one seed."""
        measured = [effect.difference for effect in self.effects if effect.difference is not None]
        if len(self.effects) < 2 or not all(difference.is_known for difference in measured):
            return ""
        above, below = sum(map(_is_above, self.effects)), sum(map(_is_below, self.effects))
        by_chance = f"{BY_CHANCE * len(self.effects):.2g}"
        return f"Above zero in {above} of {len(self.effects)}, below in {below}; by chance {by_chance} each."


@dataclass(frozen=True, kw_only=True)
class Check:
    """Statement that holds by construction: a check of the implementation, not a finding.

    Args:
        paper: statement, with its number.
        ours: measurement, in numbers.
        passed: whether it held.
    """

    paper: str
    ours: str
    passed: bool
    effects: ClassVar[tuple[Effect, ...]] = ()
    controls: ClassVar[tuple[Effect, ...]] = ()
    count: ClassVar[str] = ""
    agrees: ClassVar[None] = None

    @property
    def verdict(self) -> str:
        """Whether the check passed."""
        return "check: passed" if self.passed else "check: failed"


def _is_above(effect: Effect) -> bool:
    return effect.difference is not None and effect.difference.above_zero


def _is_below(effect: Effect) -> bool:
    return effect.difference is not None and effect.difference.below_zero


def _needed(effects: Sequence[Effect]) -> str:
    """Return what would decide the effects whose intervals hold zero: a number of seeds, or more trials."""
    open_ones = [
        effect.difference
        for effect in effects
        if effect.difference is not None and not _is_above(effect) and not _is_below(effect)
    ]
    needed = [difference.seeds_needed for difference in open_ones]
    if not needed:
        return "some effects are above zero and some below"
    if not all(difference.values for difference in open_ones):
        return "more trials would be needed"
    known = [each for each in needed if each is not None]
    if len(known) < len(needed):
        return "more than 1,000 seeds would be needed at this size"
    return f"at this size about {max(known):,} seeds would be needed"
