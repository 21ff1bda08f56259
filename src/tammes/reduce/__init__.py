"""The only code that sees a tile of the similarity matrix."""

from tammes.reduce.choice import choose
from tammes.reduce.dense import Dense
from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.positives import Positives
from tammes.reduce.tiled.engine import LogSums, Tiled
from tammes.reduce.tiled.fixed_shift import Kernel
from tammes.reduce.triton import Product, Triton
from tammes.reduce.weighted import WeightedNegatives

__all__ = [
    "Dense",
    "Engine",
    "Exponent",
    "Kernel",
    "LogSums",
    "Negatives",
    "Pointwise",
    "Positives",
    "Product",
    "Tiled",
    "Triton",
    "WeightedNegatives",
    "choose",
]
