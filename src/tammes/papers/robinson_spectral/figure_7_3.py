"""Both experiments of Figure 7-3: a graph network with and without encodings of eigenvectors.

Robinson (2023), sections 7.3.2 and E.11.4. The text does not give the figure's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cached_property
from typing import Any

import torch

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.papers.entry import Request
from tammes.papers.figures import grouped_dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.graph_regression import Encoding, Fit, Regressor, fit, with_eigenpairs
from tammes.papers.statistics import Interval
from tammes.papers.study import Study
from tammes.spectral import EigenvectorTransformerConfig, GINConfig, SignNet
from tammes.spectral.baselines import RandomFlips

NONE, FLIPS, SIGNNET = "none", "LapPE (flip)", "SignNet"
ENCODINGS = (NONE, FLIPS, SIGNNET)
WIDTH, SEEDS, EPOCHS = 128, 3, 300
"""Channels and seeds of the paper; epochs of the full work."""
Graphs = tuple[LabeledGraphs, ...]
"""Graphs for training, validation and testing."""


@dataclass(frozen=True, kw_only=True)
class EncodingRun:
    """Settings of one training for all targets; `graphs` is the number of training graphs."""

    encoding: str
    graphs: int
    epochs: int
    width: int
    layers: int = 4
    batch_size: int = 64
    learning_rate: float = 1e-3
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One of the two experiments.

    Args:
        title: title of the page.
        targets: names of the targets.
        squared: whether squares of errors are minimized and measured, instead of absolute values.
        shown: function from an error in the table to the number on the page.
        error: name of the number on the page.
        remarks: paragraphs of the page.
    """

    title: str
    targets: tuple[str, ...]
    squared: bool
    shown: Callable[[float], float]
    error: str
    remarks: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the targets in the table."""
        return [target.replace(" ", "_") for target in self.targets]

    @cached_property
    def scores(self) -> type[Any]:
        """Dataclass of a run's scores: an error for each target, parameters and seconds an epoch."""
        errors = [(column, float) for column in self.columns]
        costs = [("parameters", int), ("seconds_per_epoch", float)]
        return make_dataclass("EncodingScore", [*errors, *costs], frozen=True)

    def run(self, request: Request, *, graphs: Callable[[], Graphs], training_graphs: int, data: str) -> None:
        """Train with each encoding, and write the table and the page.

        Args:
            request: request of the entry.
            graphs: function that returns the graphs; targets are in standard deviations.
            training_graphs: number of training graphs.
            data: description of the graphs.
        """
        Study(
            cells=cells(budget=request.budget, seed=request.seed, graphs=training_graphs),
            scores=self.scores,
            measure=lambda cell: self._score(trained(cell, graphs(), squared=self.squared)),
            name=lambda cell: f"{cell.encoding}, seed {cell.seed}",
            page=lambda results: page(self, results, data=data),
            partial=True,
        ).run(request)

    def _score(self, fitted: Fit) -> Any:
        return self.scores(*fitted.test, fitted.parameters, fitted.seconds_per_epoch)


def cells(*, budget: float, seed: int, graphs: int) -> list[EncodingRun]:
    """Return all runs, seed by seed: a small budget means fewer epochs and channels, and one seed."""
    return [
        EncodingRun(
            encoding=encoding,
            graphs=graphs,
            epochs=max(1, round(EPOCHS * budget)),
            width=8 * max(1, round(WIDTH / 8 * budget ** (1 / 3))),
            seed=seed + number,
        )
        for number in range(SEEDS if budget >= 0.02 else 1)
        for encoding in ENCODINGS
    ]


def trained(cell: EncodingRun, graphs: Graphs, *, squared: bool) -> Fit:
    """Train one run; the graphs are decomposed each time, which takes a small part of the time."""
    from tammes.spectral.networks import GINEConfig  # which needs torch_geometric

    parts = [with_eigenpairs(part, count=None) for part in graphs]
    widest = max(part.vectors.shape[1] for part in parts)
    torch.manual_seed(cell.seed)
    network = Regressor(
        nodes=1,
        bonds=0,
        width=cell.width,
        encoding=_encoding(cell, widest),
        base=GINEConfig(width=cell.width, layers=cell.layers),
        targets=graphs[0].targets.shape[1],
        sums=True,
    )
    return fit(
        network,
        tuple(part.padded(widest) for part in parts),
        epochs=cell.epochs,
        batch_size=cell.batch_size,
        learning_rate=cell.learning_rate,
        seed=cell.seed,
        squared=squared,
    )


