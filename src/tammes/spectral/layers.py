"""What the networks on eigenvectors are made of: multilayer perceptrons, and dropout that two signs share."""

from __future__ import annotations

from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn

from tammes.checks import is_finite
from tammes.spectral.normalization import NormalizedReLU


class SharedDropout(nn.Module):
    """Dropout by one mask for a row, whatever axes lie between rows and channels: v and -v lose the same.

    Args:
        p: the share of channels that become 0 in training.

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
        check_share("dropout", p)
        self.p = p

    def forward(self, values: Float[Tensor, "rows *any channels"]) -> Float[Tensor, "rows *any channels"]:
        if not self.training or not self.p:
            return values
        ones = values.new_ones(len(values), *[1] * (values.dim() - 2), values.shape[-1])
        return values * nn.functional.dropout(ones, self.p)


class MLP(nn.Module):
    """Linear, (normalization,) ReLU, (dropout,) ..., Linear on the last axis.

    Args:
        widths: channels of the input, of the hidden layers and of the output.
        normalize: whether hidden layers are normalized by the batch.
        dropout: share of hidden channels that are dropped in training.
        bias: of the last layer; where a normalization follows, it has no effect.

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
        self.layers = nn.ModuleList([*layers, nn.Linear(widths[-2], widths[-1], bias=bias)])

    def forward(self, values: Float[Tensor, "*any inputs"]) -> Float[Tensor, "*any outputs"]:
        return self.on_pieces([values])[0]

    def on_pieces(self, pieces: list[Tensor], *, then: NormalizedReLU | None = None) -> list[Tensor]:
        """The same on a batch that comes in pieces, which are normalized together.

        Args:
            pieces: of the batch.
            then: what follows the last layer.
        """
        layers = [*self.layers, *([] if then is None else [then])]
        for layer, following in zip(layers, [*layers[1:], None], strict=True):
            if isinstance(layer, NormalizedReLU):
                continue
            if isinstance(following, NormalizedReLU):
                pieces = following(pieces, layer)
            else:
                pieces = [layer(piece) for piece in pieces]
        return pieces


def check_share(name: str, value: object) -> None:
    """Raises ValueError where `value` is no number of at least 0 and less than 1.

    Args:
        name: what the value is called, for the message.
        value: what came.
    """
    if not (is_finite(value) and 0 <= value < 1):
        raise ValueError(f"{name} must be a number of at least 0 and less than 1, got {value!r}")
