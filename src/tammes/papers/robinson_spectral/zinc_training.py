"""Training of one base network with one encoding on the molecules of ZINC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tammes.data.zinc import ATOMS, BONDS, zinc
from tammes.papers.robinson_spectral.graph_regression import (
    BOND_WIDTH,
    Encoding,
    Parts,
    Regressor,
    SpectralGraphs,
    fit,
    with_eigenpairs,
)
from tammes.papers.robinson_spectral.molecules import encoded_fluorescein
from tammes.spectral import ConcatenatedConfig, GINConfig, PhiConfig, SignNet, SummedConfig
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, OneSignConfig, RandomFlips

if TYPE_CHECKING:
    from tammes.spectral.networks import GraphNetworkConfig

NONE, FLIPS, ABSOLUTE, CANONICAL = "none", "LapPE (flip)", "LapPE (abs.)", "LapPE (can.)"
SIGNNET, ONE_SIGN = "SignNet", "SignNet (φ(v) only)"
GATED, TRANSFORMER, GINE, PNA = "GatedGCN", "Sparse Transformer", "GINE", "PNA"
GIN, GAT = "GIN, no edge features", "GAT, no edge features"
EDGELESS = (TRANSFORMER, GIN, GAT)
"""Base networks that ignore the kinds of bonds."""


@dataclass(frozen=True, kw_only=True)
class ZincRun:
    """Settings of one training; `eigenvectors` is 0 for all of them, and for no encoding."""

    base: str
    encoding: str
    eigenvectors: int
    molecules: int
    epochs: int
    width: int
    layers: int = 4
    phi_width: int = 24
    phi_layers: int = 4
    batch_size: int = 64
    learning_rate: float = 1e-3
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class ZincScore:
    """Mean absolute errors, in the epoch that was best on the validation molecules."""

    test: float
    validation: float
    best_epoch: int
    parameters: int
    seconds_per_epoch: float


ENCODINGS: Mapping[str, Callable[[ZincRun], Encoding | None]] = {
    NONE: lambda run: None,
    FLIPS: lambda run: RandomFlips(run.eigenvectors, generator=torch.Generator().manual_seed(run.seed)),
    ABSOLUTE: lambda run: AbsoluteValues(run.eigenvectors),
    CANONICAL: lambda run: CanonicalSigns(
        run.eigenvectors, generator=torch.Generator().manual_seed(run.seed)
    ),
    SIGNNET: lambda run: _signnet(run, _gin(run)),
    ONE_SIGN: lambda run: _signnet(run, OneSignConfig(phi=_gin(run))),
}


def _gin(run: ZincRun) -> GINConfig:
    return GINConfig(width=run.phi_width, layers=run.phi_layers)


def _signnet(run: ZincRun, phi: PhiConfig) -> SignNet:
    """Return a SignNet with rho on the eigenvectors side by side, or on the sum of all of them."""
    rho = (
        ConcatenatedConfig(eigenvectors=run.eigenvectors, width=run.width)
        if run.eigenvectors
        else SummedConfig(width=run.width)
    )
    return SignNet(dim=run.width, phi=phi, rho=rho)


def measurer(data: Path, drawing: Path) -> Callable[[ZincRun], ZincScore]:
    """Read the molecules, and return the function that trains and measures.

    Args:
        data: folder of ZINC.
        drawing: file for the first SignNet's encodings of fluorescein.

    Raises:
        ValueError: where ZINC is not there, or cannot be read.
    """
    train, validation, test = zinc(data, "train"), zinc(data, "val"), zinc(data, "test")

    @cache
    def parts(eigenvectors: int, molecules: int) -> Parts:
        # The first molecules: the same ones for every seed and every encoding.
        first, count = train.subset(range(min(molecules, len(train)))), eigenvectors or None
        return (
            with_eigenpairs(first, count=count),
            with_eigenpairs(validation, count=count),
            with_eigenpairs(test, count=count),
        )

    def measure(run: ZincRun) -> ZincScore:
        graphs = parts(run.eigenvectors if run.encoding != NONE else 1, run.molecules)
        torch.manual_seed(run.seed)
        fitted = fit(
            _network(run, graphs[0]),
            graphs,
            epochs=run.epochs,
            batch_size=run.batch_size,
            learning_rate=run.learning_rate,
            seed=run.seed,
        )
        if run.encoding == SIGNNET and not drawing.exists():
            assert fitted.network.encoding is not None
            np.save(drawing, encoded_fluorescein(fitted.network.encoding, run.eigenvectors).numpy())
        return ZincScore(
            test=fitted.test[0],
            validation=fitted.validation,
            best_epoch=fitted.best_epoch,
            parameters=fitted.parameters,
            seconds_per_epoch=fitted.seconds_per_epoch,
        )

    return measure


def _network(run: ZincRun, train: SpectralGraphs) -> Regressor:
    from tammes.spectral.networks import Readout

    encoding = ENCODINGS[run.encoding](run)
    bonds = 0 if run.base in EDGELESS else BONDS
    features = run.width + (0 if encoding is None else encoding.dim)
    base = _base(run, train).build(features, edge_features=BOND_WIDTH if bonds else 0)
    readout = Readout(base.outputs, 1)
    return Regressor(nodes=ATOMS, bonds=bonds, width=run.width, encoding=encoding, base=base, readout=readout)


def _base(run: ZincRun, train: SpectralGraphs) -> GraphNetworkConfig:
    from tammes.spectral import networks  # which needs torch_geometric

    if run.base == PNA:
        return networks.PNAConfig(width=run.width, layers=run.layers, degrees=_degrees(train))
    config = {
        GATED: networks.GatedGCNConfig,
        TRANSFORMER: networks.SparseTransformerConfig,
        GAT: networks.GATConfig,
        GINE: networks.GINEConfig,
        GIN: networks.GINEConfig,
    }[run.base]
    return config(width=run.width, layers=run.layers)


def _degrees(train: SpectralGraphs) -> tuple[int, ...]:
    """Return the number of nodes with 0, 1, 2, ... neighbors."""
    graphs = train.graphs
    ends = graphs.edges[1] + graphs.node_starts[:-1].repeat_interleave(graphs.edge_starts.diff())
    return tuple(torch.bincount(torch.bincount(ends, minlength=len(graphs.nodes))).tolist())