def _encoding(cell: EncodingRun, eigenvectors: int) -> Encoding | None:
    if cell.encoding == NONE:
        return None
    if cell.encoding == FLIPS:
        return RandomFlips(eigenvectors, generator=torch.Generator().manual_seed(cell.seed))
    return SignNet(
        dim=cell.width,
        phi=GINConfig(width=cell.width, layers=cell.layers),
        rho=EigenvectorTransformerConfig(width=cell.width, layers=1),
    )


def summary(experiment: Experiment, results: Mapping[EncodingRun, Any]) -> dict[str, list[Interval]]:
    """Return, for each encoding, the errors of each target over seeds."""
    found = {}
    for encoding in ENCODINGS:
        scores = [score for cell, score in results.items() if cell.encoding == encoding]
        if scores:
            found[encoding] = [
                Interval.of([experiment.shown(getattr(score, column)) for score in scores])
                for column in experiment.columns
            ]
    return found


def page(experiment: Experiment, results: Mapping[EncodingRun, Any], *, data: str) -> PaperPage:
    """Return the page of the results.

    Args:
        experiment: one of the two experiments.
        results: scores by run.
        data: description of the graphs.
    """
    ours = summary(experiment, results)
    errors = {
        encoding: dict(zip(experiment.targets, (each.mean for each in own), strict=True))
        for encoding, own in ours.items()
    }
    figure = grouped_dots(errors, {}, label=experiment.error, logarithmic=False)
    cell = next(iter(results))
    return PaperPage(
        title=experiment.title,
        overview=figure,
        findings=findings(experiment, ours),
        figures=(
            Figure(
                title="Errors",
                words="Means over seeds, on test graphs.",
                panels=(panel(figure, f"{experiment.error} of each target and encoding."),),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("", *experiment.targets),
            rows=tuple(
                (encoding, *(f"{each.mean:.3f} ± {each.deviation:.3f}" for each in own))
                for encoding, own in ours.items()
            ),
            note=f"{experiment.error}, mean and standard deviation over seeds.",
        ),
        remarks=experiment.remarks,
        settings={
            "graphs": data,
            "epochs": f"{cell.epochs} (of the full work: {EPOCHS})",
            "base network": f"GIN, {cell.layers} layers of {cell.width} (the paper's: {WIDTH})",
            "φ and ρ": f"GIN, {cell.layers} layers of {cell.width}; a transformer of one layer",
            "Adam, learning rate": f"{cell.learning_rate:g}, to 0 along half a cosine",
            "seeds": str(len({each.seed for each in results})),
        },
    )


def findings(experiment: Experiment, ours: Mapping[str, list[Interval]]) -> tuple[Finding, ...]:
    """Return the paper's statement beside our numbers, for the methods measured so far."""
    if not ours.keys() >= set(ENCODINGS):
        return ()
    ahead, clear = [], []
    for target, signnet, none, flips in zip(
        experiment.targets, ours[SIGNNET], ours[NONE], ours[FLIPS], strict=True
    ):
        other = min(none.mean, flips.mean)
        if signnet.mean < other:
            ahead.append(target)
        if signnet.mean + signnet.deviation < other:
            clear.append(target)
    return (
        Finding(
            paper="Eigenvectors processed by SignNet significantly boost performance on all tasks.",
            ours=f"SignNet has the least mean error for {len(ahead)} of {len(experiment.targets)} targets"
            + (f" ({', '.join(ahead)})" if ahead else "")
            + f"; for {len(clear)} of them by more than its own deviation over seeds.",
            agrees=len(clear) == len(experiment.targets),
        ),
    )
