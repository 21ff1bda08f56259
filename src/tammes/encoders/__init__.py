"""Networks from images or sentences to features, and the projection head that follows in training."""

from tammes.encoders.bag_of_words import BagOfWords, BagOfWordsConfig
from tammes.encoders.convnet import ConvNet, ConvNetConfig
from tammes.encoders.encoder import Encoder
from tammes.encoders.mlp import ProjectionHead, ProjectionHeadConfig
from tammes.encoders.module import ModuleConfig, ModuleEncoder, TimmConfig
from tammes.encoders.resnet import ResNet, ResNetConfig

__all__ = [
    "BagOfWords",
    "BagOfWordsConfig",
    "ConvNet",
    "ConvNetConfig",
    "Encoder",
    "ModuleConfig",
    "ModuleEncoder",
    "ProjectionHead",
    "ProjectionHeadConfig",
    "ResNet",
    "ResNetConfig",
    "TimmConfig",
]
