"""BasisNet on directed graphs: no basis of a complex eigenspace matters, and nodes stay equivariant."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tammes.spectral import BasisNet, IGNConfig, Projectors, eigenpairs
from tammes.spectral.basisnet import ProjectorBasisNet

IGNS = [IGNConfig(vector=(8, 4)), IGNConfig(matrix=(3,), vector=(8, 4))]


def network_of(ign: IGNConfig) -> ProjectorBasisNet:
    torch.manual_seed(0)
    return ProjectorBasisNet(dim=3, ign=ign).double().eval()


def circulant(n: int, seed: int) -> Tensor:
    """A directed graph that looks the same from each node: its eigenvectors are Fourier's."""
    steps = torch.randint(0, 2, (n,), generator=torch.Generator().manual_seed(seed)).double()
    steps[1] = 1.0
    return torch.stack([steps.roll(shift) for shift in range(n)])


def directed(n: int, seed: int) -> Tensor:
    return torch.rand(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("ign", IGNS)
@settings(max_examples=10)
@given(n=st.integers(2, 8), seed=st.integers(0, 2**16))
def test_permuting_nodes_permutes_encodings(ign: IGNConfig, n: int, seed: int) -> None:
    network, matrix = network_of(ign), directed(n, seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    found, moved = (network([Projectors.of(each)]) for each in (matrix, matrix[order][:, order]))
    torch.testing.assert_close(moved, found[order], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("ign", IGNS)
@pytest.mark.parametrize("n", [3, 5, 8])
def test_nodes_that_look_alike_are_encoded_alike(ign: IGNConfig, n: int) -> None:
    """Whatever multiples of Fourier's vectors a solver returns."""
    found = network_of(ign)([Projectors.of(circulant(n, seed=n))])
    torch.testing.assert_close(found, found[:1].expand(n, -1), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("ign", IGNS)
def test_graphs_are_encoded_alike_in_any_company(ign: IGNConfig) -> None:
    network = network_of(ign)
    graphs = [Projectors.of(matrix) for matrix in (directed(5, 0), circulant(4, 1), directed(3, 2))]
    together = network(graphs).split([5, 4, 3])
    for found, graph in zip(together, graphs, strict=True):
        torch.testing.assert_close(found, network([graph]))


def test_a_direction_is_seen() -> None:
    """The complex part tells a graph from the one with its edges turned, which has conjugate eigenspaces."""
    matrix = directed(5, 0)
    network = network_of(IGNS[0])
    there, back = (network([Projectors.of(each)]) for each in (matrix, matrix.T))
    assert (there - back).abs().max() > 1e-4


@pytest.mark.parametrize("ign", IGNS)
def test_of_a_symmetric_matrix_it_is_basisnet(ign: IGNConfig) -> None:
    """With the same weights: the second channel is zero, and so is the second part of the eigenvalue."""
    edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0, 0, 4], [1, 0, 2, 1, 3, 2, 0, 3, 4, 0]])
    pairs = eigenpairs(edges, torch.zeros(5).long())
    matrix = pairs.vectors * pairs.values @ pairs.vectors.T
    general = network_of(ign)
    special = BasisNet(dim=3, ign=ign).double().eval()
    kept = {}
    for name, weight in general.state_dict().items():
        first = "matrix.0" if ign.matrix else "collect"
        own = weight
        if name.startswith(f"ign.{first}."):
            own = weight[..., [0, 2, 3]] if name.endswith("constants") else weight
            own = own[..., :1] if name.endswith(("entries", "vectors", "scalars")) else own
        kept[name.replace("ign.", "igns.0.", 1)] = own
    special.load_state_dict(kept)
    wanted = special(None, edges, None, pairs.vectors, pairs.values)
    torch.testing.assert_close(general([Projectors.of(matrix)]), wanted, rtol=1e-6, atol=1e-7)


def test_no_graph_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one graph, got none"):
        network_of(IGNS[0])([])
