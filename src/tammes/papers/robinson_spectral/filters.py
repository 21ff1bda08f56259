"""Five spectral filters, each learned from one image: on eigenvectors, on edges, or on a set of nodes.

Robinson (2023), sections E.10.3 and E.11.3, Table E.6.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import torch
from matplotlib.figure import Figure as Drawing
from torch import Tensor

from tammes.data.filter_images import FILTERS, FilterImages, filter_images
from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.figures import grouped_dots
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral.filter_findings import CONSTANT, UNTRAINED, Errors, findings
from tammes.papers.robinson_spectral.filter_networks import Grid
from tammes.papers.robinson_spectral.filter_rows import BUILD, FEW, ON_EDGES, PAPER
from tammes.papers.study import Study, grouped
from tammes.spectral import Eigenpairs, RelativeGap, eigenpairs

STEPS, IMAGES, LEARNING_RATE = 2000, 50, 0.01
"""Optimizer steps and images of the paper, and our learning rate."""
ALL_ROWS = 0.01
"""Least budget that measures all rows of the table, 45 cells for each image; below, 13 cells of four rows."""
REMARKS = (
    "Errors are measured on the image that is learned: the question is what a network can represent, not "
    "how it generalizes. The best of all steps counts, as in the published code.",
    "The phi of SignNet and BasisNet gets the image, as v vᵀ x and V Vᵀ x, which is how the paper proves "
    "that they can represent any spectral filter. In its experiment, phi gets eigenvectors alone. Then "
    "pixels that mirror each other have the same encoding in an exactly equivariant network, and only their "
    "intensities tell them apart; the published BasisNet tells them apart by a transposition of nodes and "
    "channels.",
    "One encoding serves all five filters of an image, with a head for each; the baselines have a network "
    "for each filter, and of four settings the one that is best on the mean of the other images: the paper's "
    "four for networks on edges, and as many for transformers, of which the paper has one. "
    "SignNet and BasisNet have one setting, whose scales and rates were chosen by hand on the first two "
    "images of the published data, with DeepSets behind them.",
    "All methods minimize roots of relative errors, with a rate that falls to 0 along half a cosine; the "
    "paper minimizes sums of squares at a constant rate, for 2,000 steps.",
)


@dataclass(frozen=True, kw_only=True)
class FilterRun:
    """Settings of one fit to the five filters of an image; `setting` is a key of `BUILD[method]`.

    `image` counts from 0. Without steps, the errors are those of the untrained network.
    """

    image: int
    method: str
    setting: str
    steps: int
    learning_rate: float = LEARNING_RATE
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class FilterScore:
    """Smallest sum of squared errors on inner nodes over all steps, for each filter."""

    low: float
    high: float
    band: float
    rejection: float
    comb: float
    parameters: int
    seconds: float


def run(request: Request) -> None:
    """Fit each method to some images: a seed chooses an image and the first weights."""
    images = filter_images(request.required_data())
    count = images.signals.shape[1]
    seeds = request.seed_range(min(IMAGES, count))
    if len(seeds) > count:
        raise ValueError(f"expected at most {count} seeds, one for each image, got {len(seeds)}")
    part = min(request.budget**0.5, 20 * request.budget)  # the second below a budget of 0.0025
    steps, rate = max(1, round(STEPS * part)), request.rate(LEARNING_RATE)
    methods = tuple(BUILD) if request.budget >= ALL_ROWS else FEW
    Study(
        cells=cells(seeds, images=count, steps=steps, methods=methods, learning_rate=rate),
        scores=FilterScore,
        measure=partial(measure, images=images, grid=decomposed(images)),
        name=lambda cell: f"image {cell.image + 1}, {cell.method}",
        protocol=Protocol(
            seeds=seeds,
            controls=["untrained SignNet and BasisNet", "mean of the target"],
            measured_on="image that is learned, another one for each seed",
            search={method: list(BUILD[method]) for method in methods},
            searched_on="images of the other seeds",
        ),
        page=page,
    ).run(request)


def cells(
    seeds: Sequence[int],
    *,
    images: int,
    steps: int,
    methods: Sequence[str],
    learning_rate: float = LEARNING_RATE,
) -> list[FilterRun]:
    """Return all runs of some methods, image by image, the controls first."""
    untrained = [name for method, name in UNTRAINED.items() if method in methods]
    controls = [(name, "one", 0) for name in (CONSTANT, *untrained)]
    fitted = [(method, setting, steps) for method in methods for setting in BUILD[method]]
    return [
        FilterRun(
            image=seed % images,
            method=method,
            setting=setting,
            steps=own_steps,
            learning_rate=learning_rate,
            seed=seed,
        )
        for seed in seeds
        for method, setting, own_steps in (*controls, *fitted)
    ]


def decomposed(images: FilterImages) -> Grid:
    """Return the grid of the images with its eigenpairs, decomposed in double precision, kept in single."""
    pairs = eigenpairs(images.edges, torch.zeros(len(images.inner), dtype=torch.long))
    spaces = RelativeGap(warn=False)(pairs.values, torch.ones_like(pairs.values, dtype=torch.bool))
    return Grid(
        edges=images.edges,
        pairs=Eigenpairs(vectors=pairs.vectors.float(), values=pairs.values.float()),
        multiplicities=tuple(spaces.dimension.unique().tolist()),
    )


def measure(cell: FilterRun, *, images: FilterImages, grid: Grid) -> FilterScore:
    """Fit a network to the five filters of one image."""
    signal = images.signals[:, cell.image, None].float()
    targets = torch.stack([each[images.inner, cell.image] for each in images.targets.values()], dim=1)
    started = time.perf_counter()
    if cell.method == CONSTANT:
        smallest, parameters = (targets - targets.mean(dim=0)).square().sum(dim=0), len(FILTERS)
    else:
        smallest, parameters = _fitted(cell, signal, targets, images.inner, grid)
    return FilterScore(
        **dict(zip(images.targets, smallest.tolist(), strict=True)),
        parameters=parameters,
        seconds=time.perf_counter() - started,
    )


def _fitted(
    cell: FilterRun, signal: Tensor, targets: Tensor, inner: Tensor, grid: Grid
) -> tuple[Tensor, int]:
    """Return the smallest error over all steps for each filter, and the number of weights."""
    energy = targets.square().sum(dim=0).float()
    torch.manual_seed(cell.seed)
    trained = {name: method for method, name in UNTRAINED.items()}.get(cell.method, cell.method)
    network = BUILD[trained][cell.setting](grid)
    steps = max(1, cell.steps)  # the first error is the untrained network's
    optimizer = torch.optim.Adam(network.rates(cell.learning_rate), lr=cell.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    smallest = torch.full((len(FILTERS),), torch.inf)
    for _ in range(steps):
        errors = (network(signal)[inner] - targets.float()).square().sum(dim=0)
        smallest = torch.minimum(smallest, errors.detach())
        optimizer.zero_grad()
        # The root keeps gradients up when little is left to learn. Adam is invariant to the scale of a loss,
        # so the parameters of one filter learn as if it were alone.
        (errors / energy).sqrt().sum().backward()
        optimizer.step()
        schedule.step()
    return smallest, sum(parameter.numel() for parameter in network.parameters())


def page(results: Mapping[FilterRun, FilterScore]) -> PaperPage:
    """Return the page of the results."""
    errors = errors_by_method(results)
    figure = _errors_of(errors, FEW)
    cell = max(results, key=lambda cell: cell.steps)
    return PaperPage(
        title="Spectral filters",
        overview=figure,
        findings=findings(errors),
        figures=_figures(errors, figure),
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "images": f"{len({each.image for each in results})} (the paper's: {IMAGES})",
            "steps": f"{cell.steps} (the paper's: {STEPS})",
            "Adam, learning rate": f"{cell.learning_rate:g}",
            "eigenvectors": "all 1,024",
        },
    )


def _errors_of(errors: Errors, methods: Collection[str]) -> Drawing:
    """Draw the errors of some methods, as far as they are measured, in the order of the paper's table."""
    shown = [method for method in PAPER if method in methods and method in errors]
    return grouped_dots(
        {method: {name: Estimate.over_seeds(errors[method][name]) for name in FILTERS} for method in shown},
        {method: {name: error for name, (error, _) in PAPER[method].items()} for method in shown},
        label="sum of squared errors",
    )


