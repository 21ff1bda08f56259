"""Means of a pointwise term under the weights, and the hardest negative, on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.terms import Term
from tammes.reduce.triton.operands import Operands
from tammes.reduce.triton.running_maximum import LOG2_E, gathered, parameters_of, sides


@dataclass(frozen=True, kw_only=True)
class Mean:
    """What is averaged, and by which weights; see `Engine.expectation`."""

    weight: Exponent
    log_total: Float[Tensor, " n"]
    term: Term
    scale: float

    def bias(self, operands: Operands) -> Tensor:
        """What is added to each column, in units of log 2."""
        column = self.weight.column
        return operands.nothing if column is None else column.detach() * LOG2_E


def means(operands: Operands, mean: Mean, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """`(n, p)` each: the means of the term and of its derivative."""
    from tammes.reduce.triton import kernels

    mine, other, launch = operands.anchors, operands.others, operands.launch_of(gathers=False)
    (n, d), m, p = mine.embeddings.shape, len(other.embeddings), offsets.shape[1]
    splits = launch.splits(n, m, p)
    found = mine.embeddings.new_empty(splits, n, p, dtype=torch.float32)
    derivatives = torch.empty_like(found)
    code, first, second = parameters_of(mean.weight.tilt)
    kernels.row_means[(-(-n // launch.rows), splits, p)](
        mine.embeddings,
        other.embeddings,
        mine.starts,
        mine.stops,
        *operands.lots(),
        mean.log_total * LOG2_E,
        offsets.contiguous(),
        mean.bias(operands),
        mean.weight.slope * LOG2_E,
        first,
        second,
        mean.scale,
        *mean.term.parameters,
        found,
        derivatives,
        n,
        m,
        d,
        splits,
        p,
        TILT=code,
        BIASED=mean.weight.column is not None,
        SUBSET=operands.keys is not None,
        TERM=mean.term.code,
        **operands.shape(launch, gathers=False),
    )
    return found.sum(dim=0), derivatives.sum(dim=0)


def gradients(
    operands: Operands,
    mean: Mean,
    offsets: Tensor,
    found: Tensor,
    by_means: Tensor,
    *,
    wanted: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    """D loss / d anchors and d loss / d candidates, from d loss / d means; `found` are the means."""
    if operands.candidates is None:
        return _gradient(operands, (True, True), mean, offsets, found, by_means), None
    return (
        _gradient(operands, (True, False), mean, offsets, found, by_means) if wanted[0] else None,
        _gradient(operands, (False, True), mean, offsets, found, by_means) if wanted[1] else None,
    )


def _gradient(
    operands: Operands,
    are_anchors: tuple[bool, bool],
    mean: Mean,
    offsets: Tensor,
    found: Tensor,
    by_means: Tensor,
) -> Tensor:
    from tammes.reduce.triton import kernels

    mine, other = sides(operands, are_anchors)
    launch = operands.launch_of(gathers=True)
    (n, d), m = mine.embeddings.shape, len(other.embeddings)
    parts = -(-d // launch.width)
    splits = launch.splits(n, m, parts)
    out = gathered(splits, n, d, mine.embeddings)
    code, first, second = parameters_of(mean.weight.tilt)
    kernels.mean_gradient[(-(-n // launch.rows), splits, parts)](
        mine.embeddings,
        other.embeddings,
        mine.starts,
        mine.stops,
        *operands.lots(),
        mean.log_total * LOG2_E,
        offsets.contiguous(),
        found,
        by_means.contiguous(),
        mean.bias(operands),
        mean.weight.slope * LOG2_E,
        mean.weight.gradient_slope,
        first,
        second,
        mean.scale,
        *mean.term.parameters,
        out,
        n,
        m,
        d,
        splits,
        offsets.shape[1],
        TILT=code,
        CURVED=mean.weight.tilt_has_gradient,
        FLOWS=mean.weight.has_gradient,
        BIASED=mean.weight.column is not None,
        SUBSET=operands.keys is not None,
        TERM=mean.term.code,
        MINE_ARE_ANCHORS=are_anchors[0],
        OTHER_ARE_ANCHORS=are_anchors[1],
        **operands.shape(launch, gathers=True),
    )
    return out[0] if splits == 1 else out.sum(dim=0)


def hardest(operands: Operands) -> Int[Tensor, " n"]:
    """`(n,)`, the negative of largest similarity for each anchor."""
    from tammes.reduce.triton import kernels

    mine, other, launch = operands.anchors, operands.others, operands.launch_of(gathers=False)
    (n, d), m = mine.embeddings.shape, len(other.embeddings)
    splits = launch.splits(n, m)
    largest = mine.embeddings.new_empty(splits, n, dtype=torch.float32)
    where = torch.empty_like(largest, dtype=torch.int32)
    kernels.row_hardest[(-(-n // launch.rows), splits)](
        mine.embeddings,
        other.embeddings,
        mine.starts,
        mine.stops,
        *operands.lots(),
        largest,
        where,
        n,
        m,
        d,
        splits,
        SUBSET=operands.keys is not None,
        **operands.shape(launch, gathers=False),
    )
    return where.gather(0, largest.argmax(dim=0, keepdim=True))[0].long()
