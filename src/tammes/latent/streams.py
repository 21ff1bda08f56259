"""Random numbers of many runs at once, each from a stream of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Streams:
    """A generator for each run, so that a run draws the same alone as in company.

    Args:
        generators: one for each run, all on one device.
        dtype: of the floating-point numbers that are drawn.

    Raises:
        ValueError: no generator, or a dtype other than float32 and float64.

    Example:
        >>> together = Streams.of((0, 1), "noise").normal(3)
        >>> together.shape, torch.equal(together[1:], Streams.of((1,), "noise").normal(3))
        (torch.Size([2, 3]), True)
    """

    generators: tuple[torch.Generator, ...]
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        if not self.generators:
            raise ValueError("Streams expected a generator for each run, got none: give at least one seed")
        if self.dtype not in (torch.float32, torch.float64):  # no decomposition of g knows others
            raise ValueError(f"Streams.dtype must be torch.float32 or torch.float64, got {self.dtype}")

    @classmethod
    def of(
        cls,
        seeds: Sequence[int],
        purpose: str,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> Streams:
        """The streams of some runs for one purpose; another purpose gives other, independent streams.

        Args:
            seeds: one for each run, not negative.
            purpose: any words.
            device: where numbers are drawn; another kind of device draws others.
            dtype: of floating-point numbers.

        Raises:
            ValueError: no seed, a negative one, or a device that there is none of.
        """
        if any(isinstance(seed, bool) or not isinstance(seed, int) or seed < 0 for seed in seeds):
            raise ValueError(f"seeds expected whole numbers of at least 0, got {tuple(seeds)}")
        return cls(
            generators=tuple(_generator(device).manual_seed(_mixed(seed, purpose)) for seed in seeds),
            dtype=dtype,
        )

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.generators)

    @property
    def device(self) -> torch.device:
        """Where numbers are drawn."""
        return self.generators[0].device

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers, (runs, *shape)."""
        drawn = self._empty(shape, self.dtype)
        for run, generator in zip(drawn, self.generators, strict=True):
            run.normal_(generator=generator)
        return drawn

    def uniform(self, *shape: int) -> Tensor:
        """Numbers uniform in [0, 1), (runs, *shape)."""
        drawn = self._empty(shape, self.dtype)
        for run, generator in zip(drawn, self.generators, strict=True):
            run.uniform_(generator=generator)
        return drawn

    def integers(self, below: int, *shape: int) -> Tensor:
        """Whole numbers from 0 to `below` - 1, int64 (runs, *shape)."""
        drawn = self._empty(shape, torch.int64)
        for run, generator in zip(drawn, self.generators, strict=True):
            run.random_(below, generator=generator)
        return drawn

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.empty(self.runs, *shape, dtype=dtype, device=self.device)


def _generator(device: torch.device | str) -> torch.Generator:
    try:
        return torch.Generator(device)
    except RuntimeError as error:
        raise ValueError(
            f"device must be one that PyTorch finds here, such as cpu, got {str(device)!r}"
        ) from error


def _mixed(seed: int, purpose: str) -> int:
    """One number of a seed and a purpose, nearby seeds giving unlike numbers."""
    entropy = np.random.SeedSequence([seed, *purpose.encode()])
    return int(entropy.generate_state(1, np.uint64)[0])
