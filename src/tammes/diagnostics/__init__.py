"""Measures of embeddings: alignment, uniformity, spectrum, collisions and hard negatives."""

from tammes.diagnostics.alignment import alignment, uniformity
from tammes.diagnostics.collisions import collision_share, weighted_collision_share
from tammes.diagnostics.histograms import CosineHistograms, cosine_histograms
from tammes.diagnostics.negatives import AnchorNegatives, hardest_negatives, uniform_negatives
from tammes.diagnostics.spectrum import effective_rank, singular_values

__all__ = [
    "AnchorNegatives",
    "CosineHistograms",
    "alignment",
    "collision_share",
    "cosine_histograms",
    "effective_rank",
    "hardest_negatives",
    "singular_values",
    "uniform_negatives",
    "uniformity",
    "weighted_collision_share",
]
