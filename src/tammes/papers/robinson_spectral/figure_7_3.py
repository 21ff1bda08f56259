"""Both experiments of Figure 7-3: a graph network with and without encodings of eigenvectors.

Robinson (2023), sections 7.3.2 and E.11.4. The text does not give the figure's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from functools import cached_property
from operator import itemgetter
from statistics import fmean
from typing import Any

import torch

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import grouped_dots
from tammes.papers.finding import Effect, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral.graph_regression import (
    Encoding,
    Fit,
    Regressor,
    fit,
    fit_constant,
    with_eigenpairs,
)
from tammes.papers.study import Study, grouped
from tammes.spectral import EigenvectorTransformerConfig, GINConfig, SignNet
from tammes.spectral.baselines import RandomFlips

NONE, FLIPS, SIGNNET = "none", "LapPE (flip)", "SignNet"
CONSTANT, UNTRAINED = "best constant", "untrained, SignNet"
ENCODINGS = (CONSTANT, UNTRAINED, NONE, FLIPS, SIGNNET)
"""Both controls, then the encodings of the paper."""
WIDTH, SEEDS, EPOCHS = 128, 3, 300
"""Channels and seeds of the paper; epochs of the full work."""
LEARNING_RATE = 1e-3
MARGIN = 0.1
"""Largest gain, in the unit of the page, that counts as no improvement; the paper gives none."""
Graphs = tuple[LabeledGraphs, ...]
"""Graphs for training, validation and testing."""
Errors = Mapping[str, Sequence[Sequence[float]]]
"""For each encoding, and each of the seeds that all encodings have, an error for each target."""


@dataclass(frozen=True, kw_only=True)
class EncodingRun:
    """Settings of one training for all targets; `graphs` is the number of training graphs."""

    encoding: str
    graphs: int
    epochs: int
    width: int
    layers: int = 4
    batch_size: int = 64
    learning_rate: float = LEARNING_RATE
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
        flips_help: whether the paper says that eigenvectors with random flips improve performance.
        remarks: paragraphs of the page.
    """

    title: str
    targets: tuple[str, ...]
    squared: bool
    shown: Callable[[float], float]
    error: str
    flips_help: bool
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
        seeds = request.seed_range(SEEDS)
        Study(
            cells=cells(
                budget=request.budget,
                seeds=seeds,
                graphs=training_graphs,
                learning_rate=request.rate(LEARNING_RATE),
            ),
            scores=self.scores,
            measure=lambda cell: self._score(trained(cell, graphs(), squared=self.squared)),
            name=lambda cell: f"{cell.encoding}, seed {cell.seed}",
            protocol=Protocol(
                seeds=seeds,
                controls=["untrained network with SignNet", "constant that is best on the training graphs"],
                measured_on="test graphs",
                search={"epoch": ["the best of all"]},
                searched_on="validation graphs",
            ),
            page=lambda results: page(self, results, data=data),
            partial=True,
        ).run(request)

    def _score(self, fitted: Fit) -> Any:
        return self.scores(*fitted.test, fitted.parameters, fitted.seconds_per_epoch)


def cells(
    *, budget: float, seeds: Sequence[int], graphs: int, learning_rate: float = LEARNING_RATE
) -> list[EncodingRun]:
    """Return all runs, seed by seed: a small budget means fewer epochs and channels."""
    return [
        EncodingRun(
            encoding=encoding,
            graphs=graphs,
            epochs=0 if encoding in (CONSTANT, UNTRAINED) else max(1, round(EPOCHS * budget)),
            width=8 * max(1, round(WIDTH / 8 * budget ** (1 / 3))),
            learning_rate=learning_rate,
            seed=seed,
        )
        for seed in seeds
        for encoding in ENCODINGS
    ]


def trained(cell: EncodingRun, graphs: Graphs, *, squared: bool) -> Fit:
    """Train one run; the graphs are decomposed each time, which takes a small part of the time."""
    from tammes.spectral.networks import GINEConfig  # which needs torch_geometric

    if cell.encoding == CONSTANT:
        return fit_constant(graphs, squared=squared)
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


