"""Rivals of feature modification, and its other forms, beside it: at equal epochs and in equal time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from tammes.papers.finding import Effect, Finding
from tammes.papers.robinson_features.methods import (
    ACL,
    ADCO,
    BEFORE,
    IFM,
    IN_TIME,
    MOCHI,
    MOCO,
    MOCO_IFM,
    MOCO_TEMPERATURE,
    MOCO_WORST,
    RENORMALIZED,
    SIMCLR,
    USUAL,
    WORST,
    FeatureRun,
    arm_of,
)
from tammes.papers.robinson_features.results import ArmScores

EPSILONS = (0.05, 0.1, 0.2)
EPSILON = 0.1
"""Radius of the other forms of feature modification."""
BETTER = 0.01
"""Another form counts as better than the default if its readout is a point higher."""
MOCHI_COST, ACL_COST = 1.25, 5.5
"""Processor time of a step over that of its host, by benchmarks/features.py at the size of budget 0.1."""
PROBE = attrgetter("probe")
TEMPERATURES = {SIMCLR: USUAL, IFM: USUAL, MOCO: MOCO_TEMPERATURE, MOCO_IFM: MOCO_TEMPERATURE}


@dataclass(frozen=True, kw_only=True)
class Rival:
    """Another method that makes the task harder, with three values of one of its settings.

    Args:
        names: names of the method with each value, in equal time.
        modified: feature modification on the same host.
        paper: statement about both.
    """

    names: Sequence[str]
    modified: str
    paper: str


RIVALS = (
    Rival(
        names=ADCO,
        modified=MOCO_IFM,
        paper="Table 4.1 (on ImageNet100, IFM 80.7 to 81.1 %, AdCo 78.9 %): IFM-MoCo is better than AdCo",
    ),
    Rival(
        names=[name + IN_TIME for name in MOCHI],
        modified=MOCO_IFM,
        paper="(Ours:) IFM-MoCo is better than MoCHi",
    ),
    Rival(
        names=[name + IN_TIME for name in ACL],
        modified=IFM,
        paper="Figure 4-5 (at equal epochs): IFM has better standard accuracy than ACL(DS)",
    ),
)


def rivals(plain: FeatureRun, queued: FeatureRun) -> list[FeatureRun]:
    """Return the runs of the rivals in equal time, and those at equal epochs where these differ.

    AdCo takes the time of its host. A slower rival has as many epochs as its host has time for, with each
    value of its setting, and all of its host's epochs with the published value.

    Args:
        plain: run of SimCLR.
        queued: run of MoCo.
    """
    return [
        *(replace(queued, method=name) for name in ADCO),
        *_slower(queued, MOCHI, MOCHI_COST),
        *_slower(plain, ACL, ACL_COST),
    ]


def _slower(host: FeatureRun, names: Sequence[str], cost: float) -> list[FeatureRun]:
    epochs = max(1, round(host.epochs / cost)) if host.epochs else 0
    return [
        replace(host, method=names[0]),
        *(replace(host, method=name + IN_TIME, epochs=epochs) for name in names),
    ]


def other_forms(plain: FeatureRun, queued: FeatureRun) -> list[FeatureRun]:
    """Return the runs of L_epsilon alone (Figure 4-7) and of unit length after the move (Table B.1)."""
    moved = replace(queued, epsilon=EPSILON)
    return [
        replace(plain, method=WORST, epsilon=EPSILON),
        *(replace(moved, method=name) for name in (MOCO_WORST, RENORMALIZED, BEFORE)),
    ]


def modified_arm(method: str, epsilon: float) -> str:
    """Return the arm of feature modification on its host."""
    return arm_of(method, temperature=TEMPERATURES[method], epsilon=epsilon)


def beside_rivals(scores: ArmScores[Any]) -> tuple[Finding, ...]:
    """Return what feature modification has over its rivals in equal time.

    No value is chosen for anyone: a statement must hold for each epsilon over each value of the rival.
    """
    return tuple(
        Finding(
            paper=f"{rival.paper}. Here in equal time on {scores.data}, at each epsilon, over each setting.",
            ours="IFM over the rival in points:",
            effects=tuple(
                scores.points(
                    f"epsilon {epsilon:g} over {name}",
                    modified_arm(rival.modified, epsilon),
                    arm_of(name, temperature=TEMPERATURES[rival.modified]),
                    PROBE,
                )
                for name in rival.names
                for epsilon in EPSILONS
            ),
            controls=scores.learned(PROBE, *(modified_arm(rival.modified, epsilon) for epsilon in EPSILONS)),
        )
        for rival in RIVALS
    )


def beside_other_forms(scores: ArmScores[Any]) -> tuple[Finding, ...]:
    """Return what feature modification has over its other forms."""
    arms = {method: modified_arm(method, EPSILON) for method in (IFM, MOCO_IFM)}
    controls = scores.learned(PROBE, *arms.values())

    def over(method: str, other: str) -> Effect:
        arm = arm_of(other, temperature=TEMPERATURES[method], epsilon=EPSILON)
        return scores.points(f"over {other}", arms[method], arm, PROBE)

    def not_better(other: str) -> Effect:
        effect = over(MOCO_IFM, other)
        shifted = None if effect.difference is None else effect.difference - (-BETTER)
        return replace(effect, difference=shifted)

    return (
        Finding(
            paper=f"Section 4.4.2, {scores.data}: (L + L_epsilon)/2 is better than L_epsilon alone (there "
            "76.0 % on average, and 75.9 % for L).",
            ours="IFM at epsilon 0.1 in points:",
            effects=(over(IFM, WORST), over(MOCO_IFM, MOCO_WORST)),
            controls=controls,
        ),
        Finding(
            paper=f"Table B.1, {scores.data}: forms that keep unit length are no better than the default.",
            ours="IFM-MoCo over the other form at epsilon 0.1, plus the one point that counts as better, in "
            "points:",
            effects=(not_better(RENORMALIZED), not_better(BEFORE)),
            controls=controls,
        ),
    )
