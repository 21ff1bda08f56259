"""Floating-point operations of a step, as PyTorch counts them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry
from typing_extensions import override


class FlopCount(TorchDispatchMode):
    """Counter of the operations of a block: products of matrices, convolutions and attention.

    A multiplication and an addition are two operations. The formulas are those of `torch.utils.flop_counter`,
    which has none for attention on a CPU; there, a product of queries and keys and one with the values are
    counted forward, and five such products backward, as for attention on a GPU. Pointwise operations are not
    counted, nor is what a kernel of Triton does.

    Attributes:
        total: operations so far.

    Example:
        >>> with FlopCount() as count:
        ...     _ = torch.rand(2, 3) @ torch.rand(3, 5)
        >>> count.total
        60
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    @override
    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = kwargs or {}
        result = func(*args, **named)
        operation = func._overloadpacket
        if operation in flop_registry:
            self.total += flop_registry[operation](*args, **named, out_val=result)
        elif operation in ON_CPU:
            self.total += ON_CPU[operation](*args)
        return result


@contextmanager
def counted(known: int | None) -> Iterator[FlopCount]:
    """Return a context that counts the operations of a block, unless their number is known.

    Args:
        known: their number; None to count.
    """
    count = FlopCount()
    if known is not None:
        count.total = known
        yield count
        return
    with count:
        yield count


def _forward(query: Tensor, key: Tensor, *_: Any) -> int:
    return 2 * _product(query, key)


def _backward(gradient: Tensor, query: Tensor, key: Tensor, *_: Any) -> int:
    return 5 * _product(query, key)


def _product(query: Tensor, key: Tensor) -> int:
    """Return the operations of the product of queries and keys (batch, heads, tokens, width)."""
    return 2 * math.prod(query.shape) * key.shape[-2]


_ATEN: Any = torch.ops.aten
ON_CPU: dict[Any, Callable[..., int]] = {
    _ATEN._scaled_dot_product_flash_attention_for_cpu: _forward,
    _ATEN._scaled_dot_product_flash_attention_for_cpu_backward: _backward,
}
"""Formulas of operations that PyTorch's counter lacks."""
