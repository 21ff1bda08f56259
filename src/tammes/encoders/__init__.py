"""Networks from images, volumes, sentences or graphs to features, and the projection head for training."""

from tammes.encoders.bag_of_words import BagOfWords, BagOfWordsConfig
from tammes.encoders.convnet import ConvNet, ConvNetConfig
from tammes.encoders.encoder import Encoder
from tammes.encoders.graph_positions import LaplacianEigenvectors, SignInvariant
from tammes.encoders.graphs import (
    GATEncoderConfig,
    GCNEncoderConfig,
    GINEncoderConfig,
    GPSEncoderConfig,
    GraphEncoder,
    GraphEncoderConfig,
)
from tammes.encoders.mlp import ProjectionHead, ProjectionHeadConfig, ShortcutHead, ShortcutHeadConfig
from tammes.encoders.model_description import ModelDescription
from tammes.encoders.module import ModuleConfig, ModuleEncoder, TimmConfig
from tammes.encoders.resnet import ResNet, ResNetConfig
from tammes.encoders.resnet3d import ResNet3D, ResNet3DConfig
from tammes.encoders.resnet9 import ResNet9, ResNet9Config
from tammes.encoders.transformers import TransformersImageEncoder, TransformersTextEncoder
from tammes.encoders.transformers_config import TransformersConfig, UnavailableWeightsError
from tammes.encoders.vit import VisionTransformer, VisionTransformerConfig

__all__ = [
    "BagOfWords",
    "BagOfWordsConfig",
    "ConvNet",
    "ConvNetConfig",
    "Encoder",
    "GATEncoderConfig",
    "GCNEncoderConfig",
    "GINEncoderConfig",
    "GPSEncoderConfig",
    "GraphEncoder",
    "GraphEncoderConfig",
    "LaplacianEigenvectors",
    "ModelDescription",
    "ModuleConfig",
    "ModuleEncoder",
    "ProjectionHead",
    "ProjectionHeadConfig",
    "ResNet",
    "ResNet3D",
    "ResNet3DConfig",
    "ResNet9",
    "ResNet9Config",
    "ResNetConfig",
    "ShortcutHead",
    "ShortcutHeadConfig",
    "SignInvariant",
    "TimmConfig",
    "TransformersConfig",
    "TransformersImageEncoder",
    "TransformersTextEncoder",
    "UnavailableWeightsError",
    "VisionTransformer",
    "VisionTransformerConfig",
]
