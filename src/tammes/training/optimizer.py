"""How the weights are moved: Adam, and the learning rate over the steps."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass(frozen=True, kw_only=True)
class Constant:
    """The same learning rate from the first step to the last.

    Example:
        >>> Constant().factor(step=7, steps=10, steps_per_epoch=5)
        1.0
    """

    def factor(self, *, step: int, steps: int, steps_per_epoch: int) -> float:
        """What the learning rate is multiplied by at this step."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Cosine:
    """Warm up linearly, then fall to zero along half a cosine.

    Step k (from 0) of K with W steps of warm-up has (k + 1) / W of the learning rate while k < W, and
    (1 + cos(pi (k - W) / (K - W))) / 2 of it from then on.

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
        if not (math.isfinite(self.warmup_epochs) and self.warmup_epochs >= 0):
            raise ValueError(f"warmup_epochs must be 0 or more, got {self.warmup_epochs}")

    def factor(self, *, step: int, steps: int, steps_per_epoch: int) -> float:
        """What the learning rate is multiplied by at this step."""
        warmup = round(self.warmup_epochs * steps_per_epoch)
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, steps - warmup))
        return (1 + math.cos(math.pi * progress)) / 2


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Adam with the papers' settings (thesis, A.4.1: learning rate 1e-3, weight decay 1e-6).

    Args:
        learning_rate: Step size of Adam.
        weight_decay: Weight of the L2 penalty that is added to the gradient.
        schedule: The learning rate over the steps.
        clip_norm: Greatest length of the gradient of all weights together; a longer one is made as short.
            None leaves it as it is.

    Raises:
        ValueError: for a learning rate or a length that is not positive, or a negative weight decay.

    Example:
        >>> Adam(learning_rate=3e-4).build([torch.nn.Parameter(torch.zeros(1))]).defaults["lr"]
        0.0003
    """

    learning_rate: float = 1e-3
    weight_decay: float = 1e-6
    schedule: Constant | Cosine = field(default_factory=Constant)
    clip_norm: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise ValueError(f"weight_decay must be 0 or more, got {self.weight_decay}")
        if self.clip_norm is not None and not (math.isfinite(self.clip_norm) and self.clip_norm > 0):
            raise ValueError(f"clip_norm must be positive, or None, got {self.clip_norm}")

    def build(
        self, parameters: Iterable[nn.Parameter], *, undecayed: Iterable[nn.Parameter] = ()
    ) -> torch.optim.Adam:
        """The optimizer of these parameters, and of others that no weight decay draws to zero."""
        optimizer = torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=self.weight_decay)
        others = list(undecayed)
        if others:
            optimizer.add_param_group({"params": others, "weight_decay": 0.0})
        return optimizer

    def rate_factor(self, *, steps: int, steps_per_epoch: int) -> Callable[[int], float]:
        """The schedule as the function of the step that torch's LambdaLR wants."""
        return lambda step: self.schedule.factor(step=step, steps=steps, steps_per_epoch=steps_per_epoch)
