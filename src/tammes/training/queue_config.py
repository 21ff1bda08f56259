"""Negatives from earlier batches, as a run is told of them."""

from dataclasses import dataclass

from tammes.checks import is_finite
from tammes.training.momentum import rising_momentum


@dataclass(frozen=True, kw_only=True)
class QueueConfig:
    """Negatives from earlier batches: a queue of keys, made by a momentum encoder (MoCo).

    The first view of an image is embedded by the network, the second by its momentum encoder; the first is
    compared with the second views of the batch and of those before it.

    Args:
        size: How many keys of earlier batches are held.
        momentum: m: after each step the momentum encoder keeps m of its weights and takes 1 - m of the
            network's.
        rising: Let the momentum rise to 1 over the run, along half a cosine.

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
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise ValueError(
                f"the size of the queue must be at least 1 key, as a whole number, got {self.size!r}"
            )
        if not (is_finite(self.momentum) and 0 <= self.momentum < 1):
            raise ValueError(f"momentum must be a number from 0 to below 1, got {self.momentum}")

    def momentum_at(self, *, step: int, steps: int) -> float:
        """The momentum after step `step`, from 0, of so many."""
        return rising_momentum(self.momentum, step=step, steps=steps) if self.rising else self.momentum
