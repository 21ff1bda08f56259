"""Measures of embeddings: alignment, uniformity, spectrum, collisions, negatives, rotations, features."""

from tammes.diagnostics.alignment import alignment, uniformity
from tammes.diagnostics.class_prior import alpha_max, class_prior_alpha_max, class_prior_pen_l1
from tammes.diagnostics.collisions import (
    collision_share,
    estimated_collision_share,
    weighted_collision_share,
)
from tammes.diagnostics.histograms import CosineHistograms, cosine_histograms
from tammes.diagnostics.modified import nearest_to_modified
from tammes.diagnostics.negatives import AnchorNegatives, hardest_negatives, uniform_negatives
from tammes.diagnostics.retrieval import color_followed, neighbors_kept, retrieved
from tammes.diagnostics.rotations import (
    Composition,
    best_rotation,
    composition,
    cosine_variance,
    invariance,
    relative_equivariance,
    wahba_error,
)
from tammes.diagnostics.spectrum import effective_rank, singular_values
from tammes.diagnostics.suppression import Separation, separation

__all__ = [
    "AnchorNegatives",
    "Composition",
    "CosineHistograms",
    "Separation",
    "alignment",
    "alpha_max",
    "best_rotation",
    "class_prior_alpha_max",
    "class_prior_pen_l1",
    "collision_share",
    "color_followed",
    "composition",
    "cosine_histograms",
    "cosine_variance",
    "effective_rank",
    "estimated_collision_share",
    "hardest_negatives",
    "invariance",
    "nearest_to_modified",
    "neighbors_kept",
    "relative_equivariance",
    "retrieved",
    "separation",
    "singular_values",
    "uniform_negatives",
    "uniformity",
    "wahba_error",
    "weighted_collision_share",
]
