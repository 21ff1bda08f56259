"""The projection head: the small network from an encoder's features to the embeddings of the loss."""

from dataclasses import dataclass
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import check_integer

MOST_LAYERS = 100
"""Most linear layers of a head; usual heads have 1 to 3."""


class ProjectionHead(nn.Module):
    """Multilayer perceptron (Linear, ReLU, ..., Linear) from features to embeddings.

    It serves training only, since other tasks do better on the features. Its embeddings are not normalized;
    the objective normalizes them. With `batch_norm`, batch normalization follows each linear layer, the last
    one included unless `output_norm` is False.

    Source: Chen et al., A Simple Framework for Contrastive Learning, 2020, section 4.2.

    Example:
        >>> import torch
        >>> head = ProjectionHead(features=512, dim=128, hidden=512, layers=2)
        >>> head(torch.rand(4, 512)).shape
        torch.Size([4, 128])
    """

    def __init__(
        self,
        *,
        features: int,
        dim: int,
        hidden: int,
        layers: int = 2,
        batch_norm: bool = False,
        output_norm: bool = True,
    ) -> None:
        super().__init__()
        widths = [features] + [hidden] * (layers - 1) + [dim]
        modules: list[nn.Module] = []
        for place, (inputs, outputs) in enumerate(pairwise(widths), start=1):
            is_normalized = batch_norm and (output_norm or place < layers)
            # The normalization has a bias, which a bias of the linear layer could not add to.
            modules.append(nn.Linear(inputs, outputs, bias=not is_normalized))
            modules += [nn.BatchNorm1d(outputs)] if is_normalized else []
            modules.append(nn.ReLU(inplace=True))
        self.features = features
        self.dim = dim
        self.layers = nn.Sequential(*modules[:-1])

    def forward(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch dim"]:
        """Return the embeddings of features."""
        return self.layers(features)


@dataclass(frozen=True, kw_only=True)
class ProjectionHeadConfig:
    """Settings of a `ProjectionHead`.

    Raises:
        ValueError: a width is below 1, or the number of layers is not from 1 to 100.

    Example:
        >>> ProjectionHeadConfig(dim=64).build(features=512).dim
        64
    """

    dim: int = 128
    """Width of the embeddings."""

    hidden: int | None = None
    """Width of the hidden layers; by default that of the features."""

    layers: int = 2
    """Number of linear layers; 1 is a linear map."""

    batch_norm: bool = False
    """Normalize the output of each linear layer over the batch."""

    output_norm: bool = True
    """Whether `batch_norm` is of the last layer, too."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        if check_integer("layers", self.layers) > MOST_LAYERS:
            raise ValueError(f"layers must be at most {MOST_LAYERS}, got {self.layers}")
        check_integer("hidden", 1 if self.hidden is None else self.hidden)

    def build(self, features: int) -> ProjectionHead:
        """Build the head for features (batch, features), with weights from torch's generator."""
        hidden = features if self.hidden is None else self.hidden
        return ProjectionHead(
            features=features,
            dim=self.dim,
            hidden=hidden,
            layers=self.layers,
            batch_norm=self.batch_norm,
            output_norm=self.output_norm,
        )


class ShortcutHead(nn.Module):
    """Three linear layers, each with a ReLU, beside a linear map: y = mlp(x) + W x.

    Source: the published code of Sun et al., InfoGraph, 2020, its networks of nodes and of graphs.

    Example:
        >>> import torch
        >>> head = ShortcutHead(features=96, dim=96)
        >>> head(torch.rand(4, 96)).shape
        torch.Size([4, 96])
    """

    def __init__(self, *, features: int, dim: int) -> None:
        super().__init__()
        widths = [features, dim, dim, dim]
        modules = [module for a, b in pairwise(widths) for module in (nn.Linear(a, b), nn.ReLU())]
        self.features = features
        self.dim = dim
        self.layers = nn.Sequential(*modules)
        self.shortcut = nn.Linear(features, dim)

    def forward(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch dim"]:
        """Return the embeddings of features."""
        return self.layers(features) + self.shortcut(features)


@dataclass(frozen=True, kw_only=True)
class ShortcutHeadConfig:
    """Settings of a `ShortcutHead`, InfoGraph's head.

    Raises:
        ValueError: a width below 1.

    Example:
        >>> ShortcutHeadConfig().build(features=96).dim
        96
    """

    dim: int | None = None
    """Width of the embeddings; by default that of the features."""

    def __post_init__(self) -> None:
        check_integer("dim", 1 if self.dim is None else self.dim)

    def build(self, features: int) -> ShortcutHead:
        """Build the head for features (batch, features), with weights from torch's generator."""
        return ShortcutHead(features=features, dim=features if self.dim is None else self.dim)
