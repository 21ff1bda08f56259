"""Augmentations that act on embeddings as linear maps (CARE): the loss, its forms, the terms beside it."""

from tammes.equivariance.forms import (
    Bilinear,
    Form,
    InnerProduct,
    Minkowski,
    Symplectic,
    hyperboloid,
)
from tammes.equivariance.loss import equivariance_loss
from tammes.equivariance.terms import invariance_loss, uniformity_loss

__all__ = [
    "Bilinear",
    "Form",
    "InnerProduct",
    "Minkowski",
    "Symplectic",
    "equivariance_loss",
    "hyperboloid",
    "invariance_loss",
    "uniformity_loss",
]
