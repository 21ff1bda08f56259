"""The momentum encoder: a slow copy of a model, whose embeddings of earlier batches stay comparable."""

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn

from tammes.checks import is_finite


class MomentumEncoder(nn.Module):
    """A copy of a model whose weights k follow the model's weights q,

        k  <-  m k + (1 - m) q      after each optimizer step,

    and get no gradient. Buffers, such as running statistics, are those of the model as of the last update.
    Weights and buffers are in the state dict, so that a run goes on exactly where it was saved.

    `train()` and `eval()` act on it as on any module. In training mode, as the paper has it, dropout is
    drawn anew for the keys and BatchNorm takes the statistics of the batch of keys, through which the keys
    of a batch know of each other (the paper shuffles batches between GPUs for this). In evaluation mode
    BatchNorm takes the model's running statistics, and each key depends on its image alone.

    Args:
        model: is copied as it is; from then on only `update` looks at it.

    Source: He et al., Momentum Contrast for Unsupervised Visual Representation Learning, 2020, eq. 2.

    Example:
        >>> model = nn.Linear(2, 2)
        >>> keys = MomentumEncoder(model)
        >>> with torch.no_grad():
        ...     _ = model.weight.add_(1.0)  # an optimizer step
        >>> keys.update(model, momentum=0.9)
        >>> bool((model.weight - keys.model.weight).allclose(torch.tensor(0.9)))
        True
        >>> keys(torch.ones(3, 2)).requires_grad
        False
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def forward(self, *inputs: Tensor) -> Any:
        """What the copy makes of the model's inputs, without gradient."""
        return self.model(*inputs)

    @torch.no_grad()
    def update(self, model: nn.Module, *, momentum: float) -> None:
        """Let the weights follow by a step, and copy the buffers.

        Args:
            model: the one that was copied, or one of the same weights, shapes and types, on the same device.
            momentum: m, from 0, where the copy is the model again, to 1, where it stands still.

        Raises:
            ValueError: a momentum outside [0, 1], or another model.
        """
        if not (is_finite(momentum) and 0 <= momentum <= 1):
            raise ValueError(f"momentum must be a number from 0 to 1, got {momentum}")
        _expect_alike(self.model, model)
        for own, weight in zip(self.model.parameters(), model.parameters(), strict=True):
            own.lerp_(weight, 1 - momentum)
        for kept, buffer in zip(self.model.buffers(), model.buffers(), strict=True):
            kept.copy_(buffer)


def _expect_alike(copied: nn.Module, model: nn.Module) -> None:
    kinds, others = (
        {
            name: (tuple(each.shape), each.dtype, each.device)
            for name, each in (*module.named_parameters(), *module.named_buffers())
        }
        for module in (copied, model)
    )
    if list(kinds.items()) == list(others.items()):
        return
    odd = [name for name in dict.fromkeys([*kinds, *others]) if kinds.get(name) != others.get(name)]
    raise ValueError(
        "the momentum encoder must be updated with the model that it was copied from; these weights or "
        f"buffers differ in name, shape, type or device: {', '.join(odd[:5]) or 'their order'}"
    )


def rising_momentum(momentum: float, *, step: int, steps: int) -> float:
    """A momentum that rises from its first value to 1 over the steps of a run, along half a cosine.

    1 - (1 - momentum) (cos(pi step / steps) + 1) / 2 .

    Args:
        momentum: the first value, in [0, 1).
        step: steps taken before.
        steps: of the whole run.

    Source: Grill et al., Bootstrap Your Own Latent, 2020, sec. 3.3.

    Example:
        >>> rising_momentum(0.99, step=0, steps=10), rising_momentum(0.99, step=10, steps=10)
        (0.99, 1.0)
    """
    return 1 - (1 - momentum) * (math.cos(math.pi * step / steps) + 1) / 2
