"""Counting substructures of random graphs, with and without eigenvectors.

Robinson (2023), section 7.3.2, Figure 7-3.
"""

from tammes.data.substructures import COUNTED, substructures
from tammes.papers.entry import Request
from tammes.papers.robinson_spectral.figure_7_3 import Experiment
from tammes.papers.robinson_spectral.graph_regression import standardized

EXPERIMENT = Experiment(
    title="Counting substructures",
    targets=tuple(name.replace("_", " ") for name in COUNTED),
    squared=False,
    shown=float,
    error="mean absolute error in standard deviations",
    flips_help=True,
    remarks=(
        "One network learns all four counts at once; the paper's learn one each. The text does not give the "
        "figure's numbers.",
    ),
)


def run(request: Request) -> None:
    """Train with each encoding."""
    data = request.required_data()
    graphs = standardized(tuple(substructures(data, part) for part in ("train", "val", "test")))
    train, _, test = graphs
    EXPERIMENT.run(
        request,
        graphs=lambda: graphs,
        training_graphs=len(train),
        data=f"{len(train):,} random graphs to train on, {len(test):,} to test on",
    )
