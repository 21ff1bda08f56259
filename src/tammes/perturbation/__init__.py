"""Perturbations: adversarial moves of embeddings, so that the encoder must use more than one feature."""

from tammes.perturbation.forms import BeforeNormalization, Ellipsoid, ModificationForm, Renormalized, Shifted
from tammes.perturbation.modification import FeatureModification
from tammes.perturbation.perturbation import Perturbation

__all__ = [
    "BeforeNormalization",
    "Ellipsoid",
    "FeatureModification",
    "ModificationForm",
    "Perturbation",
    "Renormalized",
    "Shifted",
]
