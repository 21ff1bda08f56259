"""Thresholds of random subsets on a GPU, in one launch."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from tammes.reduce.key_ranges import KeyRanges

_BLOCK = 1024
"""Tickets that a program computes at a time."""


def last_winners(keys: Int[Tensor, " n"], ranges: KeyRanges, k: int) -> Int[Tensor, " n"]:
    """Return `(n,)` the k-th smallest ticket among the negatives of each anchor.

    Operations of torch would make the tickets in as many rounds as fit into memory: 16,384 at 65,536 pairs.

    Args:
        keys: `(n,)` keys of the anchors' tickets.
        ranges: who is a negative before the subset is drawn; each anchor has at least k.
        k: size of the subset.
    """
    from tammes.reduce.triton.kernels import subset

    out = torch.empty_like(keys)
    starts, stops = ranges.words
    with torch.cuda.device_of(keys):
        subset.last_winners[(len(keys),)](
            keys.contiguous(),
            starts,
            stops,
            out,
            len(ranges.keys_of_candidates),
            k,
            BLOCK=_BLOCK,
            enable_fp_fusion=True,  # Triton 3.9 asks to say so
        )
    return out
