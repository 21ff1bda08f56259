"""The optimizer, and the schedules of its learning rate."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import nn
from typing_extensions import override

from tammes.checks import check_number

Fused = TypeVar("Fused", bound=torch.optim.Adam)
"""Adam or AdamW of torch, which is one of its subclasses."""


@dataclass(frozen=True, kw_only=True)
class Constant:
    """Constant learning rate.

    Example:
        >>> Constant().factor(step=7, steps=10, steps_per_epoch=5)
        1.0
    """

    def factor(self, *, step: int, steps: int, steps_per_epoch: int) -> float:
        """Return the factor of the learning rate at a step, from 0."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Cosine:
    """Linear warm-up, then half a cosine down to zero.

    Step k (from 0) of K with W steps of warm-up has the factor (k + 1) / W while k < W, and
    (1 + cos(pi (k - W) / (K - W))) / 2 from then on.

    Args:
        warmup_epochs: Length of the linear warm-up, in epochs (a fraction is allowed).

    Raises:
        ValueError: for a negative warm-up.

    Example:
        >>> Cosine(warmup_epochs=0).factor(step=5, steps=10, steps_per_epoch=5)
        0.5
    """

    warmup_epochs: float = 10.0

    def __post_init__(self) -> None:
        check_number("warmup_epochs", self.warmup_epochs, minimum=0)

    def factor(self, *, step: int, steps: int, steps_per_epoch: int) -> float:
        """Return the factor of the learning rate at a step, from 0."""
        warmup = round(self.warmup_epochs * steps_per_epoch)
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, steps - warmup))
        return (1 + math.cos(math.pi * progress)) / 2


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """Optimizer with its learning rate, its schedule and the bound of its gradient."""

    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    schedule: Constant | Cosine = field(default_factory=Constant)
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("weight_decay", self.weight_decay, minimum=0)
        if self.clip_norm is not None:
            check_number("clip_norm", self.clip_norm, above=0, reason="None leaves the gradient as it is")

    @abstractmethod
    def build(
        self, parameters: Iterable[nn.Parameter], *, undecayed: Iterable[nn.Parameter] = ()
    ) -> torch.optim.Optimizer:
        """Build the optimizer of `parameters`, and of others (`undecayed`) without weight decay."""

    def rate_factor(self, *, steps: int, steps_per_epoch: int) -> Callable[[int], float]:
        """Return the schedule as a function of the step, for torch's LambdaLR."""
        return lambda step: self.schedule.factor(step=step, steps=steps, steps_per_epoch=steps_per_epoch)


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Adam with the papers' settings (thesis, A.4.1: learning rate 1e-3, weight decay 1e-6).

    Args:
        learning_rate: Step size of Adam.
        weight_decay: Weight of the L2 penalty that is added to the gradient.
        schedule: Schedule of the learning rate over the steps.
        clip_norm: Largest norm of the gradient of all weights together; a longer gradient is scaled down to
            it. None leaves the gradient as it is.

    Raises:
        ValueError: for a learning rate or a length that is not positive, or a negative weight decay.

    Example:
        >>> Adam(learning_rate=3e-4).build([torch.nn.Parameter(torch.zeros(1))]).defaults["lr"]
        0.0003
    """

    weight_decay: float = 1e-6

    @override
    def build(
        self, parameters: Iterable[nn.Parameter], *, undecayed: Iterable[nn.Parameter] = ()
    ) -> torch.optim.Adam:
        given, others = list(parameters), list(undecayed)
        optimizer = torch.optim.Adam(given, lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)
        if others:
            optimizer.add_param_group({"params": others, "weight_decay": 0.0})
        return _clippable(optimizer)


@dataclass(frozen=True, kw_only=True)
class AdamW(Optimizer):
    """Adam whose weight decay shrinks the weights themselves, apart from the gradient.

        w  <-  w - learning_rate (m / (sqrt(v) + eps) + weight_decay w)

    Biases and the scales of normalizations, which are vectors, do not decay (He et al., 2022, published
    code).

    Args:
        learning_rate: Step size.
        weight_decay: Share of a weight that a step of size 1 takes off.
        schedule: Schedule of the learning rate over the steps.
        clip_norm: Largest norm of the gradient of all weights together; a longer gradient is scaled down to
            it. None leaves the gradient as it is.
        betas: Decay of the means of the gradient and of its square, from 0 to below 1.

    Raises:
        ValueError: for a learning rate or a length that is not positive, a negative weight decay, or betas
            out of their range.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019; the defaults are those of
    Robinson (2023), Table D.2.

    Example:
        >>> model = nn.Linear(3, 2)
        >>> [group["weight_decay"] for group in AdamW().build(model.parameters()).param_groups]
        [0.05, 0.0]
    """

    weight_decay: float = 0.05
    betas: tuple[float, float] = (0.9, 0.95)

    def __post_init__(self) -> None:
        super().__post_init__()
        for beta in self.betas:
            check_number("betas", beta, minimum=0, below=1)

    @override
    def build(
        self, parameters: Iterable[nn.Parameter], *, undecayed: Iterable[nn.Parameter] = ()
    ) -> torch.optim.AdamW:
        given, undecayed = list(parameters), list(undecayed)
        decayed = [each for each in given if each.ndim > 1]
        others = [*(each for each in given if each.ndim <= 1), *undecayed]
        groups = [
            {"params": decayed, "weight_decay": self.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        groups = [group for group in groups if group["params"]]
        return _clippable(torch.optim.AdamW(groups, lr=self.learning_rate, betas=self.betas, fused=True))


def _clippable(optimizer: Fused) -> Fused:
    """Return a fused optimizer that leaves the unscaling of gradients, if they are scaled, to others.

    Lightning clips no gradients of one that unscales them itself, in bfloat16 either, which scales none.
    """
    optimizer._step_supports_amp_scaling = False
    return optimizer
