"""The latent-variable laboratory: contrastive learning on data whose latents are known."""

from tammes.latent import algorithm_1, algorithm_2
from tammes.latent.active_selection import ActiveSelection
from tammes.latent.adversarial import Adversarial
from tammes.latent.classes import Classes, Means, OverlapWarning, RandomMeans, SeparatedMeans
from tammes.latent.contrastive_loss import contrastive_losses
from tammes.latent.data_set import DataSet
from tammes.latent.encoders import BatchedEncoders, EncoderShape
from tammes.latent.kernel import GaussianNoise, SphericalKernel, UniformOnSphere
from tammes.latent.laboratory import Laboratory
from tammes.latent.linear_boundary import LinearBoundary
from tammes.latent.mises_fisher import MisesFisher, mean_resultant_length
from tammes.latent.mixing import Mixing
from tammes.latent.model import LatentModel, Latents, World
from tammes.latent.positive_samplers import (
    ClassPreserving,
    LatentPerturbation,
    ObservationNoise,
    PositiveSampler,
    SampledPositives,
)
from tammes.latent.recovery import (
    ClassAccuracy,
    boundary_accuracy,
    linear_identifiability,
    orthogonal_identifiability,
    product_preservation,
)
from tammes.latent.round_state import Anchors, RoundState, TrainedEncoders
from tammes.latent.strategy import AnchorSampler, FromData, NearBoundary, Strategy
from tammes.latent.streams import Streams

__all__ = [
    "ActiveSelection",
    "Adversarial",
    "AnchorSampler",
    "Anchors",
    "BatchedEncoders",
    "ClassAccuracy",
    "ClassPreserving",
    "Classes",
    "DataSet",
    "EncoderShape",
    "FromData",
    "GaussianNoise",
    "Laboratory",
    "LatentModel",
    "LatentPerturbation",
    "Latents",
    "LinearBoundary",
    "Means",
    "MisesFisher",
    "Mixing",
    "NearBoundary",
    "ObservationNoise",
    "OverlapWarning",
    "PositiveSampler",
    "RandomMeans",
    "RoundState",
    "SampledPositives",
    "SeparatedMeans",
    "SphericalKernel",
    "Strategy",
    "Streams",
    "TrainedEncoders",
    "UniformOnSphere",
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
