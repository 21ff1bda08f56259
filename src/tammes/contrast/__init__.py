"""Contrasts: how negatives are set against positives."""

from tammes.contrast.bcl import BCL
from tammes.contrast.contrast import Contrast
from tammes.contrast.hinge import Hinge
from tammes.contrast.infonce import InfoNCE, Logistic, SoftmaxContrast
from tammes.contrast.sigmoid import Sigmoid
from tammes.contrast.softplus import Softplus
from tammes.contrast.supervised import SupCon
from tammes.contrast.triplet import Triplet

__all__ = [
    "BCL",
    "Contrast",
    "Hinge",
    "InfoNCE",
    "Logistic",
    "Sigmoid",
    "SoftmaxContrast",
    "Softplus",
    "SupCon",
    "Triplet",
]
