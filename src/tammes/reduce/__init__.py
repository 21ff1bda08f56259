"""The only code that sees a tile of the similarity matrix."""

from tammes.reduce.choice import choose
from tammes.reduce.dense import Dense
from tammes.reduce.displacement import AlongAnchor, Displacement, Movable, TowardsAnchor
from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.guide import Guide
from tammes.reduce.key_ranges import KeyRanges
from tammes.reduce.mixed import MixedNegatives, mixtures
from tammes.reduce.moved import MovedNegatives, MovedPositives, smallest_similarity
from tammes.reduce.negatives import Negatives
from tammes.reduce.positives import WeightedPositives
from tammes.reduce.softmax import SoftmaxLoss
from tammes.reduce.softplus import SoftplusLoss
from tammes.reduce.symmetric import SymmetricSoftmaxLoss
from tammes.reduce.tiled import Kernel, Tiled
from tammes.reduce.triton import Product, Triton
from tammes.reduce.weighted import Sample, WeightedNegatives

__all__ = [
    "AlongAnchor",
    "Dense",
    "Displacement",
    "Engine",
    "Exponent",
    "Guide",
    "Kernel",
    "KeyRanges",
    "MixedNegatives",
    "Movable",
    "MovedNegatives",
    "MovedPositives",
    "Negatives",
    "Pointwise",
    "Product",
    "Sample",
    "SoftmaxLoss",
    "SoftplusLoss",
    "SymmetricSoftmaxLoss",
    "Tiled",
    "TowardsAnchor",
    "Triton",
    "WeightedNegatives",
    "WeightedPositives",
    "choose",
    "mixtures",
    "smallest_similarity",
]
