"""The pictures of the pages that explain an idea, one for each.

python benchmarks/idea_pictures.py docs/images
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import matplotlib
import torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import idea_drawings
import tammes
from tammes.report.markup import inline_svg
from tammes.report.palette import DARK, GRID, INK, LIGHT, MUTED
from tammes.theory import ClassDistribution, best_k, log_transfer_coefficient, pack

COUPLINGS = {
    "Uniform()": tammes.Uniform(),
    "Hard(beta=1)": tammes.Hard(beta=1.0),
    "Hard(beta=2)": tammes.Hard(beta=2.0),
    "Transport(epsilon=0.5)": tammes.Transport(epsilon=0.5),
}


def objective(rows: int = 60, anchor: int = 0) -> Figure:
    """Weights of one anchor's negatives, by their similarity: the equation at the top of the page."""
    generator = torch.Generator().manual_seed(0)
    # On a circle, crowded on the right: there transport's `col` has something to balance.
    crowd = 0.5 * torch.randn(rows // 2, generator=generator)
    angle = torch.cat([torch.tensor([1.2]), crowd, 2 * math.pi * torch.rand(rows // 2, generator=generator)])
    views = [torch.stack([each.cos(), each.sin()], dim=1) for each in (angle, angle + 0.05)]
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    similarity = torch.cat(views) @ views[0][anchor]
    for name, coupling in COUPLINGS.items():
        weights = tammes.Objective(temperature=0.5, coupling=coupling).weights(*views)[anchor]
        negatives = weights > 0
        order = similarity[negatives].argsort()
        style = {"linestyle": "none", "marker": ".", "markersize": 5} if "Transport" in name else {}
        scaled = weights[negatives][order] * negatives.sum()
        axes.plot(similarity[negatives][order], scaled, **style, label=name)
    axes.set(
        xlabel="similarity s of a negative to its anchor", ylabel="weight times negatives", ylim=(0, None)
    )
    axes.legend()
    return figure


def theory(sizes: tuple[int, ...] = (10, 100, 1000)) -> Figure:
    """The factor alpha(k) above its least value, with the best k marked."""
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for size in sizes:
        classes = ClassDistribution.uniform(size)
        best = best_k(classes)
        least = log_transfer_coefficient(best, classes)
        counts = sorted({max(1, round(best * 10 ** (step / 60 - 1))) for step in range(105)} | {best})
        above = [math.exp(log_transfer_coefficient(k, classes) - least) for k in counts]
        (line,) = axes.plot(counts, above, label=f"{size:,} classes")
        axes.plot(best, 1, "o", color=line.get_color())
    axes.set(xlabel="number of negatives k", ylabel="alpha(k) / its least value", xscale="log", ylim=(0.8, 6))
    axes.legend()
    return figure


def geometry(counts: tuple[int, ...] = (4, 6, 10, 24)) -> Figure:
    """Points of the ordinary sphere that are as far apart as they can be, and the pairs at least distance."""
    figure = plt.figure(figsize=(10, 2.9))
    for place, count in enumerate(counts):
        packing = pack(count, 3)
        axes = figure.add_subplot(1, len(counts), place + 1, projection="3d")
        for i, j in packing.contacts:
            axes.plot(*packing.points[[i, j]].T, color="0.5", linewidth=1)
        axes.scatter(*packing.points.T, s=30, c=packing.points[:, 2], cmap="viridis", depthshade=False)
        axes.set_box_aspect((1, 1, 1))
        axes.set_axis_off()
        axes.set_title(f"{count} points, {packing.angle_degrees:.2f} degrees", fontsize=10)
    figure.subplots_adjust(left=0, right=1, bottom=0, top=0.9, wspace=0)
    return figure


PICTURES = {"objective": objective, "theory": theory, "geometry": geometry}
DRAWINGS = {
    "sources": idea_drawings.sources,
    "masked": idea_drawings.masked,
    "extensions": idea_drawings.extensions,
    "features": idea_drawings.features,
    "positives": idea_drawings.positives,
    "graphs": idea_drawings.graphs,
}
"""Drawings by page, which follow the light and dark modes of their reader."""
STYLE = {
    **dict.fromkeys(("text.color", "axes.titlecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), GRID),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), MUTED),
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize", "legend.fontsize"), 9),
    "legend.frameon": False,
    "axes.titlepad": 4,
}
SCALE = 1.5
"""Pixels a point where the page is wide enough."""


def drawn_svg(name: str) -> str:
    """Return the drawing of a page as an SVG file in the colors of its reader's mode.

    The background is part of the drawing, so that text is readable on any page.
    """
    with matplotlib.rc_context(STYLE):
        text = str(inline_svg(DRAWINGS[name](), name=name, description=DRAWINGS[name].__doc__ or ""))
    start = text.index(">") + 1
    label = re.search(r'aria-label="[^"]*"', text[:start])
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text[:start])
    assert label is not None  # both as `inline_svg` writes them
    assert box is not None
    width, height = (round(SCALE * float(each)) for each in box.groups())
    light, dark = ("".join(f"{key}:{value};" for key, value in mode.items()) for mode in (LIGHT, DARK))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'{label[0]} {box[0]} width="{width}" height="{height}">\n'
        f"<style>:root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        "text{font-family:system-ui,sans-serif!important}image{image-rendering:pixelated}</style>\n"
        f'<rect width="100%" height="100%" fill="var(--paper)"/>\n{text[start:]}\n'
    )


def main(folder: Path) -> None:
    for name, drawn in PICTURES.items():
        figure = drawn()
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
    for name in DRAWINGS:
        (folder / f"idea-{name}.svg").write_text(drawn_svg(name), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
