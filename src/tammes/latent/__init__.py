"""The latent-variable laboratory: contrastive learning where the truth is known."""

from tammes.latent import algorithm_1, algorithm_2
from tammes.latent.active import Active
from tammes.latent.adversarial import Adversarial
from tammes.latent.anchor_choice import AnchorChoice, FromData, NearBoundary
from tammes.latent.classes import Classes, OverlapWarning
from tammes.latent.contrastive_loss import contrastive_losses
from tammes.latent.data_set import DataSet, Fresh, Growing, Memory
from tammes.latent.encoders import Encoders, EncoderShape
from tammes.latent.kernel import GaussianNoise, Kernel, Uniform
from tammes.latent.laboratory import Laboratory
from tammes.latent.linear_boundary import LinearBoundary
from tammes.latent.means import Means, RandomMeans, SeparatedMeans
from tammes.latent.mises_fisher import MisesFisher, mean_resultant_length
from tammes.latent.mixing import Mixing
from tammes.latent.model import LatentModel, Latents, World
from tammes.latent.positives import Drawn, Observed, Perturbed, Positives, SameClass
from tammes.latent.recovery import (
    ClassAccuracy,
    Preservation,
    boundary_accuracy,
    linear_identifiability,
    orthogonal_identifiability,
    product_preservation,
)
from tammes.latent.stage import Anchors, Stage
from tammes.latent.strategy import Strategy
from tammes.latent.streams import Streams
from tammes.latent.thresholds import Halving, Quantile, Threshold
from tammes.latent.trained import Trained, Tries

__all__ = [
    "Active",
    "Adversarial",
    "AnchorChoice",
    "Anchors",
    "ClassAccuracy",
    "Classes",
    "DataSet",
    "Drawn",
    "EncoderShape",
    "Encoders",
    "Fresh",
    "FromData",
    "GaussianNoise",
    "Growing",
    "Halving",
    "Kernel",
    "Laboratory",
    "LatentModel",
    "Latents",
    "LinearBoundary",
    "Means",
    "Memory",
    "MisesFisher",
    "Mixing",
    "NearBoundary",
    "Observed",
    "OverlapWarning",
    "Perturbed",
    "Positives",
    "Preservation",
    "Quantile",
    "RandomMeans",
    "SameClass",
    "SeparatedMeans",
    "Stage",
    "Strategy",
    "Streams",
    "Threshold",
    "Trained",
    "Tries",
    "Uniform",
    "World",
    "algorithm_1",
    "algorithm_2",
    "boundary_accuracy",
    "contrastive_losses",
    "linear_identifiability",
    "mean_resultant_length",
    "orthogonal_identifiability",
    "product_preservation",
]
