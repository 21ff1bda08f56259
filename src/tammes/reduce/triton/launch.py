"""The shape of the kernels' programs, and the type in which they multiply: decided here and nowhere else."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


class Product(enum.Enum):
    """Type in which embeddings are multiplied. Sums are float32 in any case.

    Attributes:
        FULL: float32's digits, by three products of tensor cores (`tf32x3`).
        TF32: one product of tensor cores, with 10 bits of mantissa; what torch calls "high".
        BFLOAT16: embeddings rounded to 7 bits, twice as fast; in the backward pass slopes, too.
        FLOAT16: embeddings rounded to 10 bits. Slopes, which shrink with the square of the batch and would
            vanish in float16, are multiplied as TF32.
    """

    FULL = enum.auto()
    TF32 = enum.auto()
    BFLOAT16 = enum.auto()
    FLOAT16 = enum.auto()

    @property
    def kind(self) -> torch.dtype:
        """Type to which embeddings are rounded."""
        return {Product.BFLOAT16: torch.bfloat16, Product.FLOAT16: torch.float16}.get(self, torch.float32)

    @property
    def precision(self) -> str:
        """Triton's name for how float32 numbers are multiplied."""
        return "tf32x3" if self is Product.FULL else "tf32"

    @property
    def rounds_slopes(self) -> bool:
        """Whether slopes are rounded to the type of the embeddings."""
        return self is not Product.FLOAT16

    def rounded(self, embeddings: Tensor) -> Tensor:
        """Return the embeddings as the kernels read them: rounded, their features padded to a multiple of 16.

        With other numbers of features, rows would begin at addresses from which the device loads no 16 bytes
        at a time, and not while it computes.
        """
        missing = -embeddings.shape[1] % 16
        padded = functional.pad(embeddings, (0, missing)) if missing else embeddings
        rounded = padded.to(self.kind).contiguous()
        # Off a GPU Triton interprets, and its interpreter multiplies bfloat16 as if it were integers.
        return rounded if embeddings.is_cuda else rounded.float()


_ROOMY = 160 * 1024
"""Bytes of shared memory in a multiprocessor from which on three tiles of embeddings are loaded ahead."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Shape of a kernel's programs; the first four sizes are powers of two of at least 16.

    Args:
        rows: rows of a tile.
        columns: columns of a tile, at most `rows`.
        depth: features that are multiplied at a time.
        width: features of the gradient that a program gathers.
        warps: number of warps (of 32 threads) of a program.
        stages: number of tiles that are loaded ahead.
        programs: least number of programs that keeps all multiprocessors busy.

    Raises:
        ValueError: a size is not a power of two of at least 16, or a number is below 1.

    Example:
        >>> launch = Launch(rows=32, columns=16, depth=16, width=32, warps=4, stages=2, programs=8)
        >>> launch.splits(100, 100)
        2
    """

    rows: int
    columns: int
    depth: int
    width: int
    warps: int
    stages: int
    programs: int

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "depth", "width"):
            size = vars(self)[name]
            if not (isinstance(size, int) and size >= 16 and size & (size - 1) == 0):
                raise ValueError(f"{name} must be a power of two of at least 16, got {size}")
        if self.columns > self.rows:
            raise ValueError(f"a tile must not be wider than high, got {self.rows} x {self.columns}")
        if min(self.warps, self.stages, self.programs) < 1:
            raise ValueError(f"warps, stages and programs must be at least 1, got {self}")

    def splits(self, n: int, m: int, parts: int = 1) -> int:
        """Return into how many parts to split the columns where there are too few rows to fill the device."""
        blocks, steps = -(-n // self.rows), -(-m // self.columns)
        return max(1, min(steps, self.programs // (blocks * parts)))


def launch_for(d: int, product: Product, device: torch.device, *, gathers: bool) -> Launch:
    """Return the shape of programs for embeddings of d features.

    A tile and the gradient that a program gathers beside it must fit the registers; the tiles that are loaded
    ahead must fit the 99 KB of shared memory of the smallest devices. On larger devices more are loaded.

    Args:
        d: number of features.
        product: type of the products.
        device: device that runs the kernel.
        gathers: whether it is a backward pass, which gathers a gradient beside the tile.
    """
    features = max(16, 1 << (d - 1).bit_length())
    roomy = _shared_memory(device) >= _ROOMY
    if product is Product.FULL:  # each number is held as two
        rows, columns, at_once, in_parts, widest = 64, 64, 32, 32, 128
    elif product is Product.TF32:
        rows, columns, at_once, in_parts, widest = 64, 64, 128, 32, 256
    else:
        rows, columns, at_once, in_parts, widest = 128, 64 if gathers else 128, 128, 64, 256
    depth = features if features <= at_once else in_parts
    return Launch(
        rows=rows,
        columns=columns if not gathers or features <= 128 else columns // 2,
        depth=depth,
        width=min(features, widest) if gathers else depth,
        warps=8 if gathers or rows == 128 else 4,
        stages=3 if roomy and not gathers else 2,
        programs=2 * _multiprocessors(device),
    )


def _multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":
        return 2
    return torch.cuda.get_device_properties(device).multi_processor_count


def _shared_memory(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    return torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor
