"""The softplus of tiles: torch's to the last digits, in value and derivative, for logits of any size."""

import pytest
import torch
from torch.nn.functional import softplus as torch_softplus

from tammes.reduce.terms import Softened, softplus, softplus_without_graph


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 10.0, 40.0, 300.0])
def test_it_is_the_softplus_to_the_last_digits(kind: torch.dtype, scale: float) -> None:
    y = torch.linspace(-scale, scale, 4001, dtype=kind)
    exact = torch_softplus(y.double(), threshold=700)
    found = softplus_without_graph(y).double()
    inside = y > 0.8 * torch.log(torch.tensor(torch.finfo(kind).tiny, dtype=torch.float64))
    torch.testing.assert_close(found[inside], exact[inside], rtol=8 * torch.finfo(kind).eps, atol=0)
    assert bool((found[~inside] < 1e-29).all())
    assert bool((softplus_without_graph(y.neg()) >= 0).all())


def test_tiles_and_graphs_have_the_same_values() -> None:
    y = torch.linspace(-50, 50, 1001, dtype=torch.float64)
    term = Softened(factor=2.0)
    with_graph = term(y.clone().requires_grad_())
    torch.testing.assert_close(term(y), with_graph.detach(), rtol=1e-14, atol=0)
    torch.testing.assert_close(softplus(y), softplus_without_graph(y), rtol=1e-14, atol=0)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_the_derivative_is_the_sigmoid(kind: torch.dtype) -> None:
    y = torch.tensor([-1e4, -90.0, -3.0, 0.0, 3.0, 90.0], dtype=kind)
    torch.testing.assert_close(Softened().derivative(y), torch.sigmoid(y), rtol=1e-6, atol=1e-30)
