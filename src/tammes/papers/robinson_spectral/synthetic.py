"""What both experiments of Figure 7-3 share: a network on graphs, and what it is told of eigenvectors.

Robinson (2023), sections 7.3.2 and E.11.4. The figure's numbers are not in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import torch

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.papers.figures import grouped_dots
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.regression import Encoding, FitConfig, Fitted, Regressor, encoded, fit
from tammes.spectral import EigenvectorTransformerConfig, GINConfig, SignNet
from tammes.spectral.baselines import RandomFlips

NONE, FLIPS, SIGNNET = "none", "LapPE (flip)", "SignNet"
ENCODINGS = (NONE, FLIPS, SIGNNET)
WIDTH, SEEDS = 128, 3
"""Of the paper."""
Parts = tuple[LabeledGraphs, LabeledGraphs, LabeledGraphs]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training, for all targets at once; `graphs` are those to train on."""

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
    """One of the two experiments, for its page.

    Args:
        title: of the page.
        targets: what the numbers are called.
        error: what is measured.
        remarks: of the page.
        epochs: of the full work.
    """

    title: str
    targets: tuple[str, ...]
    error: str
    remarks: tuple[str, ...]
    epochs: int


def cells(*, budget: float, seed: int, graphs: int, epochs: int) -> list[Cell]:
    """All cells, seed by seed: the smaller the budget, the fewer epochs, channels and, in the end, seeds."""
    return [
        Cell(
            encoding=encoding,
            graphs=graphs,
            epochs=max(1, round(epochs * budget)),
            width=8 * max(1, round(WIDTH / 8 * budget ** (1 / 3))),
            seed=seed + number,
        )
        for number in range(SEEDS if budget >= 0.02 else 1)
        for encoding in ENCODINGS
    ]


def trained(cell: Cell, parts: Parts, *, squared: bool) -> Fitted:
    """Train one cell; each part is decomposed anew, which takes a small part of the time."""
    # torch_geometric is imported here, where it is needed.
    from tammes.spectral.networks import GINEConfig, Readout

    train, validation, test = (encoded(part, count=None) for part in parts)
    most = max(part.vectors.shape[1] for part in (train, validation, test))
    padded = train.padded(most), validation.padded(most), test.padded(most)
    torch.manual_seed(cell.seed)
    encoding = _encoding(cell, most)
    features = cell.width + (0 if encoding is None else encoding.dim)
    base = GINEConfig(width=cell.width, layers=cell.layers).build(features)
    readout = Readout(base.outputs, parts[0].targets.shape[1], sums=True)
    network = Regressor(nodes=1, bonds=0, width=cell.width, encoding=encoding, base=base, readout=readout)
    config = FitConfig(
        epochs=cell.epochs,
        batch_size=cell.batch_size,
        learning_rate=cell.learning_rate,
        squared=squared,
        seed=cell.seed,
    )
    return fit(network, padded, config)


def _encoding(cell: Cell, eigenvectors: int) -> Encoding | None:
    made: Mapping[str, Callable[[], Encoding | None]] = {
        NONE: lambda: None,
        FLIPS: lambda: RandomFlips(eigenvectors, generator=torch.Generator().manual_seed(cell.seed)),
        SIGNNET: lambda: SignNet(
            dim=cell.width,
            phi=GINConfig(width=cell.width, layers=cell.layers),
            rho=EigenvectorTransformerConfig(width=cell.width, layers=1),
        ),
    }
    return made[cell.encoding]()


def summary(results: Mapping[Cell, Sequence[float]]) -> dict[str, list[tuple[float, float]]]:
    """For each encoding, mean and standard deviation over seeds of the errors of each target."""
    found = {}
    for encoding in ENCODINGS:
        rows = [errors for cell, errors in results.items() if cell.encoding == encoding]
        if rows:
            found[encoding] = [
                (mean(column), stdev(column) if len(column) > 1 else 0.0)
                for column in zip(*rows, strict=True)
            ]
    return found


def page(experiment: Experiment, results: Mapping[Cell, Sequence[float]], *, data: str) -> PaperPage:
    """Return the page of what has been measured.

    Args:
        experiment: texts of the page.
        results: errors of each target, by cell.
        data: description of the training graphs.
    """
    ours = summary(results)
    errors = {
        encoding: dict(zip(experiment.targets, (error for error, _ in each), strict=True))
        for encoding, each in ours.items()
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
        numbers=numbers(experiment, ours),
        remarks=experiment.remarks,
        settings={
            "graphs": data,
            "epochs": f"{cell.epochs} (of the full work: {experiment.epochs})",
            "base network": f"GIN, {cell.layers} layers of {cell.width} (the paper's: {WIDTH})",
            "φ and ρ": f"GIN, {cell.layers} layers of {cell.width}; a transformer of one layer",
            "Adam, learning rate": f"{cell.learning_rate:g}, to 0 along half a cosine",
            "seeds": str(len({each.seed for each in results})),
        },
    )


def findings(experiment: Experiment, ours: Mapping[str, list[tuple[float, float]]]) -> tuple[Finding, ...]:
    """The paper's statement beside our numbers, as far as they are there."""
    if not ours.keys() >= set(ENCODINGS):
        return ()
    signnet, others = ours[SIGNNET], (ours[NONE], ours[FLIPS])
    least = [min(other[place][0] for other in others) for place in range(len(experiment.targets))]
    ahead = [
        target
        for target, own, other in zip(experiment.targets, signnet, least, strict=True)
        if own[0] < other
    ]
    clear = [
        target
        for target, own, other in zip(experiment.targets, signnet, least, strict=True)
        if sum(own) < other
    ]
    return (
        Finding(
            paper="Eigenvectors processed by SignNet significantly boost performance on all tasks.",
            ours=f"SignNet has the least mean error for {len(ahead)} of {len(experiment.targets)} targets"
            + (f" ({', '.join(ahead)})" if ahead else "")
            + f"; for {len(clear)} of them by more than its own deviation over seeds.",
            agrees=len(clear) == len(experiment.targets),
        ),
    )


def numbers(experiment: Experiment, ours: Mapping[str, list[tuple[float, float]]]) -> Numbers:
    """A row for each encoding."""
    return Numbers(
        header=("", *experiment.targets),
        rows=tuple(
            (encoding, *(f"{error:.3f} ± {deviation:.3f}" for error, deviation in errors))
            for encoding, errors in ours.items()
        ),
        note=f"{experiment.error}, mean and standard deviation over seeds.",
    )
