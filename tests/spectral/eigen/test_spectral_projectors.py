"""Projectors onto eigenspaces of any matrix are those of every basis, real or complex."""

from __future__ import annotations

import math

import networkx as nx
import pytest
import torch
from batches import edges_of
from hypothesis import given
from hypothesis import strategies as st

from tammes.spectral import Projectors, RandomWalk, laplacian_matrix

spaces_of = Projectors.of
KINDS = st.sampled_from([torch.float64, torch.complex128])


@given(KINDS, st.integers(0, 9999), st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_projectors_are_those_of_the_formula(kind: torch.dtype, seed: int, dimensions: list[int]) -> None:
    generator = torch.Generator().manual_seed(seed)
    size = sum(dimensions)
    basis = torch.randn(size, size, dtype=kind, generator=generator) + 3 * torch.eye(size, dtype=kind)
    values = torch.arange(1.0, len(dimensions) + 1, dtype=torch.float64).repeat_interleave(
        torch.tensor(dimensions)
    )
    matrix = basis @ torch.diag(values.to(kind)) @ torch.linalg.inv(basis)
    found = Projectors.of(matrix, tolerance=1e-6)
    assert found.dimensions.tolist() == dimensions
    for number, columns in enumerate(basis.split(dimensions, dim=1)):
        formula = columns @ torch.linalg.inv(columns.mH @ columns) @ columns.mH
        assert (found.matrices[number] - formula).abs().max() < 1e-6
        assert abs(found.values[number] - (number + 1)) < 1e-6


@given(st.integers(2, 9))
def test_a_directed_cycle_has_the_projectors_of_fourier(size: int) -> None:
    matrix = torch.eye(size).roll(1, dims=1)
    found = spaces_of(matrix)
    assert found.dimensions.tolist() == [1] * size
    for value, projector in zip(found.values, found.matrices, strict=True):
        wave = value ** torch.arange(size) / math.sqrt(size)
        assert (projector - torch.outer(wave, wave.conj())).abs().max() < 1e-10


def test_conjugate_eigenvalues_have_conjugate_projectors() -> None:
    graph = nx.gnp_random_graph(7, 0.5, seed=3, directed=True)
    edges = torch.tensor(list(graph.edges)).T
    found = spaces_of(laplacian_matrix(edges, 7, laplacian=RandomWalk()))
    for value, projector in zip(found.values, found.matrices, strict=True):
        other = int((found.values - value.conj()).abs().argmin())
        assert (found.matrices[other] - projector.conj()).abs().max() < 1e-8
        assert (projector - projector.mH).abs().max() < 1e-12
        assert (projector @ projector - projector).abs().max() < 1e-12


def test_symmetric_matrices_give_v_v_transposed() -> None:
    edges, _ = edges_of([nx.star_graph(4)])
    found = spaces_of(laplacian_matrix(edges, 5, laplacian=RandomWalk()))
    assert found.dimensions.tolist() == [1, 3, 1]
    constant = torch.full((5, 5), 0.2, dtype=torch.complex128)
    assert (found.matrices[0] - constant).abs().max() < 1e-12


def test_an_eigenspace_of_many_dimensions_is_found() -> None:
    leaves = 400  # of which LAPACK returns eigenvectors that are dependent up to rounding
    edges, _ = edges_of([nx.star_graph(leaves)])
    matrix = laplacian_matrix(edges, leaves + 1, laplacian=RandomWalk())
    found = spaces_of(matrix)
    assert found.dimensions.tolist() == [1, leaves - 1, 1]
    expected = torch.eye(leaves + 1, dtype=torch.complex128)  # vectors that are 0 at the center, with sum 0
    expected[0, 0], expected[1:, 1:] = 0, expected[1:, 1:] - 1 / leaves
    assert (found.matrices[1] - expected).abs().max() < 1e-12


def test_wrong_matrices_are_refused() -> None:
    with pytest.raises(ValueError, match="square"):
        spaces_of(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="finite"):
        spaces_of(torch.full((2, 2), math.nan))
    with pytest.raises(ValueError, match="diagonalizable"):
        spaces_of(torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="diagonalizable"):
        spaces_of(torch.eye(9) + torch.eye(9).roll(1, dims=1).triu())
    with pytest.raises(ValueError, match="tolerance"):
        spaces_of(torch.eye(2), tolerance=-1.0)
