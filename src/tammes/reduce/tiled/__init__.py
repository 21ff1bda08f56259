"""The reductions tile by tile, exact in value and gradient, in memory linear in the batch."""

from tammes.reduce.tiled.engine import LogSums, Tiled
from tammes.reduce.tiled.fixed_shift import Kernel

__all__ = ["Kernel", "LogSums", "Tiled"]
