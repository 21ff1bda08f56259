"""Attention: both ways against the formula in float64, and what the written-out way keeps."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import scaled_dot_product_attention

from tammes.encoders import attention
from tammes.encoders.attention import SHORT, Block, attend

MASK = torch.tensor([[True, True, True, False], [True, False, False, False]])[:, None, None]
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@pytest.fixture
def _written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "HAS_BFLOAT16", True)


def rows(*shape: int, dtype: torch.dtype) -> Tensor:
    drawn = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return drawn.to(dtype)


def formula(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = queries @ keys.mT / math.sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, dim=-1) @ values


def by(way: Attend, given: Tensor) -> Tensor:
    """What each token gets, and a gradient of it, in float64."""
    given = given.clone().requires_grad_()
    result = way(*given)
    factor = torch.linspace(-1, 1, result.numel(), dtype=torch.float64).view_as(result)
    (gradient,) = torch.autograd.grad((result.double() * factor).sum(), given)
    return torch.cat([result[None].detach(), gradient]).double()


@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_it_is_the_formula(mask: Tensor | None, dtype: torch.dtype, tolerance: float) -> None:
    given = rows(2, 3, 4, 8, dtype=dtype)
    expected = by(lambda *three: formula(*three, mask), given.double())
    found = by(lambda *three: attend(*three, mask), given)
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=0)


@pytest.mark.usefixtures("_written_out")
@pytest.mark.parametrize("autocast", [False, True], ids=["plain", "autocast"])
@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
@pytest.mark.parametrize("size", [1.0, 30.0], ids=["usual", "nearly one token"])
def test_in_bfloat16_it_is_about_as_exact_as_the_kernel_of_torch(
    mask: Tensor | None, size: float, autocast: bool
) -> None:
    """Its gradient has weights in bfloat16: where one is nearly 1, 1 minus it has fewer digits."""
    given = rows(2, 3, 4, 32, dtype=torch.bfloat16) * size**0.5
    expected = by(lambda *three: formula(*three, mask), given.double())
    with torch.autocast("cpu", enabled=autocast):
        found = by(lambda *three: attend(*three, mask), given)
        of_torch = by(lambda *three: scaled_dot_product_attention(*three, attn_mask=mask), given)
    error, usual = ((each - expected).square().mean().sqrt() for each in (found, of_torch))
    assert 0 < error < (1.2 if size == 1 else 3) * usual


@pytest.mark.usefixtures("_written_out")
@pytest.mark.parametrize(("tokens", "squares"), [(SHORT, 1), (SHORT + 1, 0)])
def test_only_the_weights_of_few_tokens_are_kept(tokens: int, squares: int) -> None:
    """One matrix of them in bfloat16, under autocast, too."""
    given = rows(1, 2, tokens, 8, dtype=torch.bfloat16).requires_grad_()
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.data_ptr()] = tensor
        return tensor

    with torch.autocast("cpu"), saved_tensors_hooks(keep, lambda tensor: tensor):
        attend(*given)
    of_tokens = [each for each in kept.values() if each.numel() == 2 * tokens**2]
    assert len(of_tokens) == squares
    assert all(each.dtype == torch.bfloat16 for each in of_tokens)


def kept_by_a_block(tokens: int) -> int:
    """Bytes that a block keeps for its gradient beside its weights, each storage once."""
    block = Block(128, heads=2)
    own = {weight.untyped_storage().data_ptr() for weight in block.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    rows = torch.rand(2, tokens, 128, requires_grad=True)
    with torch.autocast("cpu"), saved_tensors_hooks(keep, lambda tensor: tensor):
        result = block(rows)
    assert result.requires_grad  # alive, and with it what it keeps
    return sum(kept.values())


@pytest.mark.usefixtures("_written_out")
def test_weights_add_a_fifth_to_what_a_block_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    with_weights = kept_by_a_block(SHORT)
    monkeypatch.setattr(attention, "HAS_BFLOAT16", False)
    assert with_weights == pytest.approx(1.2 * kept_by_a_block(SHORT), rel=0.02)


@pytest.mark.usefixtures("_written_out")
@pytest.mark.filterwarnings("ignore:.*torch.autograd.function.Function.* should not be instantiated")
def test_compiled_it_stays_one_graph() -> None:
    given = rows(2, 3, 4, 8, dtype=torch.bfloat16)
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), attend(*given))


@pytest.mark.usefixtures("_written_out")
@pytest.mark.parametrize("mask", [None, MASK], ids=["all", "masked"])
def test_gradients_of_examples_are_those_of_the_batch(mask: Tensor | None) -> None:
    """By torch.func, which has a rule for each operation of the gradient."""
    given = rows(2, 3, 4, 8, dtype=torch.bfloat16)

    def loss(three: Tensor, mask: Tensor | None) -> Tensor:
        return attend(*three[:, None], None if mask is None else mask[None]).float().square().sum()

    along = 1, None if mask is None else 0
    of_examples = torch.func.vmap(torch.func.grad(loss), in_dims=along, out_dims=1)(given, mask)
    given = given.clone().requires_grad_()
    attend(*given, mask).float().square().sum().backward()
    torch.testing.assert_close(of_examples, given.grad)
