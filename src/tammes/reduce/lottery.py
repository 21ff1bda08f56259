"""A random k-subset for every anchor, without a list of its members.

Every pair of an anchor and a candidate holds a ticket, a hash that is computed wherever it is asked for;
the k smallest tickets of an anchor's negatives win. Within an anchor no two tickets are equal, so exactly
k win; one number per anchor, the k-th smallest ticket, tells them in every tile and in both passes.
"""

from __future__ import annotations

from jaxtyping import Int
from torch import Tensor

_WORD = 0xFFFFFFFF


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


def _mixed(value: Tensor) -> Tensor:
    """Two rounds of xor-shift and odd multiplication: a bijection of 32-bit words, here in int64."""
    value = value & _WORD
    value = ((value ^ (value >> 16)) * 0x7FEB352D).bitwise_and_(_WORD)
    value = ((value ^ (value >> 15)) * 0x846CA68B).bitwise_and_(_WORD)
    return value ^ (value >> 16)
