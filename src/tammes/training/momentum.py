"""Momentum encoder: a slow copy of a model, whose embeddings of earlier batches stay comparable."""

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tammes.checks import check_integer, check_number


class MomentumEncoder(nn.Module):
    """Copy of a model whose weights follow the model's weights slowly.

    Its weights k follow the model's weights q,

        k  <-  m k + (1 - m) q      after each optimizer step,

    and get no gradient. Each update copies the buffers, such as running statistics. Weights and buffers
    are in the state dict, so that a run continues exactly where it was saved.

    `train()` and `eval()` act on it as on any module. In training mode, as in the paper, dropout is drawn
    anew for the keys, and BatchNorm takes the statistics of the batch of keys, through which the keys of a
    batch depend on each other (the paper shuffles batches between GPUs for this reason). In evaluation mode
    BatchNorm takes the model's running statistics, and each key depends on its image alone.

    Args:
        model: model to copy; later changes of it count only through `update`.

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
        """Return the copy's output for the model's inputs, without gradient."""
        return self.model(*inputs)

    @torch.no_grad()
    def update(self, model: nn.Module, *, momentum: float) -> None:
        """Move the weights towards the model's by one step, and copy the buffers.

        Args:
            model: the model that was copied, or one with the same weights, shapes, types and device.
            momentum: m in [0, 1]; at 0 the copy becomes the model, at 1 it does not change.

        Raises:
            ValueError: for a momentum outside [0, 1], or another model.
        """
        check_number("momentum", momentum, minimum=0, maximum=1)
        _check_same_model(self.model, model)
        for own, weight in zip(self.model.parameters(), model.parameters(), strict=True):
            own.lerp_(weight, 1 - momentum)
        for kept, buffer in zip(self.model.buffers(), model.buffers(), strict=True):
            kept.copy_(buffer)


def _check_same_model(copied: nn.Module, model: nn.Module) -> None:
    own, other = (
        {
            name: (tuple(each.shape), each.dtype, each.device)
            for name, each in (*module.named_parameters(), *module.named_buffers())
        }
        for module in (copied, model)
    )
    if list(own.items()) == list(other.items()):
        return
    different = [name for name in dict.fromkeys([*own, *other]) if own.get(name) != other.get(name)]
    raise ValueError(
        "the momentum encoder must be updated with the model that it was copied from; these weights or "
        f"buffers differ in name, shape, type or device: {', '.join(different[:5]) or 'their order'}"
    )


@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    """Queue of embeddings from earlier batches, made by a momentum encoder (MoCo).

    The network embeds the first view of an image, and its momentum encoder the second. The first is compared
    with the second views of its batch and of the batches before it.

    Args:
        size: number of keys from earlier batches.
        momentum: m in [0, 1): after each step the momentum encoder keeps m of its weights and takes 1 - m
            of the network's.
        rising: whether the momentum rises to 1 over the run, along half a cosine.

    Raises:
        ValueError: for a size below 1, or a momentum outside [0, 1).

    Source: He et al., Momentum Contrast for Unsupervised Visual Representation Learning, 2020.

    Example:
        >>> QueueConfig(size=65536, momentum=0.999)
        QueueConfig(size=65536, momentum=0.999, rising=False)
    """

    size: int = 4096
    momentum: float = 0.99
    rising: bool = False

    def __post_init__(self) -> None:
        check_integer("size", self.size, reason="it counts the keys of the queue")
        check_number("momentum", self.momentum, minimum=0, below=1)

    def momentum_at(self, *, step: int, steps: int) -> float:
        """Return the momentum m, or one that rises from m to 1 over a run, along half a cosine.

        1 - (1 - m) (cos(pi step / steps) + 1) / 2 .

        Args:
            step: number of steps taken before.
            steps: number of steps of the whole run.

        Source: Grill et al., Bootstrap Your Own Latent, 2020, sec. 3.3.

        Example:
            >>> queue = QueueConfig(momentum=0.99, rising=True)
            >>> queue.momentum_at(step=0, steps=10), queue.momentum_at(step=10, steps=10)
            (0.99, 1.0)
        """
        if not self.rising:
            return self.momentum
        return 1 - (1 - self.momentum) * (math.cos(math.pi * step / steps) + 1) / 2
