"""A triangle mesh with a texture, from a Wavefront OBJ file and an image."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_indices
from tammes.data.image_files import DAMAGE, open_image
from tammes.data.published_files import read_bytes

LARGEST = torch.finfo(torch.float32).max


@dataclass(frozen=True, kw_only=True, eq=False)
class TexturedMesh:
    """Triangle mesh in space, with texture coordinates for each corner.

    Args:
        vertices: (vertices, 3) coordinates in space.
        faces: (faces, 3) indices of vertices.
        places: (places, 2) texture coordinates in [0, 1]: right, and *up*.
        face_places: (faces, 3) indices of texture coordinates; (0, 3) for a mesh without a texture.
        picture: (height, width, 3) texture in [0, 1], the top row first; or None.

    Raises:
        ValueError: If an index is out of range, or a mesh with a picture lacks texture coordinates.

    Example:
        >>> corners = torch.eye(3)
        >>> places = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> face = torch.tensor([[0, 1, 2]])
        >>> mesh = TexturedMesh(vertices=corners, faces=face, places=places, face_places=face,
        ...                     picture=torch.eye(3)[None].repeat(3, 1, 1))
        >>> mesh.colors(torch.tensor([0]), torch.tensor([[0.0, 1.0, 0.0]])).tolist()
        [[0.0, 0.0, 1.0]]
    """

    vertices: Float[Tensor, "v 3"]
    faces: Int64[Tensor, "f 3"]
    places: Float[Tensor, "p 2"]
    face_places: Int64[Tensor, "t 3"]
    picture: Float[Tensor, "h w 3"] | None = None

    def __post_init__(self) -> None:
        check_indices("faces", self.faces, len(self.vertices))
        check_indices("face_places", self.face_places, len(self.places))
        if self.picture is not None and len(self.face_places) != len(self.faces):
            raise ValueError("expected a place on the picture for each corner of each face, some have none")

    def colors(self, face: Int64[Tensor, " n"], weights: Float[Tensor, "n 3"]) -> Float[Tensor, "n 3"]:
        """Return the colors of points on the surface, interpolated between the four nearest pixels.

        Args:
            face: (n,) index of the triangle that each point lies in.
            weights: (n, 3) barycentric coordinates of each point.

        Raises:
            ValueError: If the mesh has no picture.
        """
        if self.picture is None:
            raise ValueError("expected a mesh with a picture, got one without: pass its file as `picture`")
        place = (self.places[self.face_places[face]] * weights[:, :, None]).sum(dim=1)
        grid = torch.stack([2 * place[:, 0] - 1, 1 - 2 * place[:, 1]], dim=1)  # up on the mesh, down in rows
        sampled = torch.nn.functional.grid_sample(
            self.picture.permute(2, 0, 1)[None], grid[None, None], align_corners=True, padding_mode="border"
        )
        return sampled[0, :, 0].T


def textured_mesh(path: str | Path, picture: str | Path | None = None) -> TexturedMesh:
    r"""Load a mesh from a Wavefront OBJ file, gzipped or not; larger polygons become fans of triangles.

    Args:
        path: path of the OBJ file.
        picture: path of the texture, an image of at most `MAX_PIXELS` pixels, which takes 12 bytes for each
            pixel in memory and up to 19 while it is read; or None.

    Raises:
        ValueError: If a file cannot be read, or the vertices, texture coordinates and faces do not match.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     file = Path(root) / "a.obj"
        ...     _ = file.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n")
        ...     textured_mesh(file).faces.tolist()
        [[0, 1, 2], [0, 2, 3]]
    """
    file = Path(path)
    text = read_bytes(file, "a Wavefront OBJ file").decode("utf-8", "replace")
    vertices: list[list[float]] = []
    places: list[list[float]] = []
    corners: list[tuple[int, int | None]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word, *parts = line.split() or [""]
        try:
            if word == "v":
                vertices.append(_numbers(parts, 3))
            elif word == "vt":
                places.append(_numbers(parts, 2))
            elif word == "f":
                corners += _fan([_corner(part, len(vertices), len(places)) for part in parts])
        except ValueError as error:
            where = f"{file}, line {number}"
            raise ValueError(f"{where}: expected numbers after {word!r}, got {line!r} ({error})") from error
    if not vertices or not corners:
        raise ValueError(f"expected a Wavefront OBJ file with vertices and faces, got {file}")
    placed = all(place is not None for _, place in corners)
    image = None if picture is None else _picture(Path(picture))
    try:
        return TexturedMesh(
            vertices=torch.tensor(vertices),
            faces=torch.tensor([vertex for vertex, _ in corners]).reshape(-1, 3),
            places=torch.tensor(places).reshape(-1, 2),
            face_places=torch.tensor([place for _, place in corners if placed and place is not None])
            .long()
            .reshape(-1, 3),
            picture=image,
        )
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _fan(corners: list[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    """Return the corners of the triangles that a polygon is cut into."""
    if len(corners) < 3:
        raise ValueError("a face has three corners or more")
    return [corners[each] for k in range(1, len(corners) - 1) for each in (0, k, k + 1)]


def _numbers(parts: list[str], count: int) -> list[float]:
    numbers = [float(part) for part in parts[:count]]
    if len(numbers) < count or not all(abs(number) <= LARGEST for number in numbers):
        raise ValueError(f"expected {count} numbers that float32 can hold")
    return numbers


def _corner(word: str, vertices: int, places: int) -> tuple[int, int | None]:
    """Return the indices in a corner `vertex/place/normal`: from 1, or negative from the last."""
    vertex, place, *_ = [*word.split("/"), ""]

    def counted(text: str, count: int) -> int:
        return int(text) - 1 if int(text) > 0 else count + int(text)

    return counted(vertex, vertices), counted(place, places) if place else None


def _picture(file: Path) -> Float[Tensor, "h w 3"]:
    try:
        with open_image(file) as image:
            pixels = np.array(image.convert("RGB"))
    except DAMAGE as error:
        raise ValueError(f"expected an image {file}, got one that cannot be read ({error})") from error
    return torch.from_numpy(pixels).float().div_(255)  # in place: a float takes four times a pixel's byte
