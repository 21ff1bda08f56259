"""Arms of the studies on rotations: which terms are in the loss, and how their scores are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tammes.estimate import Estimate
from tammes.papers.finding import Effect
from tammes.training.care import Care

if TYPE_CHECKING:
    from tammes.papers.robinson_geometry.care_training import CareRun, CareScore

UNTRAINED, SIMCLR, IN_GROUPS, CARE, STRONG = (
    "untrained",
    "SimCLR",
    "SimCLR in groups",
    "CARE",
    "CARE, ten times the weight",
)
"""Arms of Figures 5-3 to 5-7. In groups, SimCLR has the views of CARE, whose groups share an augmentation."""
INVARIANCE, EQUIVARIANCE, UNIFORMITY, BOTH, SPREAD = (
    "invariance",
    "equivariance",
    "uniformity",
    "invariance + equivariance",
    "uniformity + equivariance",
)
"""Arms of Figure 5-2; invariance + uniformity is InfoNCE, and all three terms are CARE."""
MOCO, MOCO_IN_GROUPS, MOCO_CARE = "MoCo", "MoCo in groups", "MoCo with CARE"

ARMS: Mapping[str, Care | None] = {
    SIMCLR: None,
    IN_GROUPS: Care(weight=0.0),
    CARE: Care(weight=0.3),
    STRONG: Care(weight=3.0),
    INVARIANCE: Care(objective=0.0, weight=0.0, invariance=1.0),
    EQUIVARIANCE: Care(objective=0.0, weight=1.0),
    UNIFORMITY: Care(objective=0.0, weight=0.0, uniformity=1.0),
    BOTH: Care(objective=0.0, weight=1.0, invariance=1.0),
    SPREAD: Care(objective=0.0, weight=1.0, uniformity=1.0),
}
"""Terms of each arm on SimCLR; None for the objective alone, on views of single images."""
MOMENTUM_ARMS: Mapping[str, Care | None] = {
    MOCO: None,
    MOCO_IN_GROUPS: Care(weight=0.0),
    MOCO_CARE: Care(weight=0.3),
}
"""The same on MoCo."""

Pick = Callable[["CareScore"], float]


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmScores:
    """Scores of all arms of one study, by arm and seed.

    Args:
        scores: scores by arm, then by seed.
    """

    scores: Mapping[str, Mapping[int, CareScore]]

    @classmethod
    def of(cls, results: Mapping[CareRun, CareScore], *, dimension: int = 128) -> ArmScores:
        """Return the scores of the cells with embeddings of a dimension."""
        scores: dict[str, dict[int, CareScore]] = {}
        for run, score in results.items():
            if run.dimension == dimension:
                scores.setdefault(run.arm, {})[run.seed] = score
        return cls(scores=scores)

    @property
    def names(self) -> list[str]:
        """Arms that were measured, in the order of the study."""
        return list(self.scores)

    def mean(self, arm: str, pick: Pick) -> Estimate:
        """Return the mean of a measurement of an arm over its seeds."""
        return Estimate.over_seeds([pick(score) for score in self.scores[arm].values()])

    def difference(self, more: str, less: str, pick: Pick) -> Estimate | None:
        """Return by how much one arm is above another, seed by seed; None if one was not measured yet."""
        ours, theirs = self.scores.get(more, {}), self.scores.get(less, {})
        seeds = [seed for seed in ours if seed in theirs]
        if not seeds:
            return None
        return Estimate.of_difference(
            [pick(ours[seed]) for seed in seeds], [pick(theirs[seed]) for seed in seeds]
        )

    def learned(self, *arms: str) -> tuple[Effect, ...]:
        """Return the gains of the linear readout over the first weights, as controls of a finding."""
        return tuple(
            Effect(
                name=f"linear readout of {arm} over untrained, in points",
                difference=self.difference(arm, UNTRAINED, lambda score: score.probe),
                digits=1,
                scale=100,
            )
            for arm in arms
        )
