"""Properties of whole graphs, with and without eigenvectors.

Robinson (2023), section 7.3.2, Figure 7-3.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log10
from pathlib import Path

import numpy as np

from tammes.data.graph_properties import PROPERTIES, graph_properties
from tammes.papers.entry import Entry
from tammes.papers.robinson_spectral.regression import standardized
from tammes.papers.robinson_spectral.synthetic import Cell, Parts, Study, cells, trained, write
from tammes.papers.study import Results, complete_and_show

TRAIN, VALIDATION, TEST, EPOCHS = 5120, 640, 1280, 300
"""Graphs, as in the paper that the data are described in, and epochs."""
DRAWN = 0
"""The seed of the graphs, which are the same whatever seed the networks have."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Mean squared errors of properties, in their standard deviations."""

    connected: float
    diameter: float
    spectral_radius: float
    parameters: int
    seconds_per_epoch: float


def run(out: Path, *, budget: float, seed: int, data: Path | None) -> None:
    """See `Reproduction`; a table that is there already is gone on with."""
    out.mkdir(parents=True, exist_ok=True)
    graphs, validating, testing = (max(2, round(each * budget**0.5)) for each in (TRAIN, VALIDATION, TEST))

    @cache
    def parts() -> Parts:
        generator = np.random.default_rng(DRAWN)
        drawn = graph_properties(validating + testing + graphs, generator=generator)
        ends = (0, validating, validating + testing, len(drawn))
        validation, test, train = (drawn.subset(range(start, end)) for start, end in pairwise(ends))
        train, validation, test = standardized((train, validation, test))
        return train, validation, test

    def measure(cell: Cell) -> Measured:
        fitted = trained(cell, parts(), squared=True)
        connected, diameter, radius = fitted.test
        return Measured(
            connected=connected,
            diameter=diameter,
            spectral_radius=radius,
            parameters=fitted.parameters,
            seconds_per_epoch=fitted.seconds_per_epoch,
        )

    def show(known: dict[Cell, Measured]) -> None:
        errors = {
            cell: tuple(log10(error) for error in (each.connected, each.diameter, each.spectral_radius))
            for cell, each in known.items()
        }
        write(
            out,
            STUDY,
            errors,
            data=f"{graphs:,} to train on (the paper's: {TRAIN:,}), {testing:,} to test on",
            command=ENTRY.command(budget=budget, seed=seed),
        )

    complete_and_show(
        Results(out / "table.csv", Cell, Measured),
        cells(budget=budget, seed=seed, graphs=graphs, epochs=EPOCHS),
        measure,
        show,
        name=lambda cell: f"{cell.encoding}, seed {cell.seed}",
    )


STUDY = Study(
    title="Properties of graphs",
    name="spectral-properties",
    statement="Laplacian eigenvectors with random flips do not improve the regression of properties of "
    "graphs; processed by SignNet, they do so significantly.",
    source="Robinson (2023), section 7.3.2, Figure 7-3",
    targets=PROPERTIES,
    error="log₁₀ of the mean squared error",
    remarks=(
        "The graphs are drawn by a generator of our own after the description by Corso et al. (2020), and "
        "are not theirs: ten kinds of random graphs with 15 to 24 nodes, a few pairs of nodes toggled. Nodes "
        "have no features. The diameter of a graph that is not connected is the largest of its parts'.",
        "Errors are in standard deviations of the training targets. One network learns all three at once. "
        "The figure's numbers are not in the text.",
    ),
    epochs=EPOCHS,
)
ENTRY = Entry(name=STUDY.name, statement=STUDY.statement, source=STUDY.source, run=run)
