"""The texture experiment on a small mesh: what cameras see, what is measured, kept and written."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tammes.papers.robinson_spectral import SPECTRAL_TEXTURE as ENTRY
from tammes.papers.robinson_spectral.texture import findings
from tammes.papers.robinson_spectral.texture_networks import (
    CONSTANT,
    CONTROLS,
    METHODS,
    SIGNNET,
    UNTRAINED,
    build,
)
from tammes.papers.robinson_spectral.texture_training import SIDE, TextureScore, decomposed, rendered
from tammes.papers.robinson_spectral.texture_views import random_cameras, view

ACROSS = 7


@pytest.fixture
def data(mesh_folder: Path) -> Path:
    return mesh_folder


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
    assert [row["method"] for row in rows] == [*CONTROLS, *METHODS]
    assert {row["eigenfunctions"] for row in rows} == {str(ACROSS**2 - 1)}
    assert [row["steps"] for row in rows] == 2 * ["0"] + 4 * ["10"]
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


class Distance(nn.Module):
    """The largest difference of two pictures, in the shape in which LPIPS returns its number."""

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        return (one - other).abs().amax(dim=(1, 2, 3), keepdim=True)


def save_network(path: Path, network: nn.Module, *pictures: Tensor) -> None:
    torch.export.save(torch.export.export(network, pictures), path)


def test_a_network_that_compares_pictures_adds_a_column(data: Path, tmp_path: Path) -> None:
    blank = torch.zeros(1, 3, SIDE, SIDE)
    save_network(data / "distance.pt2", Distance(), blank, blank + 1)
    out = tmp_path / "out"
    ENTRY.reproduce(out, budget=4e-8, seed=0, data=data)
    with (out / "table.csv").open() as file:
        found = [float(row["lpips"]) for row in csv.DictReader(file)]
    assert len(found) == len(CONTROLS) + len(METHODS)
    # A hundred times the difference of colors from -1 to 1; networks may leave that range, the mean cannot.
    assert min(found) > 50
    assert found[0] <= 200
    assert '<th scope="col">LPIPS</th>' in (out / "report.html").read_text()


def test_other_networks_are_refused(data: Path, tmp_path: Path) -> None:
    blank = torch.zeros(1, 3, 8, 8)
    (data / "one.pt2").write_text("no archive")
    with pytest.raises(ValueError, match=r"one network \(.pt2\) that compares two pictures .* got one.pt2"):
        ENTRY.reproduce(tmp_path / "out", budget=4e-8, seed=0, data=data)
    save_network(data / "one.pt2", Distance(), blank, blank + 1)
    with pytest.raises(ValueError, match=r"the shape \(1, 3, 256, 256\) .* got one.pt2"):
        ENTRY.reproduce(tmp_path / "out", budget=4e-8, seed=0, data=data)
    large = torch.zeros(1, 3, SIDE, SIDE)
    save_network(data / "one.pt2", Distance(), large, large)
    with pytest.raises(ValueError, match="gray and white are equal to it; export it with two different"):
        ENTRY.reproduce(tmp_path / "out", budget=4e-8, seed=0, data=data)
    (data / "other.pt2").write_bytes((data / "one.pt2").read_bytes())
    with pytest.raises(ValueError, match=r"got one.pt2, other.pt2"):
        ENTRY.reproduce(tmp_path / "out", budget=4e-8, seed=0, data=data)


def scores(**psnr: float) -> dict[str, list[TextureScore]]:
    """Return the scores of three seeds that differ a little; DSSIM falls as PSNR rises."""
    means = dict.fromkeys((*METHODS, CONSTANT, UNTRAINED), 20.0) | psnr
    return {
        method: [
            TextureScore(psnr=mean + seed / 10, dssim=5 - mean / 10, change=0.0, parameters=1, seconds=1.0)
            for seed in (0, 1, -1 if method == SIGNNET else 0)
        ]
        for method, mean in means.items()
    }


def test_verdicts_follow_from_seeds_and_controls() -> None:
    def verdicts(found: dict[str, list[TextureScore]]) -> list[str]:
        return [finding.verdict for finding in findings(found)]

    ahead = scores(**{SIGNNET: 25.0})
    assert verdicts(ahead) == ["yes", "yes", "check: passed"]
    assert verdicts({method: own[:1] for method, own in ahead.items()})[:2] == 2 * ["one seed: no verdict"]
    behind = scores(**{SIGNNET: 25.0}, **dict.fromkeys(METHODS[:3], 30.0))
    assert verdicts(behind)[:2] == ["no", "no"]
    unlearned = verdicts(scores(**{SIGNNET: 25.0, CONSTANT: 26.0}))
    assert unlearned[0] == "no verdict: not above the control"
    seen = ahead | {SIGNNET: [replace(score, change=0.1) for score in ahead[SIGNNET]]}
    assert verdicts(seen)[2] == "check: failed"
