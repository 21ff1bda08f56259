"""Cells of the experiments on molecules: one base network with one encoding, trained and measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tammes.data.published_files import Part
from tammes.data.zinc import ATOMS, BONDS, zinc
from tammes.papers.robinson_spectral.regression import (
    BOND_WIDTH,
    Encoded,
    Encoding,
    FitConfig,
    Fitted,
    Regressor,
    encoded,
    fit,
)
from tammes.papers.robinson_spectral.zinc_drawing import encoded_fluorescein
from tammes.spectral import ConcatenatedConfig, GINConfig, PhiConfig, SignNet, SummedConfig
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, OneSignConfig, RandomFlips

if TYPE_CHECKING:
    from tammes.spectral.networks import GraphNetworkConfig

NONE, FLIPS, ABSOLUTE, CANONICAL = "none", "LapPE (flip)", "LapPE (abs.)", "LapPE (can.)"
SIGNNET, ONE_SIGN = "SignNet", "SignNet (φ(v) only)"
GATED, TRANSFORMER, GINE, PNA = "GatedGCN", "Sparse Transformer", "GINE", "PNA"
GIN, GAT = "GIN, no edge features", "GAT, no edge features"
PARTS: tuple[Part, ...] = ("train", "val", "test")
EDGELESS = (TRANSFORMER, GIN, GAT)
"""Base networks that see no kinds of bonds."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training; `eigenvectors` is 0 for all of them, and where there is no encoding."""

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
class Measured:
    """Mean absolute errors, in the epoch that was best on the validation molecules."""

    test: float
    validation: float
    best_epoch: int
    parameters: int
    seconds_per_epoch: float


ENCODINGS: Mapping[str, Callable[[Cell], Encoding | None]] = {
    NONE: lambda cell: None,
    FLIPS: lambda cell: RandomFlips(cell.eigenvectors, generator=torch.Generator().manual_seed(cell.seed)),
    ABSOLUTE: lambda cell: AbsoluteValues(cell.eigenvectors),
    CANONICAL: lambda cell: CanonicalSigns(
        cell.eigenvectors, generator=torch.Generator().manual_seed(cell.seed)
    ),
    SIGNNET: lambda cell: _signnet(cell, _gin(cell)),
    ONE_SIGN: lambda cell: _signnet(cell, OneSignConfig(phi=_gin(cell))),
}


def _gin(cell: Cell) -> GINConfig:
    return GINConfig(width=cell.phi_width, layers=cell.phi_layers)


def _signnet(cell: Cell, phi: PhiConfig) -> SignNet:
    """With rho on the eigenvectors side by side, or on the sum of all of them."""
    rho = (
        ConcatenatedConfig(eigenvectors=cell.eigenvectors, width=cell.width, normalize=True)
        if cell.eigenvectors
        else SummedConfig(width=cell.width, normalize=True)
    )
    return SignNet(dim=cell.width, phi=phi, rho=rho)


class Laboratory:
    """The molecules, decomposed once for each number of eigenvectors.

    Args:
        data: where ZINC is.
        drawn: the file that keeps what the first SignNet makes of fluorescein, for the page.

    Raises:
        ValueError: where ZINC is not there, or cannot be read.
    """

    def __init__(self, data: Path, drawn: Path) -> None:
        self._train, self._validation, self._test = (zinc(data, part) for part in PARTS)
        self._drawn = drawn
        self._parts = cache(self._encoded)

    def measure(self, cell: Cell) -> Measured:
        """Train and measure one cell."""
        fitted = self._fitted(cell)
        if cell.encoding == SIGNNET and not self._drawn.exists():
            np.save(self._drawn, encoded_fluorescein(fitted.network, cell.eigenvectors).numpy())
        return Measured(
            test=fitted.test[0],
            validation=fitted.validation,
            best_epoch=fitted.best_epoch,
            parameters=fitted.parameters,
            seconds_per_epoch=fitted.seconds_per_epoch,
        )

    def _fitted(self, cell: Cell) -> Fitted:
        parts = self._parts(cell.eigenvectors if cell.encoding != NONE else 1, cell.molecules)
        torch.manual_seed(cell.seed)
        config = FitConfig(
            epochs=cell.epochs,
            batch_size=cell.batch_size,
            learning_rate=cell.learning_rate,
            seed=cell.seed,
        )
        return fit(_network(cell, parts[0]), parts, config)

    def _encoded(self, eigenvectors: int, molecules: int) -> tuple[Encoded, Encoded, Encoded]:
        # The first ones: the same molecules for every seed and every encoding.
        train = self._train.subset(range(min(molecules, len(self._train))))
        count = eigenvectors or None
        return (
            encoded(train, count=count),
            encoded(self._validation, count=count),
            encoded(self._test, count=count),
        )


def _network(cell: Cell, train: Encoded) -> Regressor:
    from tammes.spectral.networks import Readout

    encoding = ENCODINGS[cell.encoding](cell)
    bonds = 0 if cell.base in EDGELESS else BONDS
    features = cell.width + (0 if encoding is None else encoding.dim)
    base = _base(cell, train).build(features, edge_features=BOND_WIDTH if bonds else 0)
    return Regressor(
        nodes=ATOMS,
        bonds=bonds,
        width=cell.width,
        encoding=encoding,
        base=base,
        readout=Readout(base.outputs, 1),
    )


def _base(cell: Cell, train: Encoded) -> GraphNetworkConfig:
    # torch_geometric is imported here, where it is needed.
    from tammes.spectral.networks import (
        GATConfig,
        GatedGCNConfig,
        GINEConfig,
        PNAConfig,
        SparseTransformerConfig,
    )

    if cell.base == GATED:
        return GatedGCNConfig(width=cell.width, layers=cell.layers)
    if cell.base == TRANSFORMER:
        return SparseTransformerConfig(width=cell.width, layers=cell.layers)
    if cell.base == GAT:
        return GATConfig(width=cell.width, layers=cell.layers)
    if cell.base == PNA:
        return PNAConfig(width=cell.width, layers=cell.layers, degrees=_degrees(train))
    assert cell.base in (GINE, GIN), "cells are made here"
    return GINEConfig(width=cell.width, layers=cell.layers)


def _degrees(train: Encoded) -> tuple[int, ...]:
    """How many nodes have 0, 1, 2, ... neighbors."""
    graphs = train.graphs
    ends = graphs.edges[1] + graphs.node_starts[:-1].repeat_interleave(graphs.edge_starts.diff())
    return tuple(torch.bincount(torch.bincount(ends, minlength=len(graphs.nodes))).tolist())
