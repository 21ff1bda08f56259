"""Training of one network on the molecules of ZINC-full or of Alchemy, with or without SignNet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from tammes.data import alchemy, zinc
from tammes.data.labeled_graphs import LabeledGraphs
from tammes.papers.robinson_spectral.graph_regression import (
    Fit,
    Parts,
    Plateau,
    Regressor,
    fit,
    fit_constant,
    with_eigenpairs,
)
from tammes.papers.robinson_spectral.zinc_training import CONSTANT, GATED, GINE, NONE, ZincScore
from tammes.spectral import EigenvectorTransformerConfig, GINConfig, RhoConfig, SignNet, SummedConfig

if TYPE_CHECKING:
    from tammes.spectral.networks import GraphNetworkConfig

ZINC_FULL, ALCHEMY = "ZINC-full", "Alchemy"
LEARNING_RATE, LOWEST_RATE, PATIENCE = 1e-3, 1e-6, 20
"""Of the paper's schedule on Alchemy, which is used for both sets."""
EPOCHS, LAYERS, PHI_LAYERS = 1000, 16, 8
"""Of the full work, as in the published code: most epochs, and layers of the base network and of phi."""
Setting = tuple[str, str, str]
"""A data set, a base network, and an encoding."""


@dataclass(frozen=True, kw_only=True)
class MoleculeSet:
    """One of the two data sets, and the paper's network with SignNet on it.

    Args:
        places: paths within the folder of the data, of which one is there if the set is.
        read: function from the folder of the data to the parts for training, validation and testing.
        training: number of published training molecules.
        all_from: budget from which on all training molecules are used.
        atoms: number of types of atoms.
        bonds: number of types of bonds.
        base: base network.
        width: channels at the full budget, a multiple of 8.
        rho: function from the channels to the settings of rho.
        rho_name: rho in words.
        sums: whether the readout sums the atoms of a molecule, instead of averaging them.
    """

    places: tuple[str, ...]
    read: Callable[[Path], tuple[LabeledGraphs, ...]]
    training: int
    all_from: float
    atoms: int
    bonds: int
    base: str
    width: int
    rho: Callable[[int], RhoConfig]
    rho_name: str
    sums: bool


SETS: Mapping[str, MoleculeSet] = {
    ZINC_FULL: MoleculeSet(
        places=(f"zinc/{zinc.FULL}",),
        read=lambda folder: tuple(zinc.zinc_full(folder / "zinc", part) for part in ("train", "val", "test")),
        training=220_011,
        all_from=1.0,
        atoms=zinc.ATOMS,
        bonds=zinc.BONDS,
        base=GATED,
        width=104,
        rho=lambda width: SummedConfig(width=width),
        rho_name="MLP on the sum",
        sums=False,
    ),
    ALCHEMY: MoleculeSet(
        places=(alchemy.NAME, f"{alchemy.NAME}.zip"),
        read=alchemy.alchemy,
        training=10_000,
        all_from=0.04,
        atoms=alchemy.ATOMS,
        bonds=alchemy.BONDS,
        base=GINE,
        width=104,
        rho=lambda width: EigenvectorTransformerConfig(width=width, layers=4),
        rho_name="a transformer of four layers",
        sums=True,
    ),
}
"""The sets of Table 7.2 beside ZINC 12k. The paper's networks have 994,113 parameters on ZINC-full and
907,371 on Alchemy; these widths, multiples of 8, give 1,012,297 and 952,394."""


@dataclass(frozen=True, kw_only=True)
class MoleculeRun:
    """Settings of one training.

    `molecules` is the largest number of training, of validation and of test molecules. The base network
    `CONSTANT` predicts a constant; with the encoding `UNTRAINED`, there are no epochs.
    """

    data: str
    base: str
    encoding: str
    molecules: int
    epochs: int
    patience: int
    width: int
    layers: int
    phi_layers: int
    batch_size: int = 128
    learning_rate: float = LEARNING_RATE
    seed: int = 0

    @property
    def setting(self) -> Setting:
        """Row of the table: data set, base network and encoding."""
        return self.data, self.base, self.encoding


def given_molecules(folder: Path) -> dict[str, tuple[LabeledGraphs, ...]]:
    """Return the parts of each set that is in a folder, by the name of the set.

    Raises:
        ValueError: If neither set is there, or one of them cannot be read.
    """
    there = [name for name, each in SETS.items() if any((folder / place).exists() for place in each.places)]
    if not there:
        raise ValueError(
            f"expected in {folder} a folder zinc that torch_geometric.datasets.ZINC(path, subset=False) has "
            f"filled, or {alchemy.NAME} of the TU collection, a folder or an archive, with its index files; "
            "found neither"
        )
    return {name: SETS[name].read(folder) for name in there}


def measurer(molecules: Mapping[str, tuple[LabeledGraphs, ...]]) -> Callable[[MoleculeRun], ZincScore]:
    """Return the function that trains and measures.

    Args:
        molecules: parts for training, validation and testing, by the name of the set.
    """

    @cache
    def parts(data: str, most: int, count: int | None) -> Parts:
        # The first molecules: the same ones for every seed and every encoding.
        first = (part.subset(range(min(most, len(part)))) for part in molecules[data])
        return tuple(with_eigenpairs(part, count=count) for part in first)

    return lambda run: ZincScore.of(
        _fitted(run, parts(run.data, run.molecules, 1 if run.encoding == NONE else None))
    )


def _fitted(run: MoleculeRun, parts: Parts) -> Fit:
    if run.base == CONSTANT:
        return fit_constant(tuple(part.graphs for part in parts))
    torch.manual_seed(run.seed)
    return fit(
        network(run, targets=parts[0].graphs.targets.shape[1]),
        parts,
        epochs=run.epochs,
        batch_size=run.batch_size,
        learning_rate=run.learning_rate,
        seed=run.seed,
        plateau=Plateau(patience=run.patience, lowest=LOWEST_RATE),
    )


def network(run: MoleculeRun, *, targets: int) -> Regressor:
    """Return the network of a run, with weights from torch's generator."""
    data, width = SETS[run.data], run.width
    encoding = None
    if run.encoding != NONE:
        phi = GINConfig(width=width, layers=run.phi_layers)
        encoding = SignNet(dim=width, phi=phi, rho=data.rho(width))
    return Regressor(
        nodes=data.atoms,
        bonds=data.bonds,
        width=width,
        encoding=encoding,
        base=_base(run),
        targets=targets,
        sums=data.sums,
    )


def _base(run: MoleculeRun) -> GraphNetworkConfig:
    from tammes.spectral import networks  # which needs torch_geometric

    config = {GATED: networks.GatedGCNConfig, GINE: networks.GINEConfig}[run.base]
    return config(width=run.width, layers=run.layers)
