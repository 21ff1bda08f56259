"""What min-max training did: the sphere, the curves, the table."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from tammes.data import digits
from tammes.papers.jiang.minmax import Trained
from tammes.papers.page import Numbers
from tammes.report.figures.curves import draw_lines, lines_over_steps
from tammes.report.figures.sphere import draw_sphere, sphere_map
from tammes.report.palette import MUTED, objective_color
from tammes.report.panels import Panel, css_color
from tammes.report.scores import Curve
from tammes.report.svg import inline_svg

Results = Mapping[str, Sequence[Trained]]
"""Encoders by the name of the adversary, one for each seed; among them the untrained ones."""


def overview(results: Results, untrained: str, level: float) -> Figure:
    """The first seed on one sheet: the test images on the sphere, and loss and cosine over steps."""
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    colors = _colors(results, untrained)
    grid = figure.add_gridspec(2, 1, height_ratios=(1, 2.6))
    above, below = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    for axes, (name, repeats) in zip(above.subplots(1, len(results)), results.items(), strict=True):
        draw_sphere(axes, repeats[0].embeddings, _labels())
        axes.set_title(name, fontsize=9, fontweight="bold", color=colors.get(name, MUTED))
    for axes, lines in zip(below.subplots(1, 2), _lines(results, untrained, level), strict=True):
        draw_lines(axes, lines.curves, list(colors.values()), label=lines.label, level=lines.level)
    return figure


def sphere_panels(results: Results, untrained: str) -> tuple[Panel, ...]:
    """The test images on the sphere, under each encoder of the first seed."""
    shades = {name: css_color(index) for index, name in enumerate(_colors(results, untrained))}
    labels = _labels()
    return tuple(
        Panel(
            name=name,
            color=shades.get(name, ""),
            svg=inline_svg(
                sphere_map(repeats[0].embeddings, labels),
                name=f"sphere-{index}",
                description=f"Test images on the sphere, {name}.",
            ),
            caption=f"mean cosine {repeats[0].measured.cosine:.2f}",
        )
        for index, (name, repeats) in enumerate(results.items())
    )


def line_panels(results: Results, untrained: str, level: float) -> tuple[Panel, ...]:
    """Loss and mean cosine over the steps of the first seed; `level` is the loss of a constant map."""
    colors = list(_colors(results, untrained).values())
    panels = []
    for index, lines in enumerate(_lines(results, untrained, level)):
        ends = ", ".join(f"{name} ends at {curve.last:.3f}" for name, curve in lines.curves.items())
        figure = lines_over_steps(lines.curves, colors, label=lines.label, level=lines.level)
        svg = inline_svg(figure, name=f"lines-{index}", description=f"{lines.label} over steps: {ends}.")
        panels.append(Panel(name=lines.label, svg=svg))
    return tuple(panels)


def numbers(results: Results) -> Numbers:
    """Everything measured, as mean and standard deviation over the seeds."""
    rows = []
    for name, repeats in results.items():
        measured = [dataclasses.asdict(each.measured) for each in repeats]
        cells = [_over_seeds([each[key] for each in measured], digits=digits) for key, _, digits in _COLUMNS]
        rows.append((name, *cells))
    return Numbers(
        header=("trained against", *(title for _, title, _ in _COLUMNS)),
        rows=tuple(rows),
        note=f"On test images; mean ± standard deviation over {len(measured)} seeds. The untrained encoder's "
        "own adversary is the first one.",
    )


_COLUMNS = (
    ("loss", "loss, own adversary", 4),
    ("value", "E[v], own adversary", 3),
    ("value_marginals", "E[v], marginals only", 3),
    ("value_no_self", "E[v], no self-coupling", 3),
    ("cosine", "mean cosine", 3),
    ("rank", "effective rank", 2),
    ("knn", "kNN", 3),
)


@dataclass(frozen=True, kw_only=True)
class _Lines:
    curves: dict[str, Curve]
    label: str
    level: tuple[str, float]


def _lines(results: Results, untrained: str, level: float) -> tuple[_Lines, _Lines]:
    first = {name: repeats[0] for name, repeats in results.items() if name != untrained}
    return (
        _Lines(
            curves={name: trained.loss for name, trained in first.items()},
            label="loss under its own adversary",
            level=("constant map, ψ(0)", level),
        ),
        _Lines(
            curves={name: trained.cosine for name, trained in first.items()},
            label="mean cosine of two images",
            level=("constant map", 1.0),
        ),
    )


def _colors(results: Results, untrained: str) -> dict[str, str]:
    """A color for each adversary."""
    names = [name for name in results if name != untrained]
    return {name: objective_color(index) for index, name in enumerate(names)}


def _labels() -> np.ndarray:
    labels = digits("test").labels
    assert labels is not None  # the digits have them
    return labels.numpy()


def _over_seeds(values: Sequence[float], *, digits: int) -> str:
    """Mean and standard deviation, or the one value there is; a rounded zero has no sign."""
    mean = f"{np.mean(values) + 0.0:.{digits}f}"
    mean = mean.removeprefix("-") if float(mean) == 0 else mean.replace("-", "\N{MINUS SIGN}")
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{digits}f}"