def _figures(errors: Errors, overview: Drawing) -> tuple[Figure, ...]:
    """Return the overview, and all rows of the table in two panels if they are measured."""
    drawn = {"Errors": [panel(overview, "Errors of each method for each filter.")]}
    if errors.keys() > PAPER.keys():
        others = PAPER.keys() - set(ON_EDGES)
        drawn["Errors of all rows"] = [
            panel(_errors_of(errors, ON_EDGES), "Errors of networks on edges.", name="On edges"),
            panel(_errors_of(errors, others), "Errors of networks on sets of nodes.", name="Without edges"),
        ]
    return tuple(
        Figure(
            title=title,
            words="Means over images with 95 % intervals, on a logarithmic scale: dots are ours, rings the "
            "paper's; those at the lower end are 1e-5 or less.",
            panels=tuple(panels),
            wide=True,
        )
        for title, panels in drawn.items()
    )


def errors_by_method(results: Mapping[FilterRun, FilterScore]) -> Errors:
    """Return the errors by method and filter; a seed has the setting that is best on the other images."""

    def chosen(settings: Sequence[Sequence[float]]) -> list[float]:
        """Return the errors of each seed from those of each setting and seed."""
        return [
            min(settings, key=lambda errors: sum(errors) - errors[seed])[seed]
            for seed in range(len(settings[0]))
        ]

    return {
        method: {
            name: chosen(
                [
                    [getattr(score, name) for score in setting.values()]
                    for setting in grouped(group, "setting").values()
                ]
            )
            for name in FILTERS
        }
        for method, group in grouped(results, "method").items()
    }


def numbers(results: Mapping[FilterRun, FilterScore]) -> Numbers:
    """Return a row for each method: our numbers, and the paper's in parentheses."""

    def cells_of(method: str, errors: Mapping[str, Sequence[float]]) -> list[str]:
        paper = PAPER.get(method, {})
        means = {name: Estimate.over_seeds(errors[name]) for name in FILTERS}
        return [
            mean.text(3 if mean.mean > 0.01 else 6)
            + (" ({:.3f}, deviation {:.3f})".format(*paper[name]) if paper else "")
            for name, mean in means.items()
        ]

    seconds = {
        method: fmean(score.seconds for score in group.values())
        for method, group in grouped(results, "method").items()
    }
    return Numbers(
        header=("", *FILTERS, "seconds"),
        rows=tuple(
            (method, *cells_of(method, errors), f"{seconds[method]:.0f}")
            for method, errors in errors_by_method(results).items()
        ),
        note="Sum of squared errors on the 784 inner nodes, mean over images with its 95 % interval; in "
        "parentheses, the paper's mean and standard deviation over 50 images. Seconds for all five filters "
        "of an image, one setting. SignNet and BasisNet have DeepSets behind them where no other is named.",
    )
