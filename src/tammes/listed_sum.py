"""Sums over lists of rows, such as the messages of all nodes from their neighbors."""

import inspect
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag


def listed_sum(
    rows: Float[Tensor, "rows d"],
    listed: Int[Tensor, " entries"],
    begins: Int[Tensor, " lists"],
    back: Int[Tensor, " entries"],
    back_begins: Int[Tensor, " rows"],
) -> Float[Tensor, "lists d"]:
    """Return the sum of the rows in each list; it has derivatives of every order.

    Args:
        rows: what is added up; half precision is summed in float32.
        listed: the rows of all lists, one list after the other.
        begins: place in `listed` where each list begins.
        back: the lists that each row is in, one row after the other: the transpose, for the derivative.
        back_begins: place in `back` where those of each row begin.

    Example:
        >>> listed, begins = torch.tensor([0, 1, 1]), torch.tensor([0, 2])  # rows 0 and 1; row 1
        >>> back, back_begins = torch.tensor([0, 0, 1]), torch.tensor([0, 1])
        >>> listed_sum(torch.tensor([[1.0], [2.0]]), listed, begins, back, back_begins).tolist()
        [[3.0], [2.0]]
    """
    found: Tensor = _ListedSum.apply(rows, listed, begins, back, back_begins)  # type: ignore[no-untyped-call]
    return found


def lists_of(
    owner: Int[Tensor, " entries"], listed: Int[Tensor, " entries"], lists: int
) -> tuple[Int[Tensor, " entries"], Int[Tensor, " lists"]]:
    """Return the entries of all lists, one list after the other, and where each list begins.

    Args:
        owner: list that each entry is in.
        listed: the entries; those of one list keep their order.
        lists: number of lists.

    Example:
        >>> entries, begins = lists_of(torch.tensor([1, 0, 1]), torch.tensor([5, 6, 7]), 3)
        >>> entries.tolist(), begins.tolist()
        ([6, 5, 7], [0, 1, 3])
    """
    if not bool((owner[1:] >= owner[:-1]).all()):
        listed = listed.index_select(0, owner.argsort(stable=True))
    lengths = torch.bincount(owner, minlength=lists)
    return listed.contiguous(), lengths.cumsum(0) - lengths


class _ListedSum(torch.autograd.Function):
    """The derivative sums over the transposed lists, by the same operation."""

    @staticmethod
    def forward(rows: Tensor, listed: Tensor, begins: Tensor, back: Tensor, back_begins: Tensor) -> Tensor:
        return embedding_bag(listed, rows, begins, mode="sum")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        listed, begins, back, back_begins = ctx.saved_tensors
        if torch.compiler.is_compiling():  # which has first derivatives only
            return embedding_bag(back, gradient, back_begins, mode="sum"), None, None, None, None
        return listed_sum(gradient, back, back_begins, listed, begins), None, None, None, None


# torch takes the signature in every call, which is slow where it has to be made from the function.
_ListedSum.forward.__signature__ = inspect.signature(_ListedSum.forward)  # type: ignore[attr-defined]
