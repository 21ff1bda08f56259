"""The machine that the numbers were measured on, and its rate of matrix products."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import torch

from tammes.training.environment import processor
from timing import side_by_side

_PACKAGES = (
    "tammes",
    "torch",
    "numpy",
    "POT",
    "geomloss",
    "pytorch-metric-learning",
    "sentence-transformers",
)
_TILE, _LARGE = 512, 2048


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Floating-point operations a second of float32 matrix products.

    Args:
        tile: rate of (512, d) by (d, 512), the product of a tile of similarities.
        large: rate of two square matrices of 2,048 rows.
    """

    tile: float
    large: float

    @property
    def best(self) -> float:
        """The faster of the two rates."""
        return max(self.tile, self.large)


def matmul_rate(dim: int) -> Rate:
    """Return the machine's current rates, medians of several products."""
    left, right = torch.randn(_TILE, dim), torch.randn(_TILE, dim)
    square, tile = torch.randn(_LARGE, _LARGE), torch.empty(_TILE, _TILE)
    product = torch.empty_like(square)
    times = side_by_side(
        {
            "tile": lambda: torch.mm(left, right.T, out=tile),
            "large": lambda: torch.mm(square, square, out=product),
        },
        budget=0.4,
    )
    return Rate(tile=2 * _TILE**2 * dim / times["tile"].median, large=2 * _LARGE**3 / times["large"].median)


def description() -> str:
    """Return a line with the processor, its vector instructions, threads and the versions of all packages."""
    versions = ", ".join(f"{package} {_version(package)}" for package in _PACKAGES)
    return (
        f"{processor()} with {instructions()}, {torch.get_num_threads()} threads; "
        f"Python {platform.python_version()}, {versions}"
    )


def instructions() -> str:
    """Return the vector instructions that torch uses here, such as AVX2 or AVX512."""
    return str(torch.backends.cpu.get_cpu_capability())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
