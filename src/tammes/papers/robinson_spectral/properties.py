"""Properties of whole graphs, with and without eigenvectors.

Robinson (2023), section 7.3.2, Figure 7-3.
"""

from functools import cache
from itertools import pairwise
from math import log10

import numpy as np

from tammes.data.graph_properties import PROPERTIES, graph_properties
from tammes.papers.entry import Request
from tammes.papers.robinson_spectral.figure_7_3 import Experiment, Graphs
from tammes.papers.robinson_spectral.graph_regression import standardized

TRAIN, VALIDATION, TEST = 5120, 640, 1280
"""Numbers of graphs, as in the paper that describes the data."""
GRAPH_SEED = 0
"""Random seed of the graphs, which are the same for all seeds of the networks."""


EXPERIMENT = Experiment(
    title="Properties of graphs",
    targets=PROPERTIES,
    squared=True,
    shown=log10,
    error="log₁₀ of the mean squared error",
    flips_help=False,
    remarks=(
        "The graphs come from our generator, after the description by Corso et al. (2020); they are not "
        "those of the paper: ten kinds of random graphs with 15 to 24 nodes, a few pairs of nodes toggled. "
        "Nodes have no features. The diameter of a graph that is not connected is the largest of its parts'.",
        "Errors are in standard deviations of the training targets. One network learns all three at once. "
        "The text does not give the figure's numbers.",
    ),
)


def run(request: Request) -> None:
    """Train with each encoding."""
    part = request.budget**0.5
    training, validating, testing = (max(2, round(each * part)) for each in (TRAIN, VALIDATION, TEST))

    @cache
    def graphs() -> Graphs:
        generator = np.random.default_rng(GRAPH_SEED)
        drawn = graph_properties(validating + testing + training, generator=generator)
        ends = (0, validating, validating + testing, len(drawn))
        validation, test, train = (drawn.subset(range(start, end)) for start, end in pairwise(ends))
        return standardized((train, validation, test))

    words = f"{training:,} to train on (the paper's: {TRAIN:,}), {testing:,} to test on"
    EXPERIMENT.run(request, graphs=graphs, training_graphs=training, data=words)
