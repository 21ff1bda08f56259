"""Scores of the studies of features by set, arm and seed."""

from typing import TypeVar

from tammes.papers import arms
from tammes.papers.robinson_features.methods import FeatureRun

Score = TypeVar("Score")
ArmScores = arms.ArmScores[FeatureRun, Score]
"""Scores of one set of images, whatever was measured."""
