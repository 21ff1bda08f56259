"""Properties of whole graphs, with and without eigenvectors.

Robinson (2023), section 7.3.2, Figure 7-3.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import log10

import numpy as np

from tammes.data.graph_properties import PROPERTIES, graph_properties
from tammes.papers.entry import Entry, Request
from tammes.papers.page import PaperPage
from tammes.papers.robinson_spectral.regression import standardized
from tammes.papers.robinson_spectral.synthetic import Cell, Experiment, Parts, cells, page, trained
from tammes.papers.study import Study

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


def run(request: Request) -> None:
    """Train with each encoding."""
    graphs, validating, testing = (
        max(2, round(each * request.budget**0.5)) for each in (TRAIN, VALIDATION, TEST)
    )

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

    def show(known: dict[Cell, Measured]) -> PaperPage:
        errors = {
            cell: tuple(log10(error) for error in (each.connected, each.diameter, each.spectral_radius))
            for cell, each in known.items()
        }
        return page(
            EXPERIMENT,
            errors,
            data=f"{graphs:,} to train on (the paper's: {TRAIN:,}), {testing:,} to test on",
        )

    Study(
        cells=cells(budget=request.budget, seed=request.seed, graphs=graphs, epochs=EPOCHS),
        scores=Measured,
        measure=measure,
        name=lambda cell: f"{cell.encoding}, seed {cell.seed}",
        page=show,
        partial=True,
    ).run(request)


EXPERIMENT = Experiment(
    title="Properties of graphs",
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
ENTRY = Entry(
    name="spectral-properties",
    statement="Laplacian eigenvectors with random flips do not improve the regression of properties of "
    "graphs; processed by SignNet, they do so significantly.",
    source="Robinson (2023), section 7.3.2, Figure 7-3",
    run=run,
)
