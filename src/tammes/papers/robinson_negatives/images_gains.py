"""Where the gain of harder negatives over SimCLR turns: its statements, and its figure."""

from __future__ import annotations

from collections.abc import Sequence

from tammes.estimate import Estimate
from tammes.papers.figures import small_multiples
from tammes.papers.finding import Effect, Finding, effect_in_points
from tammes.papers.page import Figure, panel
from tammes.papers.robinson_negatives.images_arms import EPSILON, HCL, HCL_OT, SIMCLR
from tammes.papers.robinson_negatives.images_axes import (
    CLASSES,
    EPSILON_OF,
    KAPPA_OF,
    NEGATIVES,
    TEMPERATURE,
    WIDTH,
    Axis,
    axes_of,
)
from tammes.papers.robinson_negatives.images_scores import KNN, SEARCHED_NAME, ImageArms

IMPROVES = {
    HCL: "3.5.1, hard negatives improve on SimCLR",
    HCL_OT: "Tables II to IV, transported negatives improve on SimCLR",
}
EVERYWHERE = {
    (TEMPERATURE, HCL): "at every temperature (the thesis has 0.5)",
    (TEMPERATURE, HCL_OT): "at every temperature (the paper has that of the thesis)",
    (WIDTH, HCL): "at every width of ResNet-9 (the thesis has ResNet-50)",
    (WIDTH, HCL_OT): "at every width of ResNet-9 (the paper has ResNet-50)",
    (NEGATIVES, HCL_OT): "at every number of negatives",
    (EPSILON_OF, HCL_OT): "at every epsilon (the paper has the best of five)",
}
"""Where an objective improves on SimCLR, if the statement of the papers holds beside their setting."""
SMALLER_EPSILONS = (0.05, 0.1)


def gain_findings(arms: ImageArms) -> list[Finding]:
    """Return the statements on the gain along other settings; none that only other arms decide."""
    axes = {axis.name: axis for axis in axes_of(arms.runs[SIMCLR])}
    everywhere = [
        _everywhere(arms, axes[setting], name, words)
        for (setting, name), words in EVERYWHERE.items()
        if set(gains_along(arms, axes[setting], name)) - {axes[setting].usual}
    ]
    temperature, width, classes = (axes[setting] for setting in (TEMPERATURE, WIDTH, CLASSES))
    narrow, wide, many = width.values[0], width.values[-1], classes.values[-1]
    return [
        *everywhere,
        Finding(
            paper="A lower temperature is a harder coupling, too, and gains alone a part of what hard "
            "negatives gain: at a lower temperature the gain is smaller.",
            ours="Gain over SimCLR at temperature 1 over that at 0.1, in points:",
            effects=tuple(_grown(arms, temperature, name, 1.0, 0.1) for name in temperature.objectives),
            controls=_learned(arms, temperature, temperature.objectives, (0.1, 1.0)),
        ),
        Finding(
            paper="The papers measure ResNet-50 alone. If the size of the encoder makes their gain, it grows "
            "with the width.",
            ours=f"Gain over SimCLR at width {wide:g} over that at {narrow:g}, in points:",
            effects=tuple(_grown(arms, width, name, wide, narrow) for name in width.objectives),
            controls=_learned(arms, width, width.objectives, (narrow, wide)),
        ),
        *(
            Finding(
                paper="Tables II to IV, the gain of transported negatives is larger with more classes.",
                ours=f"Gain of {HCL_OT} over {SIMCLR} with all classes over that with {few:g} classes, in "
                "points:",
                effects=(_grown(arms, classes, HCL_OT, many, few),),
                controls=_learned(arms, classes, (HCL_OT,), (few, many)),
            )
            for few in classes.values[:-1]
        ),
        *_transport(arms, axes[EPSILON_OF], axes[KAPPA_OF]),
    ]


def _everywhere(arms: ImageArms, axis: Axis, name: str, words: str) -> Finding:
    """Return the statement that an objective improves on SimCLR at every value."""
    return Finding(
        paper=f"{IMPROVES[name]} {words}.",
        ours=f"Readout over SimCLR{' at the same value' if axis.of_simclr else ''}, in points; "
        f"{_turns(gains_along(arms, axis, name))}:",
        effects=tuple(
            arms.points(axis.words(value), axis.arm(name, value), axis.simclr(value)) for value in axis.values
        ),
        controls=_learned(arms, axis, (name,), axis.values),
    )


