"""The cotangent Laplacian: rows sum to zero, and spheres and squares have the eigenvalues of theirs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial import ConvexHull
from torch import Tensor

from tammes.spectral import MeshLaplacian


def sphere(points: int) -> MeshLaplacian:
    """Points on a spiral, and their convex hull."""
    place = np.arange(points) + 0.5
    height, turn = 1 - 2 * place / points, np.pi * (1 + 5**0.5) * place
    radius = np.sqrt(1 - height**2)
    corners = np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
    faces = ConvexHull(corners).simplices
    return MeshLaplacian.of(torch.from_numpy(corners), torch.from_numpy(faces))


def square(side: int) -> tuple[Tensor, Tensor]:
    line = torch.linspace(0, 1, side, dtype=torch.float64)
    places = torch.cartesian_prod(line, line)
    corners = torch.cat([places, torch.zeros(len(places), 1, dtype=torch.float64)], dim=1)
    first = (torch.arange(side - 1)[:, None] * side + torch.arange(side - 1)).flatten()
    one = torch.stack([first, first + side, first + 1], dim=1)
    other = torch.stack([first + 1, first + side, first + side + 1], dim=1)
    return corners, torch.cat([one, other])


def test_rows_sum_to_zero_and_areas_to_the_surface() -> None:
    mesh = sphere(600)
    assert np.abs(mesh.stiffness.sum(1)).max() < 1e-12
    assert abs(mesh.stiffness - mesh.stiffness.T).max() < 1e-14
    assert mesh.areas.sum().item() == pytest.approx(4 * math.pi, rel=0.02)


def test_a_sphere_has_the_eigenvalues_of_spherical_harmonics() -> None:
    values = sphere(2000).eigenpairs(16).values[0]
    expected = torch.tensor([degree * (degree + 1) for degree in range(4) for _ in range(2 * degree + 1)])
    assert (values[1:] / expected[1:] - 1).abs().max() < 0.01
    assert values[0].abs() < 1e-9


def test_a_square_has_the_eigenvalues_of_cosines() -> None:
    pairs = MeshLaplacian.of(*square(30)).eigenpairs(10)
    waves = sorted(math.pi**2 * (i**2 + j**2) for i in range(5) for j in range(5))[:10]
    assert (pairs.values[0] - torch.tensor(waves)).abs().max() < 0.01 * waves[-1]
    assert pairs.vectors[:, 0].std() < 1e-9  # constant


def test_vectors_are_orthonormal_for_the_areas() -> None:
    mesh = sphere(1500)  # large enough for Lanczos iterations
    pairs = mesh.eigenpairs(20)
    gram = pairs.vectors.T @ (mesh.areas[:, None] * pairs.vectors)
    assert (gram - torch.eye(20)).abs().max() < 1e-9
    residual = torch.from_numpy(mesh.stiffness @ pairs.vectors.numpy())
    residual -= mesh.areas[:, None] * pairs.vectors * pairs.values
    assert residual.abs().max() < 1e-9


def test_scaling_a_mesh_scales_eigenvalues() -> None:
    corners, faces = square(12)
    one = MeshLaplacian.of(corners, faces).eigenpairs(6).values
    ten = MeshLaplacian.of(10 * corners, faces).eigenpairs(6).values
    assert (100 * ten - one).abs().max() < 1e-9


def test_more_pairs_than_vertices_are_zeros() -> None:
    pairs = MeshLaplacian.of(*square(2)).eigenpairs(6)
    assert pairs.values.shape == (1, 6)
    assert not pairs.vectors[:, 4:].any()


def test_wrong_meshes_are_refused() -> None:
    corners, faces = square(3)
    for wrong, message in (
        ((corners[:, :2], faces), "shape .vertices, 3."),
        ((corners, faces.double()), "faces as integers"),
        ((corners, faces > 0), "faces as integers"),
        ((corners[:0], faces[:0]), "at least one"),
        ((corners * math.nan, faces), "finite"),
        ((corners, faces + 1), "corners between"),
        ((corners * torch.tensor([1.0, 0.0, 0.0]), faces), "area"),
        ((torch.cat([corners, corners[:1] + 5]), faces), "none of vertex 9"),
    ):
        with pytest.raises(ValueError, match=message):
            MeshLaplacian.of(*wrong)
    with pytest.raises(ValueError, match="count"):
        MeshLaplacian.of(corners, faces).eigenpairs(0)
