"""The projection head: the small network between an encoder's features and the embeddings compared."""

from dataclasses import dataclass
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn


class ProjectionHead(nn.Module):
    """Linear, ReLU, ..., Linear: from features (batch, features) to embeddings (batch, dim).

    It is thrown away after training: the features in front of it serve other tasks better.
    Embeddings leave it unnormalized; the objective normalizes them.

    Source: Chen et al., A Simple Framework for Contrastive Learning, 2020, section 4.2.

    Example:
        >>> import torch
        >>> head = ProjectionHead(features=512, dim=128, hidden=512, layers=2)
        >>> head(torch.rand(4, 512)).shape
        torch.Size([4, 128])
    """

    def __init__(self, *, features: int, dim: int, hidden: int, layers: int = 2) -> None:
        super().__init__()
        widths = [features] + [hidden] * (layers - 1) + [dim]
        modules: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            modules += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
        self.features = features
        self.dim = dim
        self.layers = nn.Sequential(*modules[:-1])

    def forward(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch dim"]:
        return self.layers(features)


@dataclass(frozen=True, kw_only=True)
class ProjectionHeadConfig:
    """Settings of a `ProjectionHead`.

    Raises:
        ValueError: If a width or the number of layers is not positive.

    Example:
        >>> ProjectionHeadConfig(dim=64).build(features=512).dim
        64
    """

    dim: int = 128
    """Width of the embeddings that are compared."""

    hidden: int | None = None
    """Width of the hidden layers; left out, as wide as the features."""

    layers: int = 2
    """Linear layers; 1 is a linear map."""

    def __post_init__(self) -> None:
        if self.dim < 1 or self.layers < 1 or (self.hidden is not None and self.hidden < 1):
            raise ValueError(f"expected dim, hidden and layers of at least 1, got {self}")

    def build(self, features: int) -> ProjectionHead:
        """Build the head for features (batch, features), with weights from torch's generator."""
        hidden = features if self.hidden is None else self.hidden
        return ProjectionHead(features=features, dim=self.dim, hidden=hidden, layers=self.layers)
