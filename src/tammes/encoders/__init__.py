"""Networks from images, volumes, sentences or graphs to features, and the projection head for training."""

from tammes.encoders.bag_of_words import BagOfWords, BagOfWordsConfig
from tammes.encoders.convnet import ConvNet, ConvNetConfig
from tammes.encoders.encoder import Encoder
from tammes.encoders.graph_positions import BasisInvariant, LaplacianEigenvectors, SignInvariant
from tammes.encoders.graphs import (
    GATEncoderConfig,
    GCNEncoderConfig,
    GINEncoderConfig,
    GPSEncoderConfig,
    GraphEncoder,
    GraphEncoderConfig,
)
from tammes.encoders.gru import GRU, GRUConfig
from tammes.encoders.mlp import ProjectionHead, ProjectionHeadConfig, ShortcutHead, ShortcutHeadConfig
from tammes.encoders.model_description import ModelDescription
from tammes.encoders.module import ModuleConfig, ModuleEncoder, TimmConfig
from tammes.encoders.resnet import ResNet, ResNetConfig
from tammes.encoders.resnet3d import ResNet3D, ResNet3DConfig
from tammes.encoders.resnet9 import ResNet9, ResNet9Config
from tammes.encoders.sentence_encoder import SentenceEncoder, SentenceNetwork
from tammes.encoders.text_transformer import TextTransformer, TextTransformerConfig
from tammes.encoders.transformers import (
    TransformersImageEncoder,
    TransformersTextEncoder,
    TransformersTowers,
)
from tammes.encoders.transformers_config import TransformersConfig, UnavailableWeightsError
from tammes.encoders.two_towers import Tower, TwoTowersConfig, has_two_towers
from tammes.encoders.vit import VisionTransformer, VisionTransformerConfig

SentenceEncoderConfig = GRUConfig | TextTransformerConfig | TwoTowersConfig
"""Settings of encoders that read the words of a sentence in their order."""
TextEncoderConfig = BagOfWordsConfig | SentenceEncoderConfig
"""Settings of encoders of texts whose tokenizer is built from the training sentences."""

__all__ = [
    "GRU",
    "BagOfWords",
    "BagOfWordsConfig",
    "BasisInvariant",
    "ConvNet",
    "ConvNetConfig",
    "Encoder",
    "GATEncoderConfig",
    "GCNEncoderConfig",
    "GINEncoderConfig",
    "GPSEncoderConfig",
    "GRUConfig",
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
    "SentenceEncoder",
    "SentenceEncoderConfig",
    "SentenceNetwork",
    "ShortcutHead",
    "ShortcutHeadConfig",
    "SignInvariant",
    "TextEncoderConfig",
    "TextTransformer",
    "TextTransformerConfig",
    "TimmConfig",
    "Tower",
    "TransformersConfig",
    "TransformersImageEncoder",
    "TransformersTextEncoder",
    "TransformersTowers",
    "TwoTowersConfig",
    "UnavailableWeightsError",
    "VisionTransformer",
    "VisionTransformerConfig",
    "has_two_towers",
]
