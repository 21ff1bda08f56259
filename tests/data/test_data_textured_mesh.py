"""Meshes from small OBJ files, and the colors of points on them."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tammes.data.textured_mesh import textured_mesh

SQUARE = """# a square
v 0 0 0
v 1 0 0
v 1 1 0 0.5 0.5 0.5
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
f 1/1/1 2/2/1 -2/-2/1 4/4/1
"""


def test_places_colors_and_fans(tmp_path: Path) -> None:
    (tmp_path / "square.obj").write_text(SQUARE)
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "square.png")
    mesh = textured_mesh(tmp_path / "square.obj", tmp_path / "square.png")
    assert mesh.faces.tolist() == mesh.face_places.tolist() == [[0, 1, 2], [0, 2, 3]]
    # The picture's upper left is the corner at (0, 1).
    corners = torch.eye(3)[[0, 1, 2, 2]]
    colors = mesh.colors(torch.tensor([0, 0, 0, 1]), corners)
    assert colors.tolist() == [[0, 0, 1], [1, 1, 1], [0, 1, 0], [1, 0, 0]]
    middle = mesh.colors(torch.tensor([0]), torch.tensor([[0.5, 0.0, 0.5]]))
    torch.testing.assert_close(middle, torch.full((1, 3), 0.5))


def test_a_mesh_alone_has_no_colors(tmp_path: Path) -> None:
    plain = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    (tmp_path / "a.obj.gz").write_bytes(gzip.compress(plain.encode()))
    mesh = textured_mesh(tmp_path / "a.obj.gz")
    assert mesh.faces.tolist() == [[0, 1, 2]]
    assert mesh.face_places.shape == (0, 3)
    with pytest.raises(ValueError, match="expected a mesh with a picture"):
        mesh.colors(torch.tensor([0]), torch.tensor([[1.0, 0.0, 0.0]]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "expected a Wavefront OBJ file with vertices and faces"),
        ("v 0 0\n", "line 1: expected numbers after 'v'"),
        ("v 0 0 nan\n", "line 1: expected numbers after 'v'"),
        ("vt 0\n", "line 1: expected numbers after 'vt'"),
        ("v 0 0 0\nv 1 0 x\n", "line 2: expected numbers after 'v'"),
        ("v 0 0 1e300\n", "line 1: expected numbers after 'v'.*that float32 can hold"),
        (SQUARE + "f 1 2\n", "line 12: .*a face has three corners or more"),
        (SQUARE + "f\n", "line 12: .*a face has three corners or more"),
        ("v 0 0 0\nf 1 2 3\n", r"a\.obj: faces must be from 0 to 0, got 0 to 2"),
        (SQUARE + "f 0 1 2\n", r"a\.obj: faces must be from 0 to 3, got"),
        (SQUARE + "f 1/9 2/2 3/3\n", r"a\.obj: face_places must be from 0 to 3, got"),
        (SQUARE + "f 1 2 99999999999999999999\n", r"a\.obj: "),
    ],
)
def test_what_is_no_mesh_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.obj").write_text(text)
    with pytest.raises(ValueError, match=message):
        textured_mesh(tmp_path / "a.obj")
    with pytest.raises(ValueError, match="expected a Wavefront OBJ file"):
        textured_mesh(tmp_path / "b.obj")


def test_a_picture_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "square.obj").write_text(SQUARE)
    (tmp_path / "square.png").write_text("nothing")
    with pytest.raises(ValueError, match="expected an image"):
        textured_mesh(tmp_path / "square.obj", tmp_path / "square.png")
    Image.new("RGB", (2, 2)).save(tmp_path / "square.png")
    picture = bytearray((tmp_path / "square.png").read_bytes())
    picture[16:24] = struct.pack(">II", 65536, 65536)  # as large as the file says it is
    picture[29:33] = struct.pack(">I", zlib.crc32(picture[12:29]))
    (tmp_path / "square.png").write_bytes(picture)
    with pytest.raises(ValueError, match=r"expected an image .*square\.png.*more than 120,000,000 pixels"):
        textured_mesh(tmp_path / "square.obj", tmp_path / "square.png")


def test_a_picture_on_a_mesh_without_places_is_refused_by_the_name_of_the_mesh(tmp_path: Path) -> None:
    (tmp_path / "plain.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    Image.new("RGB", (2, 2)).save(tmp_path / "picture.png")
    with pytest.raises(ValueError, match=r"plain\.obj: expected a place on the picture"):
        textured_mesh(tmp_path / "plain.obj", tmp_path / "picture.png")
