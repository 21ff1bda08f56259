"""Log-sum-exps on a GPU of a symmetric S whose exponents are known to lie close together: one fixed shift.

With |s_ij| bounded the largest slope * s + tilt(s) is known beforehand. So no maximum need be run after, and
one exponential serves rows and columns, in the sums and in the gradient. Nothing here waits for the device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import Term
from tammes.reduce.triton.operands import Operands
from tammes.reduce.triton.running_maximum import LOG2_E, Coded, gathered

_SAFE_RANGE = 60.0
"""How far apart slope * s + tilt(s) may lie, in units of log e: then 2^{x - largest} is at least 2^-87."""
_LIFT = 40.0
"""The factors 2^{column - largest column} are lifted by so many powers of two, to the middle of float32's
range: a row's sum is a normal number as long as the largest column among its negatives is within 54 units of
log e of the largest of all."""
_GROUPS = 32
"""S is cut into as many groups of rows and of columns; sums are kept for each, a constant for each row."""
_HIGHEST_POWER = 4


def range_is_safe(negatives: Negatives, exponents: tuple[Exponent, ...]) -> bool:
    """Whether the fixed shift loses nothing; S must be symmetric, weights and all."""
    if not negatives.symmetric or negatives.subset is not None:
        return False
    return all(_range(exponent, negatives.bound) < _SAFE_RANGE for exponent in exponents)


def _range(exponent: Exponent, bound: float) -> float:
    if exponent.tilt is None:
        return 2 * abs(exponent.slope) * bound
    if exponent.tilt_has_gradient or not isinstance(exponent.tilt, Term):
        return math.inf
    low, high = exponent.tilt.limits(bound)
    return high - low + 2 * abs(exponent.slope) * bound


@dataclass(frozen=True, kw_only=True)
class _Shifted:
    """Exponents, their largest values, and of which one exponential they are powers."""

    coded: Coded
    highest: tuple[float, ...]
    base: float
    powers: tuple[int, ...]
    bound: float

    @staticmethod
    def of(exponents: tuple[Exponent, ...], bound: float) -> _Shifted:
        highest = tuple(LOG2_E * _highest(each, bound) for each in exponents)
        base, powers = _common_base(exponents)
        return _Shifted(
            coded=Coded.of(exponents), highest=highest, base=base * LOG2_E, powers=powers, bound=bound
        )

    @property
    def arguments(self) -> tuple[object, ...]:
        """As the kernels take them."""
        coded = self.coded
        return coded.slopes, coded.firsts, coded.seconds, self.highest, self.base, self.base * self.bound


def _highest(exponent: Exponent, bound: float) -> float:
    tilt = exponent.tilt.limits(bound)[1] if isinstance(exponent.tilt, Term) else 0.0
    return abs(exponent.slope) * bound + tilt


def _common_base(exponents: tuple[Exponent, ...]) -> tuple[float, tuple[int, ...]]:
    """A slope of which all are small multiples: with beta = 1, HCL's two are 1 and 2 times the logit's.

    Where there is none, zeros: each exponent then has an exponential of its own.
    """
    none = 0.0, (0,) * len(exponents)
    slopes = [each.slope for each in exponents]
    if any(each.tilt is not None or each.slope <= 0 for each in exponents):
        return none
    for parts in range(1, _HIGHEST_POWER):
        base = min(slopes) / parts
        powers = tuple(round(slope / base) for slope in slopes)
        if max(powers) > _HIGHEST_POWER:
            break
        if all(abs(slope / base - whole) < 1e-9 for slope, whole in zip(slopes, powers, strict=True)):
            return base, powers
    return none


def _factors(
    exponents: tuple[Exponent, ...], nothing: Tensor
) -> tuple[tuple[Tensor, ...], list[Tensor | float]]:
    """2^{column - largest + lift} where an exponent has a column, and what its sums then lack."""
    factors: list[Tensor] = []
    missing: list[Tensor | float] = []
    for exponent in exponents:
        if exponent.column is None:
            factors.append(nothing)
            missing.append(0.0)
        else:
            column = exponent.column.detach() * LOG2_E
            largest = column.max()
            factors.append(torch.exp2(column - largest + _LIFT))
            missing.append(largest - _LIFT)
    return tuple(factors), missing


def log_sums(operands: Operands, exponents: tuple[Exponent, ...]) -> Tensor:
    """`(r, n)`, log sum_j e^{x_rij}, from the tiles on and above the diagonal."""
    from tammes.reduce.triton import kernels

    launch, mine = operands.launch_of(gathers=False), operands.anchors
    n, d = mine.embeddings.shape
    shifted = _Shifted.of(exponents, operands.bound)
    factors, missing = _factors(exponents, operands.nothing)
    blocks = -(-n // launch.rows)
    blocks_per_group = -(-blocks // _GROUPS)
    groups = -(-blocks // blocks_per_group)
    out = mine.embeddings.new_zeros(groups + 1, len(exponents), n, dtype=torch.float32)
    kernels.triangle_sums[(groups, groups)](
        mine.embeddings,
        mine.starts,
        mine.stops,
        *shifted.arguments,
        factors,
        out,
        n,
        d,
        groups,
        blocks_per_group,
        COUNT=len(exponents),
        TILTS=shifted.coded.tilts,
        POWERS=shifted.powers,
        SHARES=any(shifted.powers),
        LISTED=tuple(each.column is not None for each in exponents),
        **operands.shape(launch, gathers=False),
    )
    totals = out.sum(dim=0).log2_()
    for r, (largest, more) in enumerate(zip(shifted.highest, missing, strict=True)):
        totals[r] += largest + more
    return totals / LOG2_E


def gradients(
    operands: Operands, exponents: tuple[Exponent, ...], sums: Tensor, by_sums: Tensor, *, mirrored: bool
) -> tuple[Tensor | None, Tensor | None]:
    """D loss / d anchors from d loss / d sums; `mirrored` takes half of the tiles, and atomics."""
    from tammes.reduce.triton import kernels

    launch, mine = operands.launch_of(gathers=True), operands.anchors
    n, d = mine.embeddings.shape
    live = [r for r, exponent in enumerate(exponents) if exponent.gradient_slope != 0.0]
    if not live:
        return torch.zeros_like(mine.embeddings, dtype=torch.float32), None
    exponents = tuple(exponents[r] for r in live)
    shifted = _Shifted.of(exponents, operands.bound)
    factors, missing = _factors(exponents, operands.nothing)
    lefts = torch.empty_like(by_sums[live])
    for number, (r, exponent) in enumerate(zip(live, exponents, strict=True)):
        rescale = torch.exp2(shifted.highest[number] + missing[number] - sums[r] * LOG2_E)
        lefts[number] = by_sums[r] * exponent.gradient_slope * rescale
    parts = -(-d // launch.width)
    splits = launch.splits(n, n, parts)
    out = gathered(1 if mirrored else splits, n, d, mine.embeddings)
    kernels.shared_gradient[(-(-n // launch.rows), splits, parts)](
        mine.embeddings,
        mine.starts,
        mine.stops,
        lefts,
        *shifted.arguments,
        factors,
        out.zero_() if mirrored else out,
        n,
        d,
        splits,
        COUNT=len(exponents),
        TILTS=shifted.coded.tilts,
        POWERS=shifted.powers,
        SHARES=any(shifted.powers),
        LISTED=tuple(each.column is not None for each in exponents),
        MIRRORED=mirrored,
        **operands.shape(launch, gathers=True),
    )
    return out[0] if len(out) == 1 else out.sum(dim=0), None
