"""The reductions on a GPU, by fused kernels."""

from tammes.reduce.triton.engine import Triton, is_installed
from tammes.reduce.triton.launch import Launch, Product

__all__ = ["Launch", "Product", "Triton", "is_installed"]
