"""The reductions tile by tile, exact in value and gradient, in memory linear in the batch."""

from tammes.reduce.tiled.engine import Tiled
from tammes.reduce.tiled.fixed_shift import Kernel

__all__ = ["Kernel", "Tiled"]
