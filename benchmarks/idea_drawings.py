"""Drawings of ideas in the colors of the pages of runs; `idea_pictures.py` writes them as SVG.

They are 360 points wide, so that text of 9 points can be read where a page is 400 pixels wide.
"""

from __future__ import annotations

import math
from itertools import accumulate

import networkx as nx
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Patch, Rectangle
from torch import Tensor

import tammes
from tammes.data import trifeature
from tammes.data.graph_batch import GraphBatch
from tammes.encoders.vit import from_patches, to_patches
from tammes.extensions import Extension, Lovasz, Multilinear
from tammes.masked import Corrupted
from tammes.pairs import Pairs
from tammes.perturbation import BeforeNormalization, ModificationForm, Renormalized, Shifted
from tammes.positives import Active, DropNodes, MaskFeatures, PerturbEdges, Quantile, Subgraph
from tammes.positives.boundary import Boundary
from tammes.report.figures.canvas import quiet
from tammes.report.palette import GRID, INK, MUTED, PAPER, objective_color

BLUE, ORANGE, GREEN = (objective_color(index) for index in range(3))


def panels(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure of five inches and its axes, row by row."""
    figure = Figure(figsize=(5, height), layout="constrained")
    figure.patch.set_alpha(0)
    axes = [figure.add_subplot(rows, columns, place + 1) for place in range(rows * columns)]
    for each in axes:
        quiet(each)
    return figure, axes


# docs/sources.md


def sources() -> Figure:
    """Which candidates are the positives and the negatives of each anchor, by five sources."""
    figure, axes = panels(2, 2, 4.3)
    a, b, keys, more = torch.randn(4, 3, 4, generator=torch.Generator().manual_seed(0))
    queue = tammes.Queue(size=6, dim=4)
    for earlier in (keys, more):
        queue(earlier, earlier)
    owner = torch.tensor([0, 0, 1, 1, 1, 2])
    matrix(axes[0], tammes.InBatch()(a, b), {"view a": 3, "view b": 3}, {"view a": 3, "view b": 3})
    axes[0].set_title("InBatch()")
    for view in (0, 3):
        axes[0].add_patch(Rectangle((0, view), 6, 2, fill=False, edgecolor=GREEN, linewidth=2))
    matrix(axes[1], queue(a, b), {"queries": 3}, {"keys": 3, "keys of earlier batches": 6})
    axes[1].set_title("Queue(size=6)")
    towers = tammes.TwoTowers()(a, b, keys[:, None])
    matrix(axes[2], towers, {"queries": 3}, {"documents": 3, "hard negatives": 3})
    axes[2].set_title("TwoTowers()")
    matrix(axes[3], tammes.NodesToGraphs()(torch.cat([a, b]), keys, owner=owner), {"nodes": 6}, {"graphs": 3})
    axes[3].set_title("NodesToGraphs()")
    kinds = [
        Patch(facecolor=BLUE, label="positive"),
        Patch(facecolor=ORANGE, alpha=LIGHTER, label="negative"),
        Patch(fill=False, edgecolor=GREEN, linewidth=2, label="rows of one process under Gather()"),
    ]
    figure.legend(handles=kinds, loc="outside lower center", ncols=3, handlelength=1, columnspacing=1)
    return figure


LIGHTER = 0.45
"""Opacity of negatives, of which there are many."""


def matrix(axes: Axes, pairs: Pairs, anchors: dict[str, int], candidates: dict[str, int]) -> None:
    """Draw anchors by candidates: positives filled, negatives light, an anchor with itself empty."""
    negative = tammes.Objective(temperature=1.0).weights(pairs) > 0
    positive = torch.zeros_like(negative)
    found = pairs.positives()
    positive[found.anchor, found.candidate] = True
    for kind, style in ((positive, {"color": BLUE}), (negative, {"color": ORANGE, "alpha": LIGHTER})):
        for row, column in kind.nonzero().tolist():
            axes.add_patch(Rectangle((column + 0.06, row + 0.06), 0.88, 0.88, linewidth=0, **style))
    rows, columns = negative.shape
    axes.add_patch(Rectangle((0, 0), columns, rows, fill=False, edgecolor=GRID, linewidth=1))
    axes.set(xlim=(-0.1, columns + 0.1), ylim=(rows + 0.1, -0.1), aspect="equal")
    axes.set_xticks(middles(candidates), candidates, color=MUTED)
    axes.set_yticks(middles(anchors), anchors, color=MUTED, rotation=90, va="center")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def middles(blocks: dict[str, int]) -> list[float]:
    """Return the middle of each block of rows or columns."""
    ends = accumulate(blocks.values())
    return [end - size / 2 for end, size in zip(ends, blocks.values(), strict=True)]


# docs/masked.md


def masked(patch: int = 8, noise: float = 0.3) -> Figure:
    """What CAN's encoder sees of an image, and what is to be predicted."""
    figure, axes = panels(1, 4, 1.6)
    image = trifeature("test", size=64).batch([147]).float() / 255
    drawn = Corrupted.draw(
        to_patches(image, patch), rate=0.5, noise=noise, generator=torch.Generator().manual_seed(3)
    )
    hidden = torch.zeros(drawn.patches.shape[:2]).scatter(1, drawn.mask.hidden, 1.0).bool()[0]
    error = 0.5 + (drawn.noisy - drawn.patches)
    shown = {
        "image x": (drawn.patches, ~torch.zeros_like(hidden)),
        "the encoder\nsees": (drawn.noisy, ~hidden),
        "to reconstruct:\nhidden pixels": (drawn.patches, hidden),
        "to denoise:\nσ e": (error, ~hidden),
    }
    for each, (title, (patches, there)) in zip(axes, shown.items(), strict=True):
        pixels = from_patches(patches, patch)[0].clamp(0, 1)
        opaque = from_patches(there.float()[None, :, None].expand(1, -1, patch**2), patch)[0]
        each.set_facecolor(GRID)
        each.patch.set_alpha(1)
        each.imshow(torch.cat([pixels, opaque]).permute(1, 2, 0).numpy(), interpolation="none")
        each.set_title(title)
        each.set(xticks=[], yticks=[])
        each.spines[:].set_visible(False)
    return figure


# docs/extensions.md


def cut(sets: Tensor) -> Tensor:
    """Number of edges between a set and the other nodes, of two nodes that an edge joins."""
    return (sets[:, 0] != sets[:, 1]).float()


def extensions(x: tuple[float, float] = (0.75, 0.35), steps: int = 61) -> Figure:
    """Two extensions of a cut to the square, and the sets that a point is a mean of."""
    figure, axes = panels(1, 2, 2.9)
    side, point = torch.linspace(0, 1, steps), torch.tensor(x)
    grid = torch.cartesian_prod(side, side)
    for each, extension in zip(axes, (Lovasz(), Multilinear()), strict=True):
        value = extension(grid, cut).reshape(steps, steps).T
        lines = each.contour(side, side, value, levels=[0.2, 0.4, 0.6, 0.8], colors=BLUE, linewidths=1)
        each.clabel(lines, fontsize=8)
        for corner in torch.cartesian_prod(torch.arange(2), torch.arange(2)).bool():
            share = probability(extension, point, corner)
            if share > 0:
                place = corner.float()
                each.plot(*torch.stack([point, place]).T, color=ORANGE, linewidth=6 * share, alpha=0.7)
                outward = torch.tensor([0.0, 0.1]) * (2 * place - 1)
                name = SETS[tuple(corner.tolist())]
                each.text(*(place + outward), f"{name} {share:.2f}", color=ORANGE, ha="center", va="center")
            each.plot(*corner.float(), "o", color=ORANGE if share > 0 else GRID, markersize=5)
        each.plot(*x, "o", color=INK, markersize=5)
        each.set_title(f"{type(extension).__name__}()")
        each.set(xlabel="x of node 1", ylabel="x of node 2", aspect="equal")
        each.set(xlim=(-0.25, 1.25), ylim=(-0.2, 1.2), xticks=[0, 1], yticks=[0, 1])
    return figure


SETS = {(False, False): "∅", (True, False): "{1}", (False, True): "{2}", (True, True): "{1, 2}"}


def probability(extension: Extension, x: Tensor, members: Tensor) -> float:
    """Return p_x of one set: the extension of its indicator; of the empty set what the others leave."""
    if members.any():
        return float(extension(x, lambda sets: (sets == members).all(dim=1).float()))
    return 1 - float(extension(x, lambda sets: sets.any(dim=1).float()))


# docs/features.md


def features(epsilon: float = 0.3, temperature: float = 0.5) -> Figure:
    """The worst moves of a positive and of negatives in their balls, and what they do to the loss."""
    figure, (plane, loss) = panels(1, 2, 2.6)
    angles = torch.deg2rad(torch.tensor([90.0, 40.0, 150.0, 205.0, 320.0]))
    v, *others = points = torch.stack([angles.cos(), angles.sin()], dim=1)
    plane.add_patch(Circle((0, 0), 1, fill=False, edgecolor=GRID))
    plane.annotate("", xy=v, xytext=(0, 0), arrowprops={"arrowstyle": "->", "color": INK})
    plane.text(0, 1.12, "anchor v", ha="center", color=INK)
    for number, u in enumerate(others):
        color, sign = (ORANGE, 1) if number else (BLUE, -1)
        plane.add_patch(Circle(u, epsilon, facecolor=color, alpha=0.15))
        plane.plot(*u, "o", color=color, markersize=4)
        arrow = {"arrowstyle": "->", "color": color, "shrinkA": 0, "shrinkB": 0}
        plane.annotate("", xy=u + sign * epsilon * v, xytext=u, arrowprops=arrow)
    plane.text(*(others[0] + torch.tensor([0.08, -0.05])), "v⁺", color=BLUE)
    plane.text(*(others[1] + torch.tensor([0.08, -0.05])), "vⱼ", color=ORANGE)
    plane.set(xlim=(-1.4, 1.4), ylim=(-1.2, 1.4), aspect="equal")
    plane.set_axis_off()
    pairs = Pairs(
        anchors=v[None],
        ids=torch.tensor([0]),
        candidates=points[1:],
        candidate_ids=torch.arange(len(others)),
    )
    sizes = [step / 20 for step in range(17)]
    forms: tuple[ModificationForm, ...] = (Shifted(), Renormalized(), BeforeNormalization(steps=3))
    for form, style in zip(forms, ("-", "--", ":"), strict=True):
        values = [float(worst(size, form, temperature)(pairs)) for size in sizes]
        loss.plot(sizes, values, style, color=BLUE, label=type(form).__name__)
    loss.set(xlabel="epsilon", ylabel="modified loss of this anchor", ylim=(0, None))
    loss.legend(loc="lower right")
    return figure


def worst(epsilon: float, form: ModificationForm, temperature: float) -> tammes.Objective:
    """Return the objective L_eps, without the plain loss."""
    return tammes.recipes.ifm(temperature=temperature, epsilon=epsilon, alpha=math.inf, form=form)


# docs/positives.md


def positives(candidates: int = 4) -> Figure:
    """Views of three anchors over their distance from the boundary of three clusters, and the chosen ones."""
    figure, (axes,) = panels(1, 1, 2.4)
    boundary = Boundary.between(on_circle(torch.tensor([30.0, 120.0, 260.0])))
    around = torch.linspace(0, 360, 721)
    axes.plot(around, boundary.distance(on_circle(around)), color=MUTED, linewidth=1)
    generator = torch.Generator().manual_seed(127)
    data = 360 * torch.rand(200, generator=generator)
    threshold = float(Quantile(share=0.25).threshold(1, boundary.distance(on_circle(data))))
    axes.axhline(threshold, color=INK, linestyle="--", linewidth=1)
    axes.text(3, threshold, "threshold", va="bottom", color=INK)
    anchors = torch.tensor([45.0, 155.0, 262.0])
    views = [anchors + 30 * torch.randn(3, generator=generator) for _ in range(candidates)]
    chosen = Active(candidates=candidates).choose(
        views,
        lambda view: boundary.distance(on_circle(view)),
        threshold=threshold,
        draws=torch.rand(3, candidates, generator=generator),
    )
    for number, color in enumerate((BLUE, ORANGE, GREEN)):
        angles = torch.stack(views)[:, number]
        axes.plot(angles, boundary.distance(on_circle(angles)), "o", color=color, markersize=5)
        axes.plot(chosen.views[number], chosen.distance[number], "o", color=color, markersize=12, mfc="none")
    axes.set(xlabel="angle of an embedding on the circle, degrees", ylabel="distance from the boundary")
    axes.set(xlim=(0, 360), xticks=range(0, 361, 90), ylim=(-0.05, None))
    return figure


def on_circle(degrees: Tensor) -> Tensor:
    """Return the points of the unit circle at these angles."""
    angle = torch.deg2rad(degrees)
    return torch.stack([angle.cos(), angle.sin()], dim=1)


# docs/graphs.md


def graphs(seed: int = 1) -> Figure:
    """A graph and the four changes of GraphCL."""
    figure, axes = panels(1, 5, 1.4)
    pairs = torch.tensor([[0, 1, 2, 3, 4, 5, 2, 6, 7, 8], [1, 2, 3, 4, 5, 0, 6, 7, 8, 9]])
    count = int(pairs.max()) + 1
    # The only feature is the node's number, which names the nodes that remain.
    graph = GraphBatch(
        features=torch.arange(count)[:, None].float(),
        edges=torch.cat([pairs, pairs.flip(0)], dim=1),
        owner=torch.zeros(count, dtype=torch.long),
        count=1,
    )
    places = nx.kamada_kawai_layout(nx.Graph(pairs.T.tolist()))
    at = torch.tensor([tuple(places[node]) for node in range(count)])
    views = [graph, *(change(share=0.3)(graph, seed) for change in CHANGES)]
    names = ["graph", *(change.__name__ for change in CHANGES)]
    before = set(map(tuple, graph.edges.T.tolist()))
    for each, name, view in zip(axes, names, views, strict=True):
        masked = len(view.owner) == count and not torch.equal(view.features, graph.features)
        node = torch.arange(count) if masked else view.features[:, 0].long()
        each.scatter(*at.T, s=14, facecolors=PAPER, edgecolors=GRID, zorder=2)
        after = {(int(node[u]), int(node[v])) for u, v in view.edges.T.tolist()}
        for edge in before | after:
            color, style = (GREEN if edge not in before else MUTED), (":" if edge not in after else "-")
            each.plot(*at[list(edge)].T, style, color=color, linewidth=1.2, zorder=1)
        kept = view.features[:, 0] == node
        each.scatter(*at[node[kept]].T, s=16, color=BLUE, zorder=3)
        each.scatter(*at[node[~kept]].T, s=16, color=ORANGE, zorder=3)
        each.set_title(name)
        each.set(aspect="equal")
        each.set_axis_off()
    return figure


CHANGES = (DropNodes, PerturbEdges, Subgraph, MaskFeatures)
