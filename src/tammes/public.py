"""The public names of Tammes, which `import tammes` offers."""

from tammes import recipes
from tammes.contrast import BCL, Contrast, Hinge, InfoNCE, Logistic, Sigmoid, Softplus, SupCon, Triplet
from tammes.correction import Correction, Debias
from tammes.coupling import (
    Cost,
    Coupling,
    ExponentialEuclidean,
    Hard,
    SinkhornWarning,
    SquaredEuclidean,
    Transport,
    Uniform,
)
from tammes.matryoshka import Matryoshka
from tammes.mixing import HardMixing
from tammes.objective import Objective
from tammes.pairs import Pairs
from tammes.perturbation import (
    BeforeNormalization,
    Ellipsoid,
    FeatureModification,
    Perturbation,
    Renormalized,
    Shifted,
)
from tammes.products import quick_products
from tammes.selection import All, NotAbove, OtherLabels, Selection, Subset
from tammes.sources import (
    ContextWindow,
    Gather,
    InBatch,
    LearnedNegatives,
    NodesToGraphs,
    Queue,
    TwoTowers,
)
from tammes.temperature import LearnedTemperature

__all__ = [
    "BCL",
    "All",
    "BeforeNormalization",
    "ContextWindow",
    "Contrast",
    "Correction",
    "Cost",
    "Coupling",
    "Debias",
    "Ellipsoid",
    "ExponentialEuclidean",
    "FeatureModification",
    "Gather",
    "Hard",
    "HardMixing",
    "Hinge",
    "InBatch",
    "InfoNCE",
    "LearnedNegatives",
    "LearnedTemperature",
    "Logistic",
    "Matryoshka",
    "NodesToGraphs",
    "NotAbove",
    "Objective",
    "OtherLabels",
    "Pairs",
    "Perturbation",
    "Queue",
    "Renormalized",
    "Selection",
    "Shifted",
    "Sigmoid",
    "SinkhornWarning",
    "Softplus",
    "SquaredEuclidean",
    "Subset",
    "SupCon",
    "Transport",
    "Triplet",
    "TwoTowers",
    "Uniform",
    "quick_products",
    "recipes",
]
