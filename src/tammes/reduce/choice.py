"""The choice of the engine that reduces a given S: made here and nowhere else."""

from __future__ import annotations

import functools
import warnings

import torch

from tammes.reduce.engine import Engine
from tammes.reduce.negatives import Negatives
from tammes.reduce.tiled.engine import Tiled
from tammes.reduce.triton import Product, Triton, is_installed

_CPU = Tiled()
_LARGE = Tiled(side=4096)
"""Tiles for a device that has no cache to stay in, but launches to save: a few times 64 MB."""
_OLDEST = (8, 0)
"""The compute capability from which on tensor cores know the types that the kernels multiply."""


def choose(negatives: Negatives, given: torch.dtype | None = None) -> Engine:
    """Return the engine for these negatives: fused kernels on an NVIDIA GPU, tiles elsewhere.

    Small batches have no engine of their own: `benchmarks/cpu.py` measures tiles against dense formulas from
    64 pairs up.

    Args:
        negatives: the entries of S to reduce.
        given: type of the embeddings before they were brought to full precision. A GPU multiplies in it if
            it has 16 bits.
    """
    device = negatives.anchors.device
    if device.type != "cuda":
        return _CPU
    if has_kernels(device):
        return Triton(product=product_for(given), otherwise=_LARGE)
    if is_installed() and torch.version.hip is None:
        _warn_of_tensor_cores(torch.cuda.get_device_name(device))
    return _LARGE


@functools.cache
def _warn_of_tensor_cores(device: str) -> None:
    """Warn once of each kind of device."""
    warnings.warn(
        f"the tensor cores of {device} are older than compute capability {_OLDEST[0]}.{_OLDEST[1]}, which "
        "the kernels need: losses are computed tile by tile, exactly, but more slowly",
        stacklevel=3,
    )


def has_kernels(device: torch.device) -> bool:
    """Return whether the kernels run on a device.

    Example:
        >>> has_kernels(torch.device("cpu"))
        False
    """
    if device.type != "cuda" or not is_installed() or torch.version.hip is not None:
        return False
    return torch.cuda.get_device_capability(device) >= _OLDEST


def product_for(given: torch.dtype | None) -> Product:
    """Return the type in which a GPU multiplies embeddings of type `given`.

    float32 follows the setting of torch: full precision, unless TF32 is allowed.

    Example:
        >>> product_for(torch.bfloat16)
        <Product.BFLOAT16: 3>
    """
    if given == torch.bfloat16:
        return Product.BFLOAT16
    if given == torch.float16:
        return Product.FLOAT16
    return Product.TF32 if torch.backends.cuda.matmul.fp32_precision == "tf32" else Product.FULL
