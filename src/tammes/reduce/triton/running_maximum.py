"""Log-sum-exps of exponents of any range and form on a GPU: a running maximum for every row.

S is swept in full, by rows, for the sums; and for the gradient once for each side that wants one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.terms import Term
from tammes.reduce.triton.operands import Operands, Side

LOG2_E = math.log2(math.e)


@dataclass(frozen=True, kw_only=True)
class Coded:
    """Exponents as the kernels read them: numbers in tuples, and what decides how a kernel is compiled."""

    slopes: tuple[float, ...]
    firsts: tuple[float, ...]
    seconds: tuple[float, ...]
    tilts: tuple[int, ...]

    @staticmethod
    def of(exponents: tuple[Exponent, ...]) -> Coded:
        """The slopes in units of log 2, and the parameters of the tilts in their own."""
        parameters = [parameters_of(each.tilt) for each in exponents]
        return Coded(
            slopes=tuple(each.slope * LOG2_E for each in exponents),
            firsts=tuple(first for _, first, _ in parameters),
            seconds=tuple(second for _, _, second in parameters),
            tilts=tuple(code for code, _, _ in parameters),
        )


def parameters_of(tilt: object) -> tuple[int, float, float]:
    """The code of a known term and its two numbers; zeros where there is none."""
    if tilt is None:
        return 0, 0.0, 0.0
    assert isinstance(tilt, Term)
    return tilt.code, *tilt.parameters


def biases(operands: Operands, exponents: tuple[Exponent, ...]) -> tuple[Tensor, ...]:
    """What is added to each column, in units of log 2."""
    return tuple(
        operands.nothing if each.column is None else each.column.detach() * LOG2_E for each in exponents
    )


def log_sums(operands: Operands, exponents: tuple[Exponent, ...]) -> Tensor:
    """`(r, n)`, log sum_j e^{x_rij}."""
    from tammes.reduce.triton import kernels

    mine, other, launch = operands.anchors, operands.others, operands.launch_of(gathers=False)
    (n, d), m = mine.embeddings.shape, len(other.embeddings)
    splits = launch.splits(n, m)
    out = mine.embeddings.new_empty(splits, len(exponents), n, dtype=torch.float32)
    coded = Coded.of(exponents)
    kernels.row_log_sums[(-(-n // launch.rows), splits)](
        mine.embeddings,
        other.embeddings,
        mine.starts,
        mine.stops,
        *operands.lots(),
        coded.slopes,
        coded.firsts,
        coded.seconds,
        biases(operands, exponents),
        out,
        n,
        m,
        d,
        splits,
        COUNT=len(exponents),
        TILTS=coded.tilts,
        BIASED=tuple(each.column is not None for each in exponents),
        SUBSET=operands.keys is not None,
        **operands.shape(launch, gathers=False),
    )
    return torch.logsumexp(out / LOG2_E, dim=0)


def gradients(
    operands: Operands,
    exponents: tuple[Exponent, ...],
    sums: Tensor,
    by_sums: Tensor,
    *,
    wanted: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    """D loss / d anchors and d loss / d candidates, from d loss / d sums."""
    live = [r for r, exponent in enumerate(exponents) if exponent.has_gradient]
    exponents = tuple(exponents[r] for r in live)
    sums, by_sums = sums[live] * LOG2_E, by_sums[live].contiguous()
    if operands.candidates is None:
        return _gradient(operands, (True, True), exponents, sums, by_sums), None
    return (
        _gradient(operands, (True, False), exponents, sums, by_sums) if wanted[0] else None,
        _gradient(operands, (False, True), exponents, sums, by_sums) if wanted[1] else None,
    )


def sides(operands: Operands, are_anchors: tuple[bool, bool]) -> tuple[Side, Side]:
    """The side whose gradient is gathered, and the one that is walked along."""
    mine = operands.anchors if are_anchors[0] else operands.others
    return mine, operands.anchors if are_anchors[1] else operands.others


def gathered(splits: int, n: int, d: int, like: Tensor) -> Tensor:
    """Room for the gradients that the programs gather, one for each split."""
    return like.new_empty(splits, n, d, dtype=torch.float32)


def _gradient(
    operands: Operands,
    are_anchors: tuple[bool, bool],
    exponents: tuple[Exponent, ...],
    sums: Tensor,
    by_sums: Tensor,
) -> Tensor:
    from tammes.reduce.triton import kernels

    mine, other = sides(operands, are_anchors)
    launch = operands.launch_of(gathers=True)
    (n, d), m = mine.embeddings.shape, len(other.embeddings)
    if not exponents:
        return torch.zeros_like(mine.embeddings, dtype=torch.float32)
    parts = -(-d // launch.width)
    splits = launch.splits(n, m, parts)
    out = gathered(splits, n, d, mine.embeddings)
    coded = Coded.of(exponents)
    arguments: dict[str, Any] = operands.shape(launch, gathers=True)
    kernels.log_sum_gradient[(-(-n // launch.rows), splits, parts)](
        mine.embeddings,
        other.embeddings,
        mine.starts,
        mine.stops,
        *operands.lots(),
        sums,
        by_sums,
        coded.slopes,
        tuple(each.gradient_slope for each in exponents),
        coded.firsts,
        coded.seconds,
        biases(operands, exponents),
        out,
        n,
        m,
        d,
        splits,
        COUNT=len(exponents),
        TILTS=coded.tilts,
        CURVED=tuple(each.tilt_has_gradient for each in exponents),
        BIASED=tuple(each.column is not None for each in exponents),
        SUBSET=operands.keys is not None,
        MINE_ARE_ANCHORS=are_anchors[0],
        OTHER_ARE_ANCHORS=are_anchors[1],
        **arguments,
    )
    return out[0] if splits == 1 else out.sum(dim=0)
