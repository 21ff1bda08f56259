"""Which engine reduces a given S. Decided here and nowhere else."""

from __future__ import annotations

import torch

from tammes.reduce.engine import Engine
from tammes.reduce.negatives import Negatives
from tammes.reduce.tiled.engine import Tiled
from tammes.reduce.triton import Product, Triton, is_installed

_LARGE = Tiled(side=4096)
"""Tiles for a device that has no cache to stay in, but launches to save: a few times 64 MB."""
_OLDEST = (8, 0)
"""The compute capability from which on tensor cores know the types that the kernels multiply."""


def choose(negatives: Negatives, given: torch.dtype | None = None) -> Engine:
    """The engine for these negatives: fused kernels on an NVIDIA GPU, tiles elsewhere.

    There is none for small batches: `benchmarks/cpu.py` measures tiles against dense formulas from 64 pairs
    up.

    Args:
        negatives: what is to be reduced.
        given: the type in which the embeddings came, before they were brought to full precision. Where it
            has 16 bits, a GPU multiplies in it too.
    """
    device = negatives.anchors.device
    if device.type != "cuda":
        return Tiled()
    if is_installed() and torch.version.hip is None and torch.cuda.get_device_capability(device) >= _OLDEST:
        return Triton(product=product_for(given), otherwise=_LARGE)
    return _LARGE


def product_for(given: torch.dtype | None) -> Product:
    """In which type a GPU multiplies embeddings that came in type `given`.

    float32 is multiplied as torch was told to multiply it: in full, unless TF32 was allowed.

    Example:
        >>> product_for(torch.bfloat16)
        <Product.BFLOAT16: 3>
    """
    if given == torch.bfloat16:
        return Product.BFLOAT16
    if given == torch.float16:
        return Product.FLOAT16
    return Product.TF32 if torch.backends.cuda.matmul.fp32_precision == "tf32" else Product.FULL
