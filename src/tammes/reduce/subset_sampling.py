"""A random k-subset for every anchor, without a list of its members.

Every pair of an anchor and a candidate holds a ticket, a hash that is computed wherever it is asked for;
the k smallest tickets of an anchor's negatives win. Within an anchor no two tickets are equal, so exactly
k win; one number per anchor, the k-th smallest ticket, tells them in every tile and in both passes.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

_WORD = 0xFFFFFFFF
_FIRST, _SECOND = 0x7FEB352D, 0x846CA68B
_BLOCK = 1 << 17
"""How many tickets a processor makes at a time: half a megabyte, which stays in its cache."""


def row_keys(seed: int, rows: Int[Tensor, " r"]) -> Int[Tensor, " r"]:
    """`(r,)`, a key for the tickets of each anchor, from one seed of up to 62 bits."""
    return _mixed(_mixed(_mixed(rows) + (seed & _WORD)) + (seed >> 32))


def tickets(keys: Int[Tensor, " r"], columns: Int[Tensor, " c"]) -> Int[Tensor, "r c"]:
    """t_ij = mix(mix(j) + key_i), 32-bit words; `mix` is one-to-one, so no row has a ticket twice.

    Args:
        keys: `(r,)`, of the anchors.
        columns: `(c,)`, numbers of the candidates, below 2^32.

    Example:
        >>> import torch
        >>> row = tickets(row_keys(1, torch.tensor([0])), torch.arange(1000))
        >>> len(row.unique()), int(row.min()) >= 0
        (1000, True)
    """
    return _mixed(_mixed(columns)[None, :] + keys[:, None])


def last_winners(
    keys: Int[Tensor, " r"], excluded: Bool[Tensor, "r c"] | None, k: int, columns: int
) -> Int[Tensor, " r"]:
    """`(r,)`, the k-th smallest ticket of each anchor among candidates 0 to `columns` - 1.

    Args:
        keys: `(r,)`, of the anchors.
        excluded: `(r, c)`, who takes no part; at least k candidates are left to each anchor.
        k: how many win.
        columns: how many candidates there are.
    """
    everyone = torch.arange(columns, device=keys.device)
    if keys.device.type != "cpu":
        drawn = tickets(keys, everyone)
        if excluded is not None:
            drawn.masked_fill_(excluded, torch.iinfo(drawn.dtype).max)
        return drawn.kthvalue(k, dim=1).values
    words = _words(keys, everyone)
    if excluded is not None:
        # The largest word may be a ticket too; it is then the last of all, and as good as excluded.
        words[excluded.numpy()] = _WORD
    return torch.from_numpy(np.partition(words, k - 1, axis=1)[:, k - 1].astype(np.int64))


def are_lost(
    keys: Int[Tensor, " r"], columns: Int[Tensor, " c"], last: Int[Tensor, " r"]
) -> Bool[Tensor, "r c"]:
    """`(r, c)`, whose tickets are larger than the last that wins."""
    if keys.device.type != "cpu":
        return tickets(keys, columns) > last[:, None]
    return torch.from_numpy(_words(keys, columns) > last.numpy().astype(np.uint32)[:, None])


def _mixed(value: Tensor) -> Tensor:
    """Two rounds of xor-shift and odd multiplication: a bijection of 32-bit words, here in int64."""
    value = value & _WORD
    value = ((value ^ (value >> 16)) * _FIRST).bitwise_and_(_WORD)
    value = ((value ^ (value >> 15)) * _SECOND).bitwise_and_(_WORD)
    return value ^ (value >> 16)


def _words(keys: Tensor, columns: Tensor) -> NDArray[np.uint32]:
    """The tickets on a CPU, as the 32-bit words that they are: torch cannot compute with these, and int64
    takes sixteen times as long.
    """
    anchor, candidate = (each.numpy().astype(np.uint32) for each in (keys, columns))
    _mix(candidate, np.empty_like(candidate))
    words = np.empty((len(anchor), len(candidate)), np.uint32)
    step = max(1, _BLOCK // max(1, len(candidate)))
    spare = np.empty((step, len(candidate)), np.uint32)
    for first in range(0, len(anchor), step):
        block = words[first : first + step]
        np.add(anchor[first : first + step, None], candidate[None], out=block)
        _mix(block, spare[: len(block)])
    return words


def _mix(words: NDArray[np.uint32], spare: NDArray[np.uint32]) -> None:
    """`_mixed`, in place."""
    for shift, factor in ((16, _FIRST), (15, _SECOND), (16, None)):
        np.right_shift(words, shift, out=spare)
        np.bitwise_xor(words, spare, out=words)
        if factor is not None:
            np.multiply(words, np.uint32(factor), out=words)
