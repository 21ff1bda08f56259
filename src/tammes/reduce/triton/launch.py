"""How a kernel is cut into programs, and in which type it multiplies. Decided here and nowhere else."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
from torch import Tensor


class Product(enum.Enum):
    """In which type embeddings are multiplied. Sums are float32 in any case.

    Attributes:
        FULL: float32's digits, by three products of tensor cores (`tf32x3`).
        TF32: one product of tensor cores, of 10 bits behind the point; what torch calls "high".
        BFLOAT16: embeddings rounded to 7 bits, twice as fast; slopes too in the backward pass.
        FLOAT16: embeddings rounded to 10 bits. Slopes, which shrink with the square of the batch and would
            vanish in float16, are multiplied as TF32.
    """

    FULL = enum.auto()
    TF32 = enum.auto()
    BFLOAT16 = enum.auto()
    FLOAT16 = enum.auto()

    @property
    def kind(self) -> torch.dtype:
        """The type to which embeddings are rounded."""
        return {Product.BFLOAT16: torch.bfloat16, Product.FLOAT16: torch.float16}.get(self, torch.float32)

    @property
    def precision(self) -> str:
        """What Triton calls the way in which float32 numbers are multiplied."""
        return "tf32x3" if self is Product.FULL else "tf32"

    @property
    def rounds_slopes(self) -> bool:
        """Whether slopes are brought to the type of the embeddings."""
        return self is not Product.FLOAT16

    def rounded(self, embeddings: Tensor) -> Tensor:
        """The embeddings as the kernels read them."""
        rounded = embeddings.to(self.kind).contiguous()
        # Off a GPU stands Triton's interpreter, which takes bfloat16 for whole numbers when it multiplies.
        return rounded if embeddings.is_cuda else rounded.float()


_ROOMY = 160 * 1024
"""From how many bytes of shared memory on (in a multiprocessor) a third tile of embeddings may wait."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The shape of a kernel's programs; all sizes are powers of two.

    Args:
        rows: rows of a tile, at least 16.
        columns: columns of a tile, at least 16; no more than `rows`.
        depth: features that are multiplied at a time, at least 16.
        width: features of the gradient that a program gathers, at least 16.
        warps: of 32 threads, for each program.
        stages: how many tiles are loaded ahead.
        programs: how many there should be at least, so that no multiprocessor waits.

    Raises:
        ValueError: a size that is no such power of two.

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
        """Into how many parts the columns are split where there are too few rows to fill the device."""
        blocks, steps = -(-n // self.rows), -(-m // self.columns)
        return max(1, min(steps, self.programs // (blocks * parts)))


def launch_for(d: int, product: Product, device: torch.device, *, gathers: bool) -> Launch:
    """The shape for embeddings of d features.

    The tile, the gradient that a program gathers beside it and the tiles that wait in shared memory must fit
    the registers and the 99 KB of the smallest devices; on larger ones more tiles wait.

    Args:
        d: the number of features.
        product: the type of the products.
        device: where the kernel runs.
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
