"""Rows of Robinson (2023), Table E.6: the paper's errors, and our networks with the settings of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from torch import nn

from tammes.data.filter_images import FILTERS
from tammes.papers.robinson_spectral.filter_baselines import (
    BernNet,
    Convolutions,
    EigenvectorTransformer,
    GeneralizedPageRank,
    Separate,
    arma,
    chebyshev,
    flips,
    gat,
    gcn,
)
from tammes.papers.robinson_spectral.filter_networks import (
    Grid,
    NodeTransformer,
    OnEigenvectors,
    SetHead,
    basisnet,
    signnet,
)
from tammes.spectral.baselines import AbsoluteValues

GCN, GAT, GPR, ARMA = "GCN", "GAT", "GPR-GNN", "ARMA"
CHEBNET, BERNNET = "ChebNet", "BernNet"
TRANSFORMER, FLIPS, ABSOLUTE = "Transformer", "Transformer Eig Flip", "Transformer Eig Abs"
SIGNNET, BASISNET = "SignNet", "BasisNet"
"""The paper's DeepSets SignNet and DeepSets BasisNet."""
TRANSFORMER_SIGNNET, TRANSFORMER_BASISNET = f"{TRANSFORMER} {SIGNNET}", f"{TRANSFORMER} {BASISNET}"

PAPER: Mapping[str, Mapping[str, tuple[float, float]]] = {
    method: dict(zip(FILTERS, errors, strict=True))
    for method, errors in {
        GCN: ((0.111, 0.068), (3.092, 5.11), (1.720, 3.15), (1.418, 1.03), (1.753, 1.17)),
        GAT: ((0.113, 0.065), (0.954, 0.696), (1.105, 0.964), (0.543, 0.340), (0.638, 0.446)),
        GPR: ((0.033, 0.032), (0.012, 0.007), (0.137, 0.081), (0.256, 0.197), (0.369, 0.460)),
        ARMA: ((0.053, 0.029), (0.042, 0.024), (0.107, 0.039), (0.148, 0.089), (0.202, 0.116)),
        CHEBNET: ((0.003, 0.002), (0.001, 0.001), (0.005, 0.003), (0.009, 0.006), (0.022, 0.016)),
        BERNNET: ((0.001, 0.002), (0.001, 0.001), (0.000, 0.000), (0.048, 0.042), (0.027, 0.019)),
        TRANSFORMER: ((3.662, 1.97), (3.715, 1.98), (1.531, 1.30), (1.506, 1.29), (3.178, 1.93)),
        FLIPS: ((4.454, 2.32), (4.425, 2.38), (1.651, 1.53), (2.567, 1.73), (3.720, 1.94)),
        ABSOLUTE: ((2.727, 1.40), (3.172, 1.61), (1.264, 0.788), (1.445, 0.943), (2.607, 1.32)),
        SIGNNET: ((0.004, 0.013), (0.086, 0.405), (0.021, 0.115), (0.008, 0.037), (0.003, 0.016)),
        TRANSFORMER_SIGNNET: (
            (0.003, 0.016),
            (0.004, 0.025),
            (0.001, 0.004),
            (0.006, 0.023),
            (0.093, 0.641),
        ),
        BASISNET: ((0.009, 0.018), (0.003, 0.015), (0.008, 0.030), (0.004, 0.011), (0.015, 0.060)),
        TRANSFORMER_BASISNET: (
            (0.079, 0.471),
            (0.014, 0.038),
            (0.005, 0.018),
            (0.006, 0.016),
            (0.014, 0.051),
        ),
    }.items()
}
"""Table E.6, by method and then low, high, band, rejection, comb: mean and deviation over 50 images."""
OURS: Mapping[str, tuple[str, str]] = {
    SIGNNET: (SIGNNET, "DeepSets"),
    BASISNET: (BASISNET, "DeepSets"),
    TRANSFORMER_SIGNNET: (SIGNNET, "a Transformer"),
    TRANSFORMER_BASISNET: (BASISNET, "a Transformer"),
}
"""Network on eigenvectors and set network of each of the paper's methods."""
FEW = (SIGNNET, BASISNET, GPR, ARMA)
"""Rows of a small budget: those that the paper's first statement compares, each SignNet and BasisNet once."""
ON_EDGES = (GCN, GAT, GPR, ARMA, CHEBNET, BERNNET)
"""Rows of networks that read edges; the others get the graph as eigenvectors, or not at all."""

Build = Callable[[Grid], OnEigenvectors | Separate]
"""Constructor of the networks of all filters."""


def _separate(network: Callable[..., nn.Module], width: int, layers: int, grid: Grid) -> Separate:
    return Separate(lambda: network(grid, width=width, layers=layers))


def _four(network: Callable[..., nn.Module], narrow: int, wide: int) -> dict[str, Build]:
    """Return four settings of a baseline: 2 or 4 layers, narrow or as wide as the limit lets 4 layers be."""
    return {
        f"{layers} layers of {width}": partial(_separate, network, width, layers)
        for layers in (2, 4)
        for width in (narrow, wide)
    }


_ATTENTION = partial(NodeTransformer, width=16, layers=2)
BUILD: Mapping[str, Mapping[str, Build]] = {
    SIGNNET: {"one": partial(signnet, SetHead)},
    BASISNET: {"one": partial(basisnet, SetHead)},
    GPR: _four(GeneralizedPageRank, 32, 128),
    ARMA: _four(partial(Convolutions, arma), 32, 70),
    GCN: _four(partial(Convolutions, gcn), 32, 128),
    GAT: _four(partial(Convolutions, gat), 32, 124),
    CHEBNET: _four(partial(Convolutions, chebyshev), 32, 74),
    BERNNET: _four(BernNet, 32, 128),
    TRANSFORMER: _four(partial(EigenvectorTransformer, None), 32, 44),
    # A column of 1,024 weights for each channel leaves room for 28.
    FLIPS: _four(partial(EigenvectorTransformer, flips), 16, 28),
    ABSOLUTE: _four(partial(EigenvectorTransformer, AbsoluteValues), 16, 28),
    TRANSFORMER_SIGNNET: {"one": partial(signnet, _ATTENTION)},
    TRANSFORMER_BASISNET: {"one": partial(basisnet, _ATTENTION)},
}
"""Constructors by method and setting; each network has at most 50,000 parameters for each filter.

All baselines have four settings. For networks on edges they are the paper's; for transformers the paper has
one, of 3 layers.
"""
