"""What baselines do about signs, and what they refuse."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from batches import Batch, batch_of
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tammes.spectral import Combinatorial, Copies, GINConfig, Phi, SignNet
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, OneSign, OneSignConfig, RandomFlips

DATA = batch_of(nx.path_graph(4), nx.cycle_graph(6), nx.lollipop_graph(4, 3), count=5)
PARTS = (
    AbsoluteValues(5),
    CanonicalSigns(5, generator=torch.Generator().manual_seed(0)),
    RandomFlips(5, generator=torch.Generator().manual_seed(0)),
)


def encoded(part: nn.Module, data: Batch) -> torch.Tensor:
    return part(None, *data.arguments())


def flipped(data: Batch, seed: int) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    signs = 2 * torch.randint(2, data.values.shape, generator=generator) - 1
    return Batch(
        edges=data.edges, batch=data.batch, vectors=data.vectors * signs[data.batch], values=data.values
    )


@pytest.mark.equal_bits
@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_only_signs_change(part: nn.Module) -> None:
    assert part.dim == 5
    assert torch.equal(encoded(part, DATA).abs(), DATA.vectors.abs())


@pytest.mark.equal_bits
def test_flips_are_one_for_a_vector_and_fresh_at_each_call() -> None:
    part = RandomFlips(5, generator=torch.Generator().manual_seed(0))
    draws = torch.stack([(encoded(part, DATA) / DATA.vectors).nan_to_num(0.0) for _ in range(64)])
    for number in range(3):
        signs = draws[:, DATA.batch == number]
        there = signs.abs() > 0
        for column in range(5):
            own = [row[mask] for row, mask in zip(signs[..., column], there[..., column], strict=True)]
            assert all(bool((row == row[0]).all()) for row in own if len(row))
    first = draws[:, 0, 0]
    assert 16 < int((first > 0).sum()) < 48
    again = RandomFlips(5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(encoded(again, DATA), DATA.vectors * draws[0].where(draws[0] != 0, 1.0))


@pytest.mark.equal_bits
def test_evaluation_does_not_flip() -> None:
    part = RandomFlips(5, generator=torch.Generator().manual_seed(0)).eval()
    assert torch.equal(encoded(part, DATA), DATA.vectors)


@pytest.mark.equal_bits
@given(seed=st.integers(0, 2**16))
def test_absolute_values_do_not_depend_on_signs(seed: int) -> None:
    assert torch.equal(encoded(PARTS[0], flipped(DATA, seed)), encoded(PARTS[0], DATA))


@pytest.mark.equal_bits
@given(seed=st.integers(0, 2**16))
def test_canonical_signs_are_those_of_the_majority_whatever_came(seed: int) -> None:
    data = batch_of(nx.lollipop_graph(4, 3), nx.star_graph(4), count=1)  # positive throughout
    part = CanonicalSigns(1, generator=torch.Generator().manual_seed(seed))
    assert bool((encoded(part, flipped(data, seed)) > 0).all())
    rare = torch.tensor([[0.9], [-0.1], [-0.1], [-0.1], [1e-9]])  # most are negative
    one = Batch(edges=data.edges[:, :0], batch=torch.zeros(5).long(), vectors=rare, values=torch.zeros(1, 1))
    assert torch.equal(encoded(part, flipped(one, seed)), -rare)
    tie = torch.tensor([[0.9], [-0.1], [0.0], [0.0], [0.0]])  # as many: the sum decides
    one = Batch(edges=data.edges[:, :0], batch=one.batch, vectors=tie, values=one.values)
    assert torch.equal(encoded(part, flipped(one, seed)), tie)


def test_undecided_signs_are_random() -> None:
    data = batch_of(nx.path_graph(2), laplacian=Combinatorial())
    part = CanonicalSigns(2, generator=torch.Generator().manual_seed(0))
    draws = torch.stack([encoded(part, data)[0, 1].sign() for _ in range(64)])
    assert 16 < int((draws > 0).sum()) < 48


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_wrong_input_is_refused(part: nn.Module) -> None:
    few = batch_of(nx.path_graph(4), count=4)
    with pytest.raises(ValueError, match="expected 5 columns"):
        encoded(part, few)
    with pytest.raises(ValueError, match="a row for each node"):
        part(None, DATA.edges, DATA.batch[1:], DATA.vectors, DATA.values)


def test_with_one_sign_rho_gets_phi_of_the_vector_alone() -> None:
    other = Batch(edges=DATA.edges, batch=DATA.batch, vectors=-DATA.vectors, values=DATA.values)
    seen: list[torch.Tensor] = []
    results = []
    for phi in (GINConfig(width=8, layers=2), OneSignConfig(phi=GINConfig(width=8, layers=2))):
        torch.manual_seed(0)
        network = SignNet(dim=3, phi=phi).double().eval()
        network.rho.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
        results += [encoded(network, DATA), encoded(network, other)]
    torch.testing.assert_close(results[0], results[1])
    assert (results[2] - results[3]).abs().max() > 1e-3
    torch.testing.assert_close(seen[2] + seen[3], seen[0])  # phi(v) + phi(-v)


class Centered(Phi):
    """What normalization does: it looks at the whole batch."""

    outputs = 1

    def forward(self, signals: torch.Tensor, copies: Copies) -> torch.Tensor:
        return signals - signals.mean(dim=(0, 1))


def test_with_one_sign_the_statistics_of_the_batch_are_those_of_the_vectors_as_they_came() -> None:
    copies = Copies.of(DATA.edges, DATA.batch, DATA.vectors, len(DATA.values))
    vector = DATA.vectors[copies.node, copies.column].abs()[:, None]
    signals = torch.stack([vector, -vector], dim=1)
    first, second = OneSign(Centered())(signals, copies).unbind(1)
    torch.testing.assert_close(first, vector - vector.mean())
    assert not second.any()


def test_no_eigenvectors_are_refused() -> None:
    with pytest.raises(ValueError, match="eigenvectors"):
        AbsoluteValues(0)
