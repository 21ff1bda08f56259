"""What the loss will take at a size that was not tried: time, memory and exchanges, from measured rates.

Every pair of rows is compared, so that the work is known beforehand, in products of embeddings:

    one device                              16 N^2 d        operations for N pairs of d features
    W processes on a CPU, shared tiles      16 N^2 d / W    each
    W GPUs, own anchors against all rows    40 N^2 d / W    each: S has 2 N rows, and takes five products

Two batches that are timed give the operations a second, and the seconds that a step takes whatever its size.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tammes import recipes
from tammes.checks import check_integer, check_number
from tammes.objective import Objective
from tammes.pairs import Pairs

_ONE, _AGAINST_ALL = 16, 40
"""Operations for N^2 d."""
_BYTES = {"cpu": 28.0, "cuda": 12.0}
"""Memory for each number of the 2 N d, measured on 16,384 pairs: rows of unit length, rows as they are
multiplied, gradients, and what is between them."""
_TIMED = {"cpu": (64, 2048), "cuda": (64, 16384)}
"""Pairs that are timed."""
_MOST = 10**12


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What a device does.

    Attributes:
        operations: operations a second.
        start: seconds that a step takes whatever its size.

    Raises:
        ValueError: a rate that is not above zero, or negative seconds.

    Example:
        >>> Rates(operations=4e14, start=1e-3).seconds(16 * 4096**2 * 128)
        0.0010858...
    """

    operations: float
    start: float = 0.0

    def __post_init__(self) -> None:
        check_number("operations", self.operations, above=0, reason="they are operations a second")
        check_number("start", self.start, minimum=0, reason="these are seconds")

    def seconds(self, operations: float) -> float:
        """Return the seconds that a step with so much work takes."""
        return self.start + operations / self.operations

    @staticmethod
    def measured(dim: int, device: torch.device, kind: torch.dtype, *, devices: int = 1) -> Rates:
        """Return the rates of this machine, from steps with SimCLR's loss that are timed now.

        Takes some seconds. A loss of hard negatives takes 1.0 to 1.4 times as long.

        Args:
            dim: number of features.
            device: device that is timed.
            kind: type of the embeddings.
            devices: how many will share the batch; several GPUs take their anchors against all rows, and
                are timed with such pairs.
        """
        objective, apart = recipes.simclr(temperature=0.5), devices > 1 and device.type == "cuda"
        few, many = _TIMED[device.type]
        # One-way pairs are the anchors of half of the rows: a quarter of what all rows take.
        per = (_AGAINST_ALL / 4 if apart else _ONE) * dim
        quick, slow = (_seconds(_step(objective, n, dim, device, kind, apart), device) for n in (few, many))
        rate = per * (many**2 - few**2) / max(slow - quick, 1e-9)
        return Rates(operations=rate, start=max(0.0, quick - per * few**2 / rate))


def _step(
    objective: Objective, n: int, dim: int, device: torch.device, kind: torch.dtype, apart: bool
) -> Callable[[], None]:
    """Return a step on n pairs: of views, or one-way."""
    generator = torch.Generator(device).manual_seed(0)
    a, b = (torch.randn(n, dim, generator=generator, device=device, dtype=kind) for _ in range(2))

    def step() -> None:
        first, second = a.detach().requires_grad_(), b.detach().requires_grad_()
        loss = objective(Pairs.aligned(first, second)) if apart else objective(first, second)
        loss.backward()

    return step


def _seconds(work: Callable[[], None], device: torch.device) -> float:
    """Return the median of five calls, after two that warm up."""

    def once() -> float:
        start = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter() - start

    return statistics.median([once() for _ in range(7)][2:])


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A step on a batch of pairs that devices share.

    Args:
        pairs: pairs of the whole batch.
        dim: number of features.
        devices: devices that share it.
        on_gpu: whether they are GPUs, which take their own anchors against all rows; processes on CPUs
            share tiles.
        kind: type in which embeddings are sent; gradients are sent in float32.

    Raises:
        ValueError: a number below 1, or more devices than pairs.

    Example:
        >>> plan = Plan(pairs=4_194_304, dim=128, devices=8, on_gpu=True, kind=torch.bfloat16)
        >>> round(plan.seconds(Rates(operations=4.26e14)))
        26
        >>> f"{plan.received / 1e9:.1f} GB, {plan.sent / 1e9:.1f} GB"
        '1.9 GB, 3.8 GB'
    """

    pairs: int
    dim: int
    devices: int = 1
    on_gpu: bool = False
    kind: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        for name in ("pairs", "dim", "devices"):
            check_integer(name, getattr(self, name))
            check_number(name, getattr(self, name), maximum=_MOST)
        if self.devices > self.pairs:
            raise ValueError(
                f"expected at least one pair for every device, got {self.pairs:,} pairs and {self.devices:,} "
                "devices: take fewer devices, or a larger batch"
            )

    @property
    def operations(self) -> float:
        """Operations of one device in a step."""
        per = _AGAINST_ALL if self.on_gpu and self.devices > 1 else _ONE
        return per * self.pairs**2 * self.dim / self.devices

    @property
    def memory(self) -> float:
        """Bytes that the loss takes on every device: linear in the batch, and not less on more devices."""
        return _BYTES["cuda" if self.on_gpu else "cpu"] * 2 * self.pairs * self.dim

    @property
    def received(self) -> float:
        """Bytes of embeddings that every device receives in a step."""
        return 2 * self.pairs * self.dim * self.kind.itemsize * (1 - 1 / self.devices)

    @property
    def sent(self) -> float:
        """Bytes of gradients that every device sends back in a step."""
        return 2 * self.pairs * self.dim * 4 * (1 - 1 / self.devices)

    def seconds(self, rates: Rates) -> float:
        """Return the seconds of the loss in a step, forward and backward, without exchanges."""
        return rates.seconds(self.operations)

    def steps(self, rows: int) -> int:
        """Return the steps of an epoch; rows that do not fill a batch are left out.

        Raises:
            ValueError: fewer rows than a batch has pairs.
        """
        if check_integer("rows", rows) < self.pairs:
            raise ValueError(
                f"expected at least as many rows as a batch has pairs, got {rows:,} rows and batches of "
                f"{self.pairs:,}: take a smaller batch"
            )
        return math.floor(rows / self.pairs)
