"""The pictures of docs/objective.md, docs/theory.md and docs/geometry.md, one for each idea.

python benchmarks/idea_pictures.py docs/images
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import matplotlib
import torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

import tammes
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


def main(folder: Path) -> None:
    for name, drawn in PICTURES.items():
        figure = drawn()
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
