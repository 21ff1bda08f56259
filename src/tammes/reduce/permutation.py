"""Keyed pseudo-random permutations: who is in a random k-subset, without a list of its members."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

_ROUNDS = 6
_LOW_32_BITS = 0xFFFFFFFF


def position(
    item: Int[Tensor, "r c"], size: Int[Tensor, "r 1"], key: Int[Tensor, "r 1"]
) -> Int[Tensor, "r c"]:
    """Where each item of 0..size-1 goes under the row's own pseudo-random permutation.

    `position(item) < k` holds for exactly k items of a row, so a k-subset drawn without replacement is
    known tile by tile, the same in the forward and the backward pass, and costs no memory. The
    permutation is a Feistel network on Z_a x Z_b with a * b >= size, a and b near its square root; what
    it carries outside the range walks on along its cycle (Black and Rogaway 2002), which few items do
    since a * b - size < b.

    Args:
        item: `(r, c)`, in 0..size-1; other entries (of candidates that are no negatives) give an
            arbitrary result.
        size: `(r, 1)`, how many items the row's permutation has.
        key: `(r, 1)`, non-negative; equal keys give equal permutations.

    Example:
        >>> size, key = torch.tensor([[10]]), torch.tensor([[7]])
        >>> sorted(position(torch.arange(10)[None], size, key)[0].tolist()) == list(range(10))
        True
    """
    wide = torch.ceil(torch.sqrt(size.double())).long().clamp_(min=1)  # b
    tall = (size + wide - 1) // wide  # a
    low, high = key & _LOW_32_BITS, key >> 32
    keys = [_mixed(_mixed(low + (0x9E3779B9 * (turn + 1) & _LOW_32_BITS)) + high) for turn in range(_ROUNDS)]
    item = item.clamp(min=0).minimum(size - 1)
    out = _feistel(item, tall, wide, keys)
    outside = out >= size
    while bool(outside.any()):
        out = torch.where(outside, _feistel(out, tall, wide, keys), out)
        outside = out >= size
    return out


def row_keys(seed: int, rows: Int[Tensor, " r"]) -> Int[Tensor, " r"]:
    """A key of 62 bits for each row's permutation, from one seed."""
    low, high = seed & _LOW_32_BITS, (seed >> 32) & _LOW_32_BITS
    inner = _mixed(_mixed(rows + low) + high)
    return inner | (_mixed(inner + rows) >> 2) << 32


def _feistel(item: Tensor, tall: Tensor, wide: Tensor, keys: list[Tensor]) -> Tensor:
    left = torch.div(item, wide, rounding_mode="floor")  # in 0..a-1
    right = item - left * wide  # in 0..b-1
    for turn, key in enumerate(keys):
        if turn % 2 == 0:
            left = _add_modulo(left, _scaled(right, key, tall), tall)
        else:
            right = _add_modulo(right, _scaled(left, key, wide), wide)
    return left * wide + right


def _scaled(half: Tensor, key: Tensor, size: Tensor) -> Tensor:
    """A hash of (half, key), spread evenly over 0..size-1 by a multiplication instead of a remainder."""
    return (_mixed((half + 1) * 0xC2B2AE35 + key) * size) >> 32


def _add_modulo(value: Tensor, step: Tensor, size: Tensor) -> Tensor:
    total = value + step
    return torch.where(total >= size, total - size, total)


def _mixed(value: Tensor) -> Tensor:
    """A 32-bit finalizer (xor-shift and multiply, as in MurmurHash3) on int64 tensors."""
    value = value & _LOW_32_BITS
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & _LOW_32_BITS
    value = ((value ^ (value >> 15)) * 0x846CA68B) & _LOW_32_BITS
    return value ^ (value >> 16)
