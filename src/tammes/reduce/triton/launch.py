"""The shape of the kernels' programs, and the type in which they multiply: decided here and nowhere else."""

from __future__ import annotations

import dataclasses
import enum
import functools
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tammes.checks import check_integer, is_integer


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


_GATHERED = {Product.BFLOAT16: 256, Product.TF32: 64, Product.FULL: 32}
"""The most features whose gradient programs gather as quickly as strips of slopes and products give it.

From benchmarks/gpu.py on an H200. Strips of FLOAT16, whose products have two types, are not built.
"""
_STRIP = 2048
"""Rows of a strip: enough for quick products, and few beside the thousands of features that memory holds."""


_MOST_WARPS = 32
"""A program has at most 1,024 threads."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Shape of a kernel's programs; the first four sizes are powers of two of at least 16.

    Args:
        rows: rows of a tile.
        columns: columns of a tile, at most `rows`.
        depth: features that are multiplied at a time.
        width: features of the gradient that a program gathers.
        warps: number of warps (of 32 threads) of a program, a power of two up to 32.
        stages: number of tiles that are loaded ahead.
        programs: least number of programs that keeps all multiprocessors busy.
        strip: of a backward pass whose slopes are written to memory, strip by strip (`strips.py`), the rows
            of a strip, a multiple of `rows`; 0 for programs that gather the gradient themselves.

    Raises:
        ValueError: a size is not a power of two of at least 16, `warps` is none up to 32, a number is below
            1, or `strip` is no multiple of `rows`.

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
    strip: int = 0

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "depth", "width"):
            size = vars(self)[name]
            if not (is_integer(size, minimum=16) and _is_power_of_two(size)):
                raise ValueError(f"{name} must be a power of two of at least 16, got {size!r}")
        if self.columns > self.rows:
            raise ValueError(f"a tile must not be wider than high, got {self.rows} x {self.columns}")
        if not (is_integer(self.warps) and self.warps <= _MOST_WARPS and _is_power_of_two(self.warps)):
            raise ValueError(f"warps must be a power of two from 1 to {_MOST_WARPS}, got {self.warps!r}")
        check_integer("stages", self.stages)
        check_integer("programs", self.programs)
        if not is_integer(self.strip, minimum=0) or self.strip % self.rows:
            raise ValueError(
                f"strip must be a multiple of the {self.rows} rows of a tile, got {self.strip!r}"
            )

    def splits(self, n: int, m: int, parts: int = 1) -> int:
        """Return into how many parts to split the columns where there are too few rows to fill the device."""
        blocks, steps = -(-n // self.rows), -(-m // self.columns)
        return max(1, min(steps, self.programs // (blocks * parts)))


def _is_power_of_two(size: int) -> bool:
    return size & (size - 1) == 0


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
    if not gathers:
        rows, columns, depth, width, warps = 128, 64, 128 if features <= 128 else 64, 64, 4
        if product in (Product.FULL, Product.TF32):
            depth = 32
    elif product is Product.FULL:  # each number is held as two
        rows, columns, depth, width, warps = 128, 64, 32, 128, 8
    elif product is Product.TF32:
        rows, columns, depth, width, warps = 128, 64, 128 if features <= 128 and roomy else 32, 128, 8
    elif features <= 128:
        rows, columns, depth, width, warps = 128, 64, 128, 128, 4
    elif features == 256 and roomy:
        rows, columns, depth, width, warps = 64, 64, 256, 256, 4
    else:
        rows, columns, depth, width, warps = 128, 64, 64, 256, 8
    held = gathers and (product in (Product.FULL, Product.TF32) or features == 256)
    depth = min(features, depth)
    return Launch(
        rows=rows,
        columns=columns,
        depth=depth,
        width=min(features, width) if gathers else depth,
        warps=warps,
        stages=3 if roomy and not held else 2,
        programs=2 * _multiprocessors(device),
    )


def strips_for(d: int, product: Product, device: torch.device) -> Launch | None:
    """Return the shape of programs that write slopes strip by strip; None where others are quicker.

    torch multiplies float32 as its setting says. Where that is another type than `product`, programs gather.

    Args:
        d: number of features.
        product: type of the products.
        device: device that runs the kernel.
    """
    rounds = torch.backends.cuda.matmul.fp32_precision == "tf32"
    if d <= _GATHERED.get(product, d) or (
        product.kind == torch.float32 and rounds is (product is Product.FULL)
    ):
        return None
    usual = launch_for(d, product, device, gathers=False)
    if product is Product.BFLOAT16:
        usual = dataclasses.replace(usual, columns=128, warps=8)
    return dataclasses.replace(usual, strip=_STRIP)


@functools.cache
def _multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":
        return 2
    return torch.cuda.get_device_properties(device).multi_processor_count


@functools.cache
def _shared_memory(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    return torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor
