import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.diagnostics.blocks import directions, pair_blocks


@given(n=st.integers(2, 30), side=st.integers(1, 40))
def test_every_pair_is_in_one_block(n: int, side: int) -> None:
    units = directions(torch.randn(n, 3, dtype=torch.float64))
    seen = torch.zeros(n, n, dtype=torch.float64)
    count = torch.zeros(n, n, dtype=torch.int64)
    for block in pair_blocks(units, side):
        seen[block.rows, block.columns] += block.similarity * block.pairs
        count[block.rows, block.columns] += block.pairs
    assert torch.equal(count, torch.ones(n, n, dtype=torch.int64).triu(1))
    assert torch.allclose(seen, (units @ units.T).triu(1), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1.0, 1e30])
def test_directions_have_length_one_at_any_scale(scale: float) -> None:
    units = directions(torch.tensor([[3.0, -4.0]]) * scale)
    assert torch.allclose(units, torch.tensor([[0.6, -0.8]]), atol=1e-4)


def test_half_precision_becomes_single() -> None:
    assert directions(torch.ones(2, 2, dtype=torch.bfloat16)).dtype == torch.float32
    assert directions(torch.ones(2, 2, dtype=torch.float64)).dtype == torch.float64


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (torch.tensor([[1.0, 0.0], [0.0, 0.0]]), "got length zero in row 1"),
        (torch.tensor([[1.0, torch.nan], [0.0, 0.0]]), "got NaN or infinity in row 0"),
        (torch.tensor([[1.0, 0.0], [torch.inf, 0.0]]), "got NaN or infinity in row 1"),
        (torch.ones(3), r"embeddings \(n, dim\), got torch.float32 \(3,\)"),
        (torch.ones(3, 2, dtype=torch.int64), "got torch.int64"),
    ],
)
def test_rows_without_a_direction_are_refused(embeddings: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        directions(embeddings)


def test_one_row_makes_no_pair() -> None:
    with pytest.raises(ValueError, match="at least two embeddings"):
        next(pair_blocks(torch.ones(1, 2)))
