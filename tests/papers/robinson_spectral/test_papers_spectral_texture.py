"""The texture experiment on a small mesh: what cameras see, what is measured, kept and written."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tammes.papers.robinson_spectral.texture import ENTRY
from tammes.papers.robinson_spectral.texture_networks import METHODS, SIGNNET, build
from tammes.papers.robinson_spectral.texture_training import decomposed, rendered
from tammes.papers.robinson_spectral.texture_views import random_cameras, view

ACROSS = 7


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A sheet that is bent, with a picture of four colors on it, and a mesh beside it that has none."""
    folder = tmp_path / "sheet"
    folder.mkdir()
    grid = np.linspace(-1, 1, ACROSS)
    places = [(x, y) for y in grid for x in grid]
    lines = [f"v {x} {y} {0.3 * x * x + 0.2 * y}" for x, y in places]
    lines += [f"vt {(x + 1) / 2} {(y + 1) / 2}" for x, y in places]
    for row in range(ACROSS - 1):
        for column in range(ACROSS - 1):
            one = row * ACROSS + column + 1
            corners = (one, one + 1, one + ACROSS + 1, one + ACROSS)
            lines.append("f " + " ".join(f"{corner}/{corner}" for corner in corners))
    (folder / "sheet.obj").write_text("\n".join(lines))
    (folder / "plain.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    colors = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [90, 90, 90]]], dtype=np.uint8)
    Image.fromarray(colors.repeat(16, axis=0).repeat(16, axis=1)).save(folder / "picture.png")
    return folder


def test_the_nearer_of_two_triangles_is_seen_and_where_on_it() -> None:
    near = torch.tensor([[-1.0, -1.0, 0.5], [1.0, -1.0, 0.5], [0.0, 1.0, 0.5]])
    vertices = torch.cat([near * torch.tensor([1.0, 1.0, -1.0]), near])
    seen = view(vertices, torch.tensor([[0, 1, 2], [3, 4, 5]]), torch.tensor([0.0, 0.0, 1.0]), side=64)
    at = (vertices[torch.tensor([[0, 1, 2], [3, 4, 5]])[seen.faces]] * seen.weights[:, :, None]).sum(1)
    assert (seen.faces == 1).all()
    assert seen.pixels.diff().min() > 0
    assert torch.allclose(seen.weights.sum(1), torch.ones(len(at)))
    # Up is up, right is right: rows fall along the second coordinate, columns rise along the first.
    assert torch.corrcoef(torch.stack([seen.pixels // 64, at[:, 1]]))[0, 1] < -0.999
    assert torch.corrcoef(torch.stack([seen.pixels % 64, at[:, 0]]))[0, 1] > 0.999


def test_points_lie_on_the_line_of_sight_in_perspective() -> None:
    corners = torch.tensor([[-1.0, -1.0, -1.0], [1.0, -1.0, 1.0], [0.0, 1.0, 0.0]])
    seen = view(corners, torch.tensor([[0, 1, 2]]), torch.tensor([0.0, 0.0, 1.0]), side=33)
    at = seen.weights @ corners
    radius = (corners - (corners.amax(0) + corners.amin(0)) / 2).norm(dim=1).max()
    depth = 3.0 - at[:, 2] / radius
    column = (1 + at[:, 0] / radius / depth * 8**0.5) * 33 / 2 - 0.5
    assert torch.allclose(column, (seen.pixels % 33).float(), atol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_only_invariant_methods_do_not_see_signs(data: Path, tmp_path: Path, method: str) -> None:
    surface = decomposed(data, tmp_path)
    torch.manual_seed(0)
    field = build(method, surface.eigenvalues, 0).eval()
    mesh = surface.mesh
    seen = view(mesh.vertices, mesh.faces, random_cameras(1, generator=torch.Generator())[0], side=24)
    signs = torch.ones(len(surface.eigenvalues))
    signs[::2] = -1
    change = (rendered(field, surface, seen, signs) - rendered(field, surface, seen)).abs().max()
    assert (change < 1e-6) == (method in (SIGNNET, "absolute values"))


def test_the_entry_writes_a_table_pictures_and_a_page_and_goes_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ENTRY.reproduce(out, budget=4e-8, seed=0, data=data)
    with (out / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["method"] for row in rows} == set(METHODS)
    assert {row["eigenfunctions"] for row in rows} == {str(ACROSS**2 - 1)}
    assert {row["steps"] for row in rows} == {"10"}
    signnet = next(row for row in rows if row["method"] == SIGNNET)
    assert float(signnet["change"]) < 1e-6
    assert "<svg" in (out / "figure.svg").read_text()
    page = (out / "report.html").read_text()
    assert "eigenfunction 4" in page
    assert "component 3" in page
    before = (out / "table.csv").read_bytes()
    ENTRY.reproduce(out, budget=4e-8, seed=0, data=data)
    assert (out / "table.csv").read_bytes() == before


def test_a_folder_without_a_textured_mesh_is_refused(data: Path, tmp_path: Path) -> None:
    (data / "sheet.obj").unlink()
    with pytest.raises(ValueError, match="one mesh with places on the picture"):
        ENTRY.reproduce(tmp_path / "out", budget=1e-6, seed=0, data=data)
    (data / "picture.png").unlink()
    with pytest.raises(ValueError, match="found 1 and 0"):
        ENTRY.reproduce(tmp_path / "out", budget=1e-6, seed=0, data=data)
