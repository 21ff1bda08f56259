"""Sampling of k negatives for every anchor, without replacement and without a list of the sample.

Every pair of an anchor and a candidate has a hash, which is computed wherever it is needed; the k negatives
of smallest hash are the sample. Within a row no two hashes are equal, so the sample has exactly k members,
and one number a row, the k-th smallest hash, identifies them in every tile and in both passes.
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
"""Number of hashes that a processor computes at a time: half a megabyte, which stays in its cache."""


def row_keys(seed: int, rows: Int[Tensor, " r"]) -> Int[Tensor, " r"]:
    """Return `(r,)` keys for the hashes of each anchor, from one seed of up to 62 bits."""
    return _mixed(_mixed(_mixed(rows) + (seed & _WORD)) + (seed >> 32))


def hashes(keys: Int[Tensor, " r"], columns: Int[Tensor, " c"]) -> Int[Tensor, "r c"]:
    """Return h_ij = mix(mix(j) + key_i), 32-bit words; `mix` is one-to-one, so no row has a hash twice.

    Args:
        keys: `(r,)` keys of the anchors.
        columns: `(c,)` numbers of the candidates, below 2^32.

    Example:
        >>> import torch
        >>> row = hashes(row_keys(1, torch.tensor([0])), torch.arange(1000))
        >>> len(row.unique()), int(row.min()) >= 0
        (1000, True)
    """
    return _mixed(_mixed(columns)[None, :] + keys[:, None])


def thresholds(
    keys: Int[Tensor, " r"], excluded: Bool[Tensor, "r c"] | None, k: int, columns: int
) -> Int[Tensor, " r"]:
    """Return `(r,)` the k-th smallest hash of each anchor among candidates 0 to `columns` - 1.

    Args:
        keys: `(r,)` keys of the anchors.
        excluded: `(r, c)` true where no negative stands; each anchor has at least k others.
        k: size of the sample.
        columns: number of candidates.
    """
    column = torch.arange(columns, device=keys.device)
    if keys.device.type != "cpu":
        sampled = hashes(keys, column)
        if excluded is not None:
            sampled.masked_fill_(excluded, torch.iinfo(sampled.dtype).max)
        return sampled.kthvalue(k, dim=1).values
    words = _words(keys, column)
    if excluded is not None:
        # The largest word may be a hash too; it is then the last of all, and as good as excluded.
        words[excluded.numpy()] = _WORD
    return torch.from_numpy(np.partition(words, k - 1, axis=1)[:, k - 1].astype(np.int64))


def not_sampled(
    keys: Int[Tensor, " r"], columns: Int[Tensor, " c"], threshold: Int[Tensor, " r"]
) -> Bool[Tensor, "r c"]:
    """Return `(r, c)` true where a hash is larger than the threshold of its row."""
    if keys.device.type != "cpu":
        return hashes(keys, columns) > threshold[:, None]
    return torch.from_numpy(_words(keys, columns) > threshold.numpy().astype(np.uint32)[:, None])


def _mixed(value: Tensor) -> Tensor:
    """Apply two rounds of xor-shift and odd multiplication: a bijection of 32-bit words, here in int64."""
    value = value & _WORD
    value = ((value ^ (value >> 16)) * _FIRST).bitwise_and_(_WORD)
    value = ((value ^ (value >> 15)) * _SECOND).bitwise_and_(_WORD)
    return value ^ (value >> 16)


def _words(keys: Tensor, columns: Tensor) -> NDArray[np.uint32]:
    """Return the hashes on a CPU as 32-bit words.

    NumPy computes them, since torch has no arithmetic on uint32, and int64 takes sixteen times as long.
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
    """Apply `_mixed` in place."""
    for shift, factor in ((16, _FIRST), (15, _SECOND), (16, None)):
        np.right_shift(words, shift, out=spare)
        np.bitwise_xor(words, spare, out=words)
        if factor is not None:
            np.multiply(words, np.uint32(factor), out=words)
