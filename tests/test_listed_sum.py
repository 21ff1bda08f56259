"""Sums over lists of rows, and their derivatives."""

import torch
from torch.autograd import gradcheck, gradgradcheck

from tammes.listed_sum import listed_sum, lists_of

MATRIX = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 3.0], [1.0, 0.0, 0.0]])
"""How often each row (a column here) is in each list."""


def lists(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    counts = matrix.long()
    entries = counts.nonzero().repeat_interleave(counts[counts > 0], dim=0)
    owner, listed = entries.flip(0).T  # in no order: lists_of sorts them
    return lists_of(owner, listed, len(matrix))


LISTS = *lists(MATRIX), *lists(MATRIX.T)


def test_it_is_a_product_with_the_counts() -> None:
    rows = torch.randn(3, 5, dtype=torch.float64)
    assert torch.allclose(listed_sum(rows, *LISTS), MATRIX.double() @ rows)


def test_it_has_first_and_second_derivatives() -> None:
    rows = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: listed_sum(x, *LISTS), (rows,))
    assert gradgradcheck(lambda x: listed_sum(x, *LISTS).square(), (rows,))


def test_half_precision_is_summed_in_single() -> None:
    many = torch.ones(1, 512)  # added one by one in bfloat16, the sum of ones stays at 256
    total = listed_sum(torch.ones(512, 1, dtype=torch.bfloat16), *lists(many), *lists(many.T))
    assert total.tolist() == [[512.0]]