def _transport(arms: ImageArms, epsilon: Axis, kappa: Axis) -> list[Finding]:
    """Return the statements on epsilon and on both costs."""
    exponential = [kappa.arm(HCL_OT, value) for value in kappa.values]
    return [
        Finding(
            paper="Tables II and III: on CIFAR-10 and CIFAR-100, the best epsilon of debiased NCE is 0.7, "
            "the second largest of five.",
            ours=f"Epsilon {EPSILON:g} over smaller ones, in points; the published code has twice the cost, "
            "so that its 0.1, 0.2 and 0.7 are 0.05, 0.1 and 0.35 here:",
            effects=tuple(
                arms.points(f"over {value:g}", HCL_OT, epsilon.arm(HCL_OT, value))
                for value in SMALLER_EPSILONS
            ),
            controls=arms.learned(HCL_OT, *(epsilon.arm(HCL_OT, value) for value in SMALLER_EPSILONS)),
        ),
        Finding(
            paper="VII-C, Figure 1: the exponential cost is consistently better than the squared distance; "
            "here with debiasing and every kappa.",
            ours=f"Nearest neighbors, in points, at epsilon {EPSILON:g}; the weights depend on epsilon "
            "e^kappa alone:",
            effects=tuple(
                arms.points(f"kappa {value:g}", arm, HCL_OT, KNN)
                for value, arm in zip(kappa.values, exponential, strict=True)
            ),
            controls=arms.learned(HCL_OT, *exponential),
        ),
    ]


def gains_along(arms: ImageArms, axis: Axis, name: str) -> dict[float, Estimate]:
    """Return the gain of an objective over SimCLR at each measured value, in points.

    Args:
        arms: scores.
        axis: setting that varies.
        name: objective, one of those of the axis.
    """
    found = {value: arms.difference(axis.arm(name, value), axis.simclr(value)) for value in axis.values}
    return {value: in_points(gain) for value, gain in found.items() if gain is not None}


def in_points(difference: Estimate) -> Estimate:
    """Return a difference of accuracies in percentage points."""
    return Estimate.over_seeds([100 * value for value in difference.values])


def gains_figures(arms: ImageArms) -> list[Figure]:
    """Return the figure of the gain along every setting with several measured values; none without any."""
    panels = {}
    for axis in axes_of(arms.runs[SIMCLR]):
        along = {name: gains_along(arms, axis, name) for name in axis.objectives}
        series = {name: gains for name, gains in along.items() if len(gains) > 1}
        if series:
            panels[axis.name] = series
    if not panels:
        return []
    drawing = small_multiples(panels, up="readout over SimCLR, points")
    return [
        Figure(
            title=f"{arms.data}: where the gain turns",
            words="Linear readout over that of SimCLR, mean and 95 % interval over the seeds, in points. "
            "One setting varies in each panel, for SimCLR, too, where it has it; the others are those of the "
            f"tables.{_after_search(arms)}",
            panels=(panel(drawing, f"Gain over SimCLR along other settings on {arms.data}."),),
            wide=True,
        )
    ]


def _after_search(arms: ImageArms) -> str:
    """Return what the gains are after the equal search, in a sentence; empty before it is measured."""
    said = []
    for name in (HCL, HCL_OT):
        gain = arms.difference(SEARCHED_NAME.format(name), SEARCHED_NAME.format(SIMCLR))
        if gain is not None and gain.is_known:
            is_open = not (gain.above_zero or gain.below_zero)
            said.append(f"{name} gains {gain.points}{', and the interval includes zero' if is_open else ''}")
    return f" After the equal search, {'; '.join(said)}." if said else ""


def _turns(gains: dict[float, Estimate]) -> str:
    """Return at which values the gain lies above zero, at which below, and at which neither is resolved."""
    kinds = {
        "above zero at": [value for value, gain in gains.items() if gain.above_zero],
        "zero in the interval at": [
            value for value, gain in gains.items() if not gain.above_zero and not gain.below_zero
        ],
        "below zero at": [value for value, gain in gains.items() if gain.below_zero],
    }
    return ", ".join(f"{words} {_listed(values)}" for words, values in kinds.items() if values)


def _grown(arms: ImageArms, axis: Axis, name: str, more: float, less: float) -> Effect:
    """Return by how much the gain of an objective is larger at one value than at another."""
    four = [arms.scores(arm) for value in (more, less) for arm in (axis.arm(name, value), axis.simclr(value))]
    grown = arms.over_seeds(
        lambda seed: four[0][seed].probe - four[1][seed].probe - four[2][seed].probe + four[3][seed].probe,
        *four,
    )
    return effect_in_points(name, grown)


def _learned(
    arms: ImageArms, axis: Axis, names: Sequence[str], values: Sequence[float]
) -> tuple[Effect, ...]:
    """Return the gains over the untrained encoder at the same values, as controls; SimCLR's with them."""
    controls = {
        (axis.arm(name, value) if name != SIMCLR else axis.simclr(value)): axis.untrained(value)
        for value in values
        for name in (SIMCLR, *names)
    }
    return tuple(
        arms.points(f"{arm} over {untrained}, in points", arm, untrained)
        for arm, untrained in controls.items()
    )


def _listed(values: list[float]) -> str:
    """Return values in words.

    Example:
        >>> _listed([0.2, 0.5, 2046])
        '0.2, 0.5 and 2,046'
    """
    *before, last = (f"{value:,g}" for value in values)
    return f"{', '.join(before)} and {last}" if before else last
