"""Momentum encoder: a slow copy of a model, whose embeddings of earlier batches stay comparable."""

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.sources import Gather, LearnedNegatives, Queue


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


def ema_decay_at(decay: float, *, step: int) -> float:
    """Return the decay of an average of weights after a step, smaller at first.

    min( decay, (1 + step) / (10 + step) ) , so that the average forgets the initial weights early on.

    Args:
        decay: decay from some hundreds of steps on, from 0 to below 1.
        step: number of steps taken.

    Example:
        >>> ema_decay_at(0.999, step=8), ema_decay_at(0.999, step=100_000)
        (0.5, 0.999)
    """
    return min(decay, (1 + step) / (10 + step))


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
    is_wrapped = any(name.startswith("module.") for name in different)
    raise ValueError(
        "the momentum encoder must be updated with the model that it was copied from; these weights or "
        f"buffers differ in name, shape, type or device: {', '.join(different[:5]) or 'their order'}"
        + (" (give the model within DistributedDataParallel, model.module)" if is_wrapped else "")
    )


@dataclass(frozen=True, kw_only=True)
class KeysConfig(ABC):
    """Negatives beside the batch for queries, whose keys a momentum encoder makes.

    Args:
        size: number of negatives beside the batch.
        momentum: m in [0, 1): after each step the momentum encoder keeps m of its weights and takes 1 - m
            of the network's.
        rising: whether the momentum rises to 1 over the run, along half a cosine.

    Raises:
        ValueError: for a size below 1, or a momentum outside [0, 1).
    """

    size: int = 4096
    momentum: float = 0.99
    rising: bool = False

    def __post_init__(self) -> None:
        check_integer("size", self.size, reason="it counts the negatives beside the batch")
        check_number("momentum", self.momentum, minimum=0, below=1)

    @abstractmethod
    def source(self, dim: int, *, gather: Gather | None, generator: torch.Generator) -> nn.Module:
        """Return the source of the negatives.

        Args:
            dim: dimension of the embeddings.
            gather: joins the keys of several processes; None in one process.
            generator: generator of initial values.

        Raises:
            ValueError: negatives of one process, in several.
        """

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


@dataclass(frozen=True, kw_only=True)
class QueueConfig(KeysConfig):
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

    def __post_init__(self) -> None:
        check_integer("size", self.size, reason="it counts the keys of the queue")
        super().__post_init__()

    @override
    def source(self, dim: int, *, gather: Gather | None, generator: torch.Generator) -> Queue:
        return Queue(size=self.size, dim=dim, gather=gather)


@dataclass(frozen=True, kw_only=True)
class LearnedNegativesConfig(KeysConfig):
    """Learned negatives, which climb the loss that the network descends (AdCo).

    The network embeds the first view of an image, and its momentum encoder the second. The first is compared
    with the second views of its batch and with the learned negatives, which SGD moves in every step.

    Args:
        size: number of learned negatives.
        momentum: m in [0, 1): after each step the momentum encoder keeps m of its weights and takes 1 - m
            of the network's.
        rising: whether the momentum rises to 1 over the run, along half a cosine.
        temperature: temperature of the adversary.
        learning_rate: step size of the adversary.
        inertia: momentum of the adversary's SGD.
        weight_decay: weight of the L2 penalty on the learned negatives.

    Raises:
        ValueError: for a size below 1, or numbers out of their ranges.

    Source: Hu et al. (2021); see `LearnedNegatives`.

    Example:
        >>> LearnedNegativesConfig(size=1024).temperature
        0.02
    """

    temperature: float = 0.02
    learning_rate: float = 3.0
    inertia: float = 0.9
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("temperature", self.temperature, above=0)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("inertia", self.inertia, minimum=0, below=1)
        check_number("weight_decay", self.weight_decay, minimum=0)

    @override
    def source(self, dim: int, *, gather: Gather | None, generator: torch.Generator) -> LearnedNegatives:
        if gather is not None:
            raise ValueError(
                "learned negatives belong to one process, got several: start one, or take a queue"
            )
        return LearnedNegatives(
            size=self.size,
            dim=dim,
            temperature=self.temperature,
            learning_rate=self.learning_rate,
            momentum=self.inertia,
            weight_decay=self.weight_decay,
            generator=generator,
        )
