"""Settings along which the gain over SimCLR is measured, and the arms at their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tammes.papers.robinson_negatives.images_arms import (
    EPSILON,
    EXPONENTIAL_HCL_OT,
    HCL,
    HCL_OT,
    KAPPAS,
    RESNET_9,
    SIMCLR,
    UNTRAINED,
    USUAL,
    WIDTHS,
    ImageRun,
    fewer_classes,
    further_arms,
    other_batches,
    untrained,
    usual_arms,
)

TEMPERATURE, WIDTH, CLASSES, NEGATIVES = "temperature", "width of ResNet-9", "classes", "negatives"
EPSILON_OF, KAPPA_OF = "epsilon", "kappa of the exponential cost"
"""Names of the settings."""
TEMPERATURES = (0.1, 0.2, USUAL, 1.0)
EPSILONS = (0.05, 0.1, EPSILON, 0.7)


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Setting along which the gain over SimCLR is measured.

    Args:
        name: name of the setting.
        pattern: name of an arm, of its objective and its value ("{}, width {:g}").
        values: values, ascending.
        usual: value of the arms that have the name of their objective alone; None if there are none.
        change: function from the usual run of an objective and a value to the run at this value.
        objectives: objectives that stand beside SimCLR.
        of_simclr: whether SimCLR has the setting, too; else its usual arm is the one to compare with.
        of_encoder: whether the untrained encoder depends on the setting.
    """

    name: str
    pattern: str
    values: Sequence[float]
    usual: float | None
    change: Callable[[ImageRun, Any], ImageRun]
    objectives: tuple[str, ...] = (HCL, HCL_OT)
    of_simclr: bool = True
    of_encoder: bool = False

    def arm(self, objective: str, value: float) -> str:
        """Return the name of an arm."""
        return objective if value == self.usual else self.pattern.format(objective, value)

    def words(self, value: float) -> str:
        """Return the value with the name of the setting, as the arms have it ("width 8")."""
        return self.pattern.format("", value).removeprefix(", ")

    def simclr(self, value: float) -> str:
        """Return the arm of SimCLR that those at a value are compared with."""
        return self.arm(SIMCLR, value) if self.of_simclr else SIMCLR

    def untrained(self, value: float) -> str:
        """Return the arm of the untrained encoder, the control of those at a value."""
        return self.arm(UNTRAINED, value) if self.of_encoder else UNTRAINED

    @property
    def measured(self) -> tuple[str, ...]:
        """Objectives that have an arm at each value."""
        return ((UNTRAINED,) * self.of_encoder) + ((SIMCLR,) * self.of_simclr) + self.objectives


def axes_of(base: ImageRun) -> tuple[Axis, ...]:
    """Return the settings along which the gain is measured.

    Args:
        base: run with the usual settings.
    """
    widths = {RESNET_9.format(width): width for width in WIDTHS}
    return (
        Axis(
            name=TEMPERATURE,
            pattern="{}, temperature {:g}",
            values=TEMPERATURES,
            usual=base.temperature,
            change=lambda run, value: replace(run, temperature=value),
        ),
        Axis(
            name=WIDTH,
            pattern="{}, width {:g}",
            values=WIDTHS,
            usual=widths.get(base.encoder),
            change=lambda run, value: replace(run, encoder=RESNET_9.format(value)),
            of_encoder=True,
        ),
        Axis(
            name=CLASSES,
            pattern="{}, {:g} classes",
            values=(*fewer_classes(base), base.classes),
            usual=base.classes,
            change=ImageRun.among,
            of_encoder=True,  # the untrained one is measured on the images of these classes
        ),
        Axis(
            name=NEGATIVES,
            pattern="{}, {:,} negatives",
            values=sorted(2 * (size - 1) for size in (*other_batches(base), base.batch_size)),
            usual=2 * (base.batch_size - 1),
            change=lambda run, value: replace(run, batch_size=value // 2 + 1),
        ),
        Axis(
            name=EPSILON_OF,
            pattern="{}, epsilon {:g}",
            values=EPSILONS,
            usual=EPSILON,
            change=lambda run, value: replace(run, hardness=value),
            objectives=(HCL_OT,),
            of_simclr=False,
        ),
        Axis(
            name=KAPPA_OF,
            pattern="{}, exponential cost, kappa {:g}",
            values=KAPPAS,
            usual=None,
            change=lambda run, value: replace(run, objective=EXPONENTIAL_HCL_OT.format(value)),
            objectives=(HCL_OT,),
            of_simclr=False,
        ),
    )


def varied_arms(base: ImageRun) -> dict[str, ImageRun]:
    """Return the arms along all settings that are not among those of the trends.

    Args:
        base: run with the usual settings.
    """
    usual = {UNTRAINED: untrained(base), **usual_arms(base)}
    known = further_arms(base)
    return {
        axis.arm(name, value): axis.change(usual[name], value)
        for axis in axes_of(base)
        for value in axis.values
        if value != axis.usual
        for name in axis.measured
        if axis.arm(name, value) not in known
    }
