"""Arms of the studies on rotations: which terms are in the loss, and how their scores are compared."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING

from tammes.papers import arms
from tammes.papers.arms import UNTRAINED
from tammes.papers.finding import Effect
from tammes.training.care import Care

if TYPE_CHECKING:
    from tammes.papers.robinson_geometry.care_training import CareRun, CareScore

SIMCLR, IN_GROUPS, CARE, STRONG = (
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

Scores = arms.ArmScores["CareRun", "CareScore"]
"""Scores of the arms of one study."""


def scores_of(results: Mapping[CareRun, CareScore], *, dimension: int = 128) -> Scores:
    """Return the scores of the cells with embeddings of a dimension."""
    chosen = {run: score for run, score in results.items() if run.dimension == dimension}
    of_sets = Scores.by_set(chosen).values()  # a study has one set, and may have no such cells yet
    return next(iter(of_sets), Scores(data="", runs={}, scores={}))


def gain(scores: Scores, more: str, less: str) -> Effect:
    """Return the gain of the linear readout of one arm over that of another, in percentage points."""
    return scores.points(f"{more} over {less}", more, less, attrgetter("probe"))


def learned(scores: Scores, *names: str) -> tuple[Effect, ...]:
    """Return the gains of the linear readout over the first weights, as controls of a finding."""
    return tuple(
        scores.points(
            f"linear readout of {arm} over untrained, in points", arm, UNTRAINED, attrgetter("probe")
        )
        for arm in names
    )
