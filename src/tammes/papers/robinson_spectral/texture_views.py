"""Rasterization of a mesh for cameras around it: the triangle, and the place on it, of each pixel."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

DISTANCE = 3.0
"""Distance from the camera to the middle of the mesh, in radii of the sphere around the mesh."""


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """The pixels of a picture that show the mesh, and the visible points of the mesh.

    Args:
        pixels: row * side + column, ascending.
        faces: triangle of each point.
        weights: barycentric coordinates of each point.
        side: height and width of the picture, in pixels.
    """

    pixels: Int64[Tensor, " n"]
    faces: Int64[Tensor, " n"]
    weights: Float[Tensor, "n 3"]
    side: int

    def picture(self, colors: Float[Tensor, "n d"]) -> Float[Tensor, "side side d"]:
        """Return colors of the points as a picture, on white."""
        whole = colors.new_ones(self.side**2, colors.shape[1])
        return whole.index_copy(0, self.pixels, colors).view(self.side, self.side, -1)


def random_cameras(count: int, *, generator: torch.Generator) -> Float[Tensor, "count 3"]:
    """Return directions from the mesh to cameras, uniform on the sphere.

    Example:
        >>> random_cameras(2, generator=torch.Generator().manual_seed(0)).norm(dim=1).tolist()
        [1.0, 1.0]
    """
    drawn = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(drawn, dim=1)


def view(
    vertices: Float[Tensor, "v 3"], faces: Int64[Tensor, "f 3"], camera: Float[Tensor, " 3"], *, side: int
) -> View:
    """Return what a camera sees that looks at the middle of the mesh.

    The second coordinate points up, and the sphere around the mesh fits the picture.

    Args:
        vertices: coordinates in space.
        faces: vertex numbers of the corners of each triangle.
        camera: direction from the mesh to the camera, of length 1.
        side: height and width of the picture, in pixels.

    Example:
        >>> square = torch.tensor([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
        >>> seen = view(square, torch.tensor([[0, 1, 2], [0, 2, 3]]), torch.tensor([0.0, 0, 1]), side=8)
        >>> seen.picture(torch.zeros(len(seen.pixels), 1))[..., 0].sum(dim=1).int().tolist()
        [8, 2, 2, 2, 2, 2, 2, 8]
    """
    places, depth = _projected(vertices.double(), camera.double(), side)
    corners, depths = places[faces], depth[faces]  # (faces, 3, 2), (faces, 3)
    face, pixel = _candidates(corners, side)
    center = torch.stack([pixel % side, pixel // side], dim=1) + 0.5
    weights = _barycentric(corners[face], center)
    inside = (weights >= 0).all(dim=1)
    face, pixel, weights = face[inside], pixel[inside], weights[inside]
    # Perspective: weight / depth is linear in the picture, the barycentric weights themselves are not.
    near = weights / depths[face]
    inverse = near.sum(dim=1)
    nearest = inverse.new_zeros(side**2).scatter_reduce(0, pixel, inverse, "amax")
    front = (inverse == nearest[pixel]).nonzero()[:, 0]
    # On a common edge of two triangles, the first one counts.
    first = pixel.new_full((side**2,), len(pixel)).scatter_reduce(0, pixel[front], front, "amin")
    seen = (first < len(pixel)).nonzero()[:, 0]
    chosen = first[seen]
    return View(
        pixels=seen, faces=face[chosen], weights=(near[chosen] / inverse[chosen, None]).float(), side=side
    )


def _projected(vertices: Tensor, camera: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Return column and row in pixels, (v, 2), and the distance along the line of sight, (v,)."""
    middle = (vertices.amax(dim=0) + vertices.amin(dim=0)) / 2
    centered = vertices - middle
    radius = centered.norm(dim=1).max()
    up = camera.new_tensor([0.0, 1.0, 0.0])
    if abs(float(camera @ up)) > 0.999:
        up = camera.new_tensor([0.0, 0.0, 1.0])
    right = torch.nn.functional.normalize(torch.linalg.cross(up, camera), dim=0)
    over = torch.linalg.cross(camera, right)
    seen = centered / radius @ torch.stack([right, over, camera], dim=1)
    depth = DISTANCE - seen[:, 2]
    reach = 1 / (DISTANCE**2 - 1) ** 0.5  # half the picture at distance 1
    column = (1 + seen[:, 0] / depth / reach) * side / 2
    row = (1 - seen[:, 1] / depth / reach) * side / 2
    return torch.stack([column, row], dim=1), depth


def _candidates(corners: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Return triangles, and the pixels of the rectangles around them."""
    low = (corners.amin(dim=1) - 0.5).ceil().clamp(0, side).long()
    high = (corners.amax(dim=1) - 0.5).floor().clamp(-1, side - 1).long()
    wide, tall = (high - low + 1).clamp(min=0).unbind(dim=1)
    counts = wide * tall
    face = torch.arange(len(corners)).repeat_interleave(counts)
    place = torch.arange(int(counts.sum())) - (counts.cumsum(0) - counts)[face]
    column, row = low[face, 0] + place % wide[face], low[face, 1] + place // wide[face]
    return face, row * side + column


def _barycentric(corners: Tensor, points: Tensor) -> Tensor:
    """Return the barycentric coordinates of points in the plane, (n, 3); NaN in triangles without area."""
    first, second, third = corners.unbind(dim=1)

    def area(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        one, other = b - a, c - a
        return one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]

    parts = [area(points, second, third), area(first, points, third), area(first, second, points)]
    return torch.stack(parts, dim=1) / area(first, second, third)[:, None]