def errors_by_seed(experiment: Experiment, results: Mapping[EncodingRun, Any]) -> Errors:
    """Return the errors, in the unit of the page, of the seeds that have all encodings."""
    found: dict[str, list[list[float]]] = {}
    for group in grouped(results, "seed").values():
        if len(group) == len(ENCODINGS):
            for cell, score in group.items():
                shown = [experiment.shown(getattr(score, column)) for column in experiment.columns]
                found.setdefault(cell.encoding, []).append(shown)
    return found


def page(experiment: Experiment, results: Mapping[EncodingRun, Any], *, data: str) -> PaperPage | None:
    """Return the page of the results, or None before a seed has all encodings.

    Args:
        experiment: one of the two experiments.
        results: scores by run.
        data: description of the graphs.
    """
    errors = errors_by_seed(experiment, results)
    if not errors:
        return None
    ours = {
        encoding: {
            target: Estimate.over_seeds([row[place] for row in rows])
            for place, target in enumerate(experiment.targets)
        }
        for encoding, rows in errors.items()
    }
    drawn = {encoding: own for encoding, own in ours.items() if encoding != UNTRAINED}
    figure = grouped_dots(drawn, {}, label=experiment.error, logarithmic=False)
    cell = max(results, key=lambda cell: cell.epochs)
    return PaperPage(
        title=experiment.title,
        overview=figure,
        findings=findings(experiment, errors),
        figures=(
            Figure(
                title="Errors",
                words="Means over seeds with 95 % intervals, on test graphs.",
                panels=(panel(figure, f"{experiment.error} of each target and encoding."),),
                wide=True,
            ),
        ),
        numbers=Numbers(
            header=("", *experiment.targets),
            rows=tuple((encoding, *(each.text() for each in own.values())) for encoding, own in ours.items()),
            note=f"{experiment.error}: means over seeds with 95 % intervals.",
        ),
        remarks=experiment.remarks,
        settings={
            "graphs": data,
            "epochs": f"{cell.epochs} (of the full work: {EPOCHS})",
            "base network": f"GIN, {cell.layers} layers of {cell.width} (the paper's: {WIDTH})",
            "φ and ρ": f"GIN, {cell.layers} layers of {cell.width}; a transformer of one layer",
            "Adam, learning rate": f"{cell.learning_rate:g}, to 0 along half a cosine",
        },
    )


def findings(experiment: Experiment, errors: Errors) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers."""
    controls = [
        [min(pair) for pair in zip(*rows, strict=True)]
        for rows in zip(errors[CONSTANT], errors[UNTRAINED], strict=True)
    ]

    def below(
        worse: Sequence[Sequence[float]], better: str, of: Callable[[Sequence[float]], float]
    ) -> Estimate:
        return Estimate.of_difference([of(row) for row in worse], [of(row) for row in errors[better]])

    gain = below(errors[NONE], FLIPS, fmean)
    targets = [(target, itemgetter(place)) for place, target in enumerate(experiment.targets)]
    return (
        Finding(
            paper="Eigenvectors processed by SignNet significantly boost performance on all tasks.",
            effects=tuple(
                Effect(name=f"{target}, below no encoding", difference=below(errors[NONE], SIGNNET, of))
                for target, of in targets
            ),
            controls=tuple(
                Effect(name=f"{target}, below both controls", difference=below(controls, SIGNNET, of))
                for target, of in targets
            ),
        ),
        Finding(
            paper="Eigenvectors with random flips "
            + ("improve performance." if experiment.flips_help else "do not improve performance."),
            effects=(
                Effect(name="mean of all below no encoding", difference=gain)
                if experiment.flips_help
                else Effect(
                    name="mean of all below no encoding",
                    difference=-(gain - MARGIN),
                    words=f"{gain.text(signed=True)}, less than {MARGIN:g}, our margin, expected",
                ),
            ),
            controls=(
                Effect(name="mean of all below both controls", difference=below(controls, FLIPS, fmean)),
            ),
        ),
    )
