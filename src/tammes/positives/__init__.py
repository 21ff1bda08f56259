"""Positives: how the second view of a pair is found."""

from tammes.positives.acceptance import Acceptance, Halving, Nearest, Quantile
from tammes.positives.active import Active, Chosen
from tammes.positives.adjacent import Adjacent
from tammes.positives.augmentation import Augmentation, Handwriting, Identity, Photographs
from tammes.positives.boundary import Boundary
from tammes.positives.classes import Clusters, Labels
from tammes.positives.given_pairs import GivenPairs
from tammes.positives.graph_augmentation import (
    DropNodes,
    GraphAugmentation,
    MaskFeatures,
    OneChange,
    PerturbEdges,
    Subgraph,
)
from tammes.positives.neighbors import Neighbors
from tammes.positives.node_augmentation import EdgesAndFeatures
from tammes.positives.own_graph import OwnGraph
from tammes.positives.same_class import SameClass
from tammes.positives.same_instance import SameInstance
from tammes.positives.scans import Scans
from tammes.positives.targeted import Targeted

__all__ = [
    "Acceptance",
    "Active",
    "Adjacent",
    "Augmentation",
    "Boundary",
    "Chosen",
    "Clusters",
    "DropNodes",
    "EdgesAndFeatures",
    "GivenPairs",
    "GraphAugmentation",
    "Halving",
    "Handwriting",
    "Identity",
    "Labels",
    "MaskFeatures",
    "Nearest",
    "Neighbors",
    "OneChange",
    "OwnGraph",
    "PerturbEdges",
    "Photographs",
    "Quantile",
    "SameClass",
    "SameInstance",
    "Scans",
    "Subgraph",
    "Targeted",
]
