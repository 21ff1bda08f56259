"""The picture of docs/encodings.md: a column of each encoding on caffeine and on a mesh.

python benchmarks/encodings_picture.py docs/images/encodings.png
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import matplotlib
import networkx as nx
import torch
from torch import Tensor

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from tammes.spectral import Eigenpairs, MeshLaplacian, RelativeGap, eigenpairs
from tammes.spectral.encodings import (
    graph_angles,
    heat_kernel_encoding,
    laplacian_encoding,
    projected_ones,
    random_walk_encoding,
)

# Heavy atoms of caffeine: two rings that share the edge 3-4, two oxygens (9, 11), three methyl groups.
CAFFEINE = [
    *[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)],
    *[(3, 6), (6, 7), (7, 8), (8, 4)],
    *[(1, 9), (0, 10), (5, 11), (2, 12), (8, 13)],
]


def both_ways(pairs: Tensor) -> Tensor:
    return torch.cat([pairs, pairs.flip(0)], dim=1)


def vase(around: int = 36, along: int = 40) -> tuple[Tensor, Tensor]:
    """A vase without a bottom, wide below and with a narrow neck."""
    height, angle = torch.meshgrid(
        torch.linspace(0, 1, along), torch.arange(around) * (2 * math.pi / around), indexing="ij"
    )
    radius = 0.16 + 0.24 * torch.exp(-(((height - 0.3) / 0.2) ** 2)) + 0.1 * height.pow(6)
    vertices = torch.stack([radius * angle.cos(), radius * angle.sin(), height], dim=2).reshape(-1, 3)
    row, column = torch.meshgrid(torch.arange(along - 1), torch.arange(around), indexing="ij")
    a, b = row * around + column, row * around + (column + 1) % around
    faces = torch.stack([torch.stack([a, b, b + around], 2), torch.stack([a, b + around, a + around], 2)])
    return vertices, faces.reshape(-1, 3)


def columns_of(pairs: Eigenpairs, batch: Tensor, time: float) -> dict[str, Tensor]:
    # On the mesh one gap of eigenvalues is close to the threshold, of which a picture need not warn.
    gap = RelativeGap(warn=False)
    return {
        "laplacian, v_2": laplacian_encoding(pairs, batch, count=1)[:, 0],
        "random-walk, t = 6": random_walk_encoding(pairs, batch, steps=6)[:, 5],
        f"heat, t = {time:g}": heat_kernel_encoding(pairs, batch, times=(time,))[:, 0],
        "angles, j = 2": graph_angles(pairs, batch, count=2, gap=gap)[:, 1],
        "projectors, j = 4": projected_ones(pairs, batch, count=4, gap=gap)[:, 3],
    }


def main(path: Path) -> None:
    """Draw both rows, and write the picture."""
    figure = plt.figure(figsize=(12, 5.2))
    edges = torch.tensor(CAFFEINE).T
    batch = torch.zeros(14, dtype=torch.long)
    graph = nx.Graph(CAFFEINE)
    places = nx.kamada_kawai_layout(graph)
    for number, (name, column) in enumerate(
        columns_of(eigenpairs(both_ways(edges), batch), batch, 2).items()
    ):
        axes = figure.add_subplot(2, 5, number + 1)
        nx.draw_networkx_edges(graph, places, ax=axes, edge_color="0.6")
        at = torch.tensor([tuple(places[node]) for node in range(14)])
        axes.scatter(at[:, 0], at[:, 1], c=column, cmap="viridis", s=110, zorder=2, edgecolors="0.3")
        axes.set_title(name, fontsize=10)
        axes.set_axis_off()
        axes.set_aspect("equal")
    vertices, faces = vase()
    mesh_batch = torch.zeros(len(vertices), dtype=torch.long)
    sides = torch.cat([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).sort(1).values.unique(dim=0)
    found = columns_of(eigenpairs(both_ways(sides.T), mesh_batch), mesh_batch, 20)
    # On a mesh, cotangents and areas replace the numbers of neighbors where there is no need of a walk.
    surface = MeshLaplacian.of(vertices.double(), faces).eigenpairs(80)
    found["laplacian, v_2"] = laplacian_encoding(surface, mesh_batch, count=1)[:, 0]
    del found["heat, t = 20"]
    heat = heat_kernel_encoding(surface, mesh_batch, times=(0.02,))[:, 0]
    order = ["laplacian, v_2", "random-walk, t = 6", "heat", "angles, j = 2", "projectors, j = 4"]
    for number, name in enumerate(order):
        column = heat if name == "heat" else found[name]
        axes = figure.add_subplot(2, 5, number + 6, projection="3d")
        drawn = axes.plot_trisurf(*vertices.T, triangles=faces.numpy(), cmap="viridis", linewidth=0)
        drawn.set_array(column[faces].mean(1).numpy())
        drawn.autoscale()
        axes.set_title("heat, t = 0.02" if name == "heat" else name, fontsize=10)
        axes.set_box_aspect((0.8, 0.8, 1))
        axes.view_init(elev=18, azim=40)
        axes.set_axis_off()
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/encodings.png"))
