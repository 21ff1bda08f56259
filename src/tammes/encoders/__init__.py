"""Networks from images to feature vectors, and the head that projects features for comparison."""

from tammes.encoders.convnet import ConvNet, ConvNetConfig
from tammes.encoders.encoder import Encoder
from tammes.encoders.mlp import ProjectionHead, ProjectionHeadConfig
from tammes.encoders.resnet import ResNet, ResNetConfig

__all__ = [
    "ConvNet",
    "ConvNetConfig",
    "Encoder",
    "ProjectionHead",
    "ProjectionHeadConfig",
    "ResNet",
    "ResNetConfig",
]
