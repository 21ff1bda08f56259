"""Training of one base network with one encoding on the molecules of ZINC."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import torch

from tammes.atomic import write_atomically
from tammes.data.labeled_graphs import LabeledGraphs
from tammes.data.zinc import ATOMS, BONDS, zinc
from tammes.papers.robinson_spectral.graph_regression import (
    Encoding,
    Fit,
    Parts,
    Regressor,
    fit,
    fit_constant,
    with_eigenpairs,
)
from tammes.papers.robinson_spectral.molecules import encoded_fluorescein
from tammes.spectral import ConcatenatedConfig, GINConfig, PhiConfig, SignNet, SummedConfig
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, OneSignConfig, RandomFlips

if TYPE_CHECKING:
    from tammes.spectral.networks import GraphNetworkConfig

NONE, FLIPS, ABSOLUTE, CANONICAL = "none", "LapPE (flip)", "LapPE (abs.)", "LapPE (can.)"
SIGNNET, ONE_SIGN = "SignNet", "SignNet (φ(v) only)"
CONSTANT, UNTRAINED = "best constant", "SignNet, untrained"
GATED, TRANSFORMER, GINE, PNA = "GatedGCN", "Sparse Transformer", "GINE", "PNA"
GIN, GAT = "GIN, no edge features", "GAT, no edge features"
LEARNING_RATE = 1e-3
EDGELESS = (TRANSFORMER, GIN, GAT)
"""Base networks that ignore the kinds of bonds."""


@dataclass(frozen=True, kw_only=True)
class ZincRun:
    """Settings of one training; `eigenvectors` is 0 for all of them, and for no encoding.

    `molecules` is the largest number of training, of validation and of test molecules. The base network
    `CONSTANT` predicts a constant; with the encoding `UNTRAINED`, there are no epochs.
    """

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
    learning_rate: float = LEARNING_RATE
    seed: int = 0

    @property
    def setting(self) -> tuple[str, str, int]:
        """Row of the paper's tables: base network, encoding and number of eigenvectors."""
        return self.base, self.encoding, self.eigenvectors


@dataclass(frozen=True, kw_only=True)
class ZincScore:
    """Mean absolute errors, in the epoch that was best on the validation molecules."""

    test: float
    validation: float
    best_epoch: int
    parameters: int
    seconds_per_epoch: float

    @staticmethod
    def of(fitted: Fit) -> ZincScore:
        """Return the score of a trained network; the test error is the mean over the targets."""
        return ZincScore(
            test=fmean(fitted.test),
            validation=fitted.validation,
            best_epoch=fitted.best_epoch,
            parameters=fitted.parameters,
            seconds_per_epoch=fitted.seconds_per_epoch,
        )


ENCODINGS: Mapping[str, Callable[[ZincRun], Encoding | None]] = {
    NONE: lambda run: None,
    FLIPS: lambda run: RandomFlips(run.eigenvectors, generator=torch.Generator().manual_seed(run.seed)),
    ABSOLUTE: lambda run: AbsoluteValues(run.eigenvectors),
    CANONICAL: lambda run: CanonicalSigns(
        run.eigenvectors, generator=torch.Generator().manual_seed(run.seed)
    ),
    SIGNNET: lambda run: _signnet(run, _gin(run)),
    UNTRAINED: lambda run: _signnet(run, _gin(run)),
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
        first = (part.subset(range(min(molecules, len(part)))) for part in (train, validation, test))
        return tuple(with_eigenpairs(part, count=eigenvectors or None) for part in first)

    def measure(run: ZincRun) -> ZincScore:
        graphs = parts(run.eigenvectors if run.encoding != NONE else 1, run.molecules)
        return ZincScore.of(_fitted(run, graphs, drawing))

    return measure


def _fitted(run: ZincRun, graphs: Parts, drawing: Path) -> Fit:
    if run.base == CONSTANT:
        return fit_constant(tuple(part.graphs for part in graphs))
    torch.manual_seed(run.seed)
    network = _network(run, graphs[0].graphs)
    fitted = fit(
        network,
        graphs,
        epochs=run.epochs,
        batch_size=run.batch_size,
        learning_rate=run.learning_rate,
        seed=run.seed,
    )
    if run.encoding == SIGNNET and not drawing.exists():
        assert network.encoding is not None
        file = io.BytesIO()
        np.save(file, encoded_fluorescein(network.encoding, run.eigenvectors).numpy())
        write_atomically(drawing, file.getvalue())  # other processes may write it, too
    return fitted


def _network(run: ZincRun, train: LabeledGraphs) -> Regressor:
    return Regressor(
        nodes=ATOMS,
        bonds=0 if run.base in EDGELESS else BONDS,
        width=run.width,
        encoding=ENCODINGS[run.encoding](run),
        base=_base(run, train),
        targets=1,
    )


def _base(run: ZincRun, train: LabeledGraphs) -> GraphNetworkConfig:
    from torch_geometric.data import Data

    from tammes.spectral import networks  # which needs torch_geometric

    if run.base == PNA:
        degrees = networks.degree_counts([Data(edge_index=train.joined_edges, num_nodes=len(train.nodes))])
        return networks.PNAConfig(width=run.width, layers=run.layers, degrees=degrees)
    config = {
        GATED: networks.GatedGCNConfig,
        TRANSFORMER: networks.SparseTransformerConfig,
        GAT: networks.GATConfig,
        GINE: networks.GINEConfig,
        GIN: networks.GINEConfig,
    }[run.base]
    return config(width=run.width, layers=run.layers)
