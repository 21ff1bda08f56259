"""Pictures of the texture experiment: the mesh as fitted, and what SignNet makes of eigenfunctions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.figure import Figure
from torch import Tensor

from tammes.papers.robinson_spectral.texture_networks import Field
from tammes.papers.robinson_spectral.texture_training import AT_ONCE, Surface, rendered
from tammes.papers.robinson_spectral.texture_views import View, view
from tammes.report.figures.canvas import TEXT
from tammes.report.palette import INK

SIDE = 220
"""Pixels of a picture's height and width on the page."""
FRONT, BACK, FACE = (0.6, 0.3, -0.74), (-0.55, 0.45, 0.7), (0.1, 0.4, -0.9)
"""Where cameras stand that are neither trained nor measured on; the last sees both sides of a mesh."""
SHOWN = (1, 2, 4, 9, 19)
"""Eigenfunctions that are drawn, from 1, as far as there are so many."""
_SIGNED, _UNSIGNED = colormaps["RdBu"], colormaps["viridis"]


def seen(surface: Surface, camera: tuple[float, float, float]) -> View:
    """What a camera sees that the page shows."""
    direction = torch.nn.functional.normalize(torch.tensor(camera, dtype=torch.float64), dim=0)
    return view(surface.mesh.vertices, surface.mesh.faces, direction, side=SIDE)


def renderings(surface: Surface, fields: Mapping[str, Field]) -> Figure:
    """The mesh with its texture, then with what each network made of it, from two sides."""
    columns = ("texture", *fields)
    rows = []
    for camera in (FRONT, BACK):
        points = seen(surface, camera)
        colors = [surface.colors(points), *(rendered(field, surface, points) for field in fields.values())]
        rows.append([points.picture(each) for each in colors])
    return _grid(rows, columns)


def even_parts(surface: Surface, field: Field) -> Figure:
    """Eigenfunctions, and below each the first principal component of phi(v) + phi(-v) over the vertices."""
    points = seen(surface, FACE)
    numbers = [number for number in SHOWN if number <= len(surface.eigenvalues)]
    chosen = [surface.eigenfunctions[:, number - 1] for number in numbers]
    raw = [_colored(each / each.abs().max() / 2 + 0.5, surface, points, signed=True) for each in chosen]
    encoded = [principal(field.even(each), 1)[:, 0] for each in chosen]
    learned = [_colored(_spread(each), surface, points, signed=False) for each in encoded]
    return _grid([raw, learned], tuple(f"eigenfunction {number}" for number in numbers))


def encodings(surface: Surface, field: Field) -> Figure:
    """The first three principal components of all that the perceptron behind SignNet sees."""
    points = seen(surface, FRONT)
    with torch.no_grad():
        parts = [field.encoded(each) for each in surface.eigenfunctions.split(AT_ONCE)]
    found = principal(torch.cat(parts), 3)
    pictures = [_colored(_spread(each), surface, points, signed=False) for each in found.unbind(dim=1)]
    return _grid([pictures], tuple(f"component {number}" for number in range(1, len(pictures) + 1)))


def principal(encoded: Float[Tensor, "n d"], count: int) -> Float[Tensor, "n count"]:
    """The first principal components.

    >>> principal(torch.tensor([[1.0, 0.0], [3.0, 0.0]]), 1).abs().round(decimals=4).tolist()
    [[1.0], [1.0]]
    """
    centered = encoded - encoded.mean(dim=0)
    left, values, _ = torch.linalg.svd(centered, full_matrices=False)
    return left[:, :count] * values[:count]


def _spread(values: Tensor) -> Tensor:
    """From 0 to 1, but for a hundredth on either side."""
    low, high = values.quantile(0.01), values.quantile(0.99)
    return ((values - low) / (high - low).clamp(min=torch.finfo(values.dtype).tiny)).clamp(0, 1)


def _colored(values: Tensor, surface: Surface, points: View, *, signed: bool) -> Tensor:
    """A picture of numbers at the vertices, each in [0, 1]."""
    at = (values[surface.mesh.faces[points.faces]] * points.weights).sum(dim=1)
    colors = (_SIGNED if signed else _UNSIGNED)(at.numpy())[:, :3]
    return points.picture(torch.from_numpy(colors))


def _grid(rows: Sequence[Sequence[Tensor]], columns: Sequence[str]) -> Figure:
    figure = Figure(figsize=(1.3 * len(columns), 1.35 * len(rows) + 0.2), layout="constrained")
    figure.patch.set_alpha(0)
    places = figure.subplots(len(rows), len(columns), squeeze=False)
    for number, pictures in enumerate(rows):
        for axes, picture, title in zip(places[number], pictures, columns, strict=True):
            axes.imshow(picture.clamp(0, 1).numpy(), interpolation="none")
            axes.set_axis_off()
            if number == 0:
                axes.set_title(title, fontsize=TEXT - 2, color=INK)
    return figure
