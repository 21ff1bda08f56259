"""Random numbers of many runs at once, each run drawing from its own generator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_seed


@dataclass(frozen=True, kw_only=True, eq=False)
class Streams:
    """One random generator for each run, so that a run draws the same numbers alone as among others.

    Args:
        generators: one generator for each run, all on one device.
        dtype: type of the floating-point numbers, float32 or float64.

    Raises:
        ValueError: no generator, or another dtype.

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
        if self.dtype not in (torch.float32, torch.float64):  # the decompositions that make g know no others
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
        """Return the streams of some runs for one purpose; streams of different purposes are independent.

        Args:
            seeds: one seed for each run, from 0 to 2^63 - 1.
            purpose: any words.
            device: device of the generators; the numbers depend on the kind of device.
            dtype: type of the floating-point numbers.

        Raises:
            ValueError: no seed, one out of range, or a device that PyTorch does not find.
        """
        for seed in seeds:
            check_seed("each of the seeds", seed)
        generators = tuple(_generator(device).manual_seed(_combined(seed, purpose)) for seed in seeds)
        return cls(generators=generators, dtype=dtype)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.generators)

    @property
    def device(self) -> torch.device:
        """Device of the generators and of the numbers."""
        return self.generators[0].device

    def normal(self, *shape: int) -> Float[Tensor, "runs ..."]:
        """Draw standard normal numbers (runs, *shape)."""
        drawn = self._empty(shape, self.dtype)
        for run, generator in zip(drawn, self.generators, strict=True):
            run.normal_(generator=generator)
        return drawn

    def uniform(self, *shape: int) -> Float[Tensor, "runs ..."]:
        """Draw numbers uniform in [0, 1), (runs, *shape)."""
        drawn = self._empty(shape, self.dtype)
        for run, generator in zip(drawn, self.generators, strict=True):
            run.uniform_(generator=generator)
        return drawn

    def integers(self, below: int, *shape: int) -> Int64[Tensor, "runs ..."]:
        """Draw integers from 0 to `below` - 1, (runs, *shape)."""
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


def _combined(seed: int, purpose: str) -> int:
    """Return one 64-bit seed of a seed and a purpose; neighboring seeds give unrelated ones."""
    entropy = np.random.SeedSequence([seed, *purpose.encode()])
    return int(entropy.generate_state(1, np.uint64)[0])
