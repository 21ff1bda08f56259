"""Measures of embeddings: spectrum, neighbors, duplicates, labels, collisions, rotations, two encoders.

Pure functions of tensors; `tammes.diagnosis` applies them to a file, with nulls, intervals and verdicts.
"""

from tammes.diagnostics.alignment import alignment, uniformity, uniformity_of_rows
from tammes.diagnostics.class_prior import alpha_max, class_prior_alpha_max, class_prior_pen_l1
from tammes.diagnostics.collisions import (
    collision_share,
    estimated_collision_share,
    weighted_collision_share,
)
from tammes.diagnostics.duplicates import Duplicates, duplicates, equal_rows, leaked, near_threshold
from tammes.diagnostics.histograms import CosineHistograms, cosine_histograms
from tammes.diagnostics.hubness import hubness, hubs, k_occurrence, orphan_share_by_chance, orphans
from tammes.diagnostics.intrinsic_dimension import intrinsic_dimension
from tammes.diagnostics.label_checks import (
    classes_per_cluster,
    k_means,
    knn_correct,
    likely_label_errors,
    overlaps,
    votes,
)
from tammes.diagnostics.lidar import lidar
from tammes.diagnostics.modified import nearest_to_modified
from tammes.diagnostics.moments import Moments, dead_dimensions, duplicated_dimensions
from tammes.diagnostics.nearest import Neighbors, indexed_neighbors, nearest_neighbors
from tammes.diagnostics.negatives import AnchorNegatives, hardest_negatives, uniform_negatives
from tammes.diagnostics.rank import alpha_req, dimensions_for, isoscore, nesum, rankme, stable_rank
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
from tammes.diagnostics.two_encoders import (
    cka_by_chance,
    linear_cka,
    neighbor_overlap,
    procrustes_distance,
    rsa,
)

__all__ = [
    "AnchorNegatives",
    "Composition",
    "CosineHistograms",
    "Duplicates",
    "Moments",
    "Neighbors",
    "Separation",
    "alignment",
    "alpha_max",
    "alpha_req",
    "best_rotation",
    "cka_by_chance",
    "class_prior_alpha_max",
    "class_prior_pen_l1",
    "classes_per_cluster",
    "collision_share",
    "color_followed",
    "composition",
    "cosine_histograms",
    "cosine_variance",
    "dead_dimensions",
    "dimensions_for",
    "duplicated_dimensions",
    "duplicates",
    "effective_rank",
    "equal_rows",
    "estimated_collision_share",
    "hardest_negatives",
    "hubness",
    "hubs",
    "indexed_neighbors",
    "intrinsic_dimension",
    "invariance",
    "isoscore",
    "k_means",
    "k_occurrence",
    "knn_correct",
    "leaked",
    "lidar",
    "likely_label_errors",
    "linear_cka",
    "near_threshold",
    "nearest_neighbors",
    "nearest_to_modified",
    "neighbor_overlap",
    "neighbors_kept",
    "nesum",
    "orphan_share_by_chance",
    "orphans",
    "overlaps",
    "procrustes_distance",
    "rankme",
    "relative_equivariance",
    "retrieved",
    "rsa",
    "separation",
    "singular_values",
    "stable_rank",
    "uniform_negatives",
    "uniformity",
    "uniformity_of_rows",
    "votes",
    "wahba_error",
    "weighted_collision_share",
]
