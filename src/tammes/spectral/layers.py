"""Multilayer perceptrons, with normalization and dropout that treat both signs of an eigenvector alike."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_multiple, check_number


class SharedDropout(nn.Module):
    """Dropout with one mask for each row, shared by all axes between rows and channels, such as signs.

    Args:
        p: share of channels that become 0 in training, in [0, 1).

    Raises:
        ValueError: for a share outside [0, 1).

    Example:
        >>> import torch
        >>> dropped = SharedDropout(0.5)(torch.ones(4, 2, 8))
        >>> bool((dropped[:, 0] == dropped[:, 1]).all())
        True
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        check_number("dropout", p, minimum=0, below=1)
        self.p = p

    @override
    def forward(self, values: Float[Tensor, "rows *any channels"]) -> Float[Tensor, "rows *any channels"]:
        if not self.training or not self.p:
            return values
        ones = values.new_ones(len(values), *[1] * (values.dim() - 2), values.shape[-1])
        return values * nn.functional.dropout(ones, self.p)


EARLIER_NAMES = {"weight": "weight", "bias": "bias", "mean": "running_mean", "variance": "running_var"}
"""Names in files from before a `NormalizedReLU` had torch's normalization, and torch's names."""


class NormalizedReLU(nn.Module):
    """relu(w (z - mean) / std + b), with mean and std over all axes but the last: v and -v share them.

    Args:
        channels: size of the last axis.

    Raises:
        ValueError: when called in training on a single row, which has no standard deviation.

    Example:
        >>> import torch
        >>> NormalizedReLU(1)(torch.tensor([[2.0], [0.0]])).tolist()
        [[0.9999949932098389], [0.0]]
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    @override
    def forward(self, values: Float[Tensor, "*any channels"]) -> Float[Tensor, "*any channels"]:
        rows = values.flatten(0, -2)
        if self.training and len(rows) < 2:
            raise ValueError(
                f"expected at least two rows to normalize in training, got {len(rows)}: a batch of one node; "
                "use larger batches or normalize=False, or call eval() first"
            )
        return self.norm(rows).relu_().view_as(values)  # in place: the backward pass needs no value before it

    @override
    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for earlier, name in EARLIER_NAMES.items():
            if prefix + earlier in state_dict:
                state_dict[f"{prefix}norm.{name}"] = state_dict.pop(prefix + earlier)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class MLP(nn.Module):
    """Linear, (normalization,) ReLU, (dropout,) ..., Linear on the last axis.

    Args:
        widths: channels of the input, of the hidden layers and of the output.
        normalize: whether hidden layers are normalized by the batch.
        dropout: share of hidden channels that are dropped in training.
        bias: whether the last layer has a bias, which a normalization after it would cancel.

    Raises:
        ValueError: for fewer than two widths, or one below 1.

    Example:
        >>> import torch
        >>> MLP([3, 8, 2])(torch.ones(5, 2, 3)).shape
        torch.Size([5, 2, 2])
    """

    def __init__(
        self, widths: list[int], *, normalize: bool = False, dropout: float = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        if len(widths) < 2 or min(widths) < 1:
            raise ValueError(f"expected at least two widths, each at least 1, got {widths}")
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths[:-1]):
            layers.append(nn.Linear(inputs, outputs, bias=not normalize))
            layers.append(NormalizedReLU(outputs) if normalize else nn.ReLU(inplace=True))
            layers += [SharedDropout(dropout)] if dropout else []
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-2], widths[-1], bias=bias))

    @override
    def forward(self, values: Float[Tensor, "*any inputs"]) -> Float[Tensor, "*any outputs"]:
        return self.layers(values)


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Width, depth and dropout: the base of a network's settings.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).
    """

    width: int = 64
    """Channels of the layers."""

    layers: int = 3
    """Number of layers."""

    dropout: float = 0.0
    """Share of channels that are dropped after each layer but the last, in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_number("dropout", self.dropout, minimum=0, below=1)


@dataclass(frozen=True, kw_only=True)
class AttentionSizes(Sizes):
    """Sizes of a network with attention.

    Raises:
        ValueError: as for `Sizes`, and for a width that is no multiple of the heads.
    """

    heads: int = 4
    """Number of attention heads."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_multiple("width", self.width, "heads", check_integer("heads", self.heads))


@dataclass(frozen=True, kw_only=True)
class PerceptronSizes(Sizes):
    """Sizes of a multilayer perceptron."""

    normalize: bool = True
    """Whether hidden layers are normalized by the batch."""

    def perceptron(self, inputs: int, outputs: int) -> MLP:
        """Return a perceptron of `layers` linear maps."""
        widths = [inputs] + [self.width] * (self.layers - 1) + [outputs]
        return MLP(widths, normalize=self.normalize, dropout=self.dropout)
