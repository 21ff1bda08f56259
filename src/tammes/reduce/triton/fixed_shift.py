"""Log-sum-exps on a GPU of a symmetric S whose exponents are known to lie close together: one fixed shift.

With |s_ij| bounded, the largest slope * s + tilt(s) is known beforehand. So no row needs a running maximum,
and one exponential serves s_ij and s_ji, in the sums and in the gradient. The host never waits for the
device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.terms import LOG2_E, Term
from tammes.reduce.triton.operands import Operands, total
from tammes.reduce.triton.running_maximum import Coded
from tammes.reduce.triton.strips import Strip, strip_gradients

_SAFE_RANGE = 60.0
"""How far apart slope * s + tilt(s) may lie, in units of log e: then 2^{x - largest} is at least 2^-87."""
_LIFT = 40.0
"""Power of two that lifts the factors 2^{column - largest column} to the middle of float32's range: a row's
sum is a normal number as long as the largest column among its negatives is within 54 units of log e of the
largest of all."""
_GROUPS = 32
"""Number of groups of rows, and of columns, into which S is cut; each row has a sum for each group."""
_HIGHEST_POWER = 4
"""Largest power of one exponential that replaces another exponential."""


def range_is_safe(negatives: Negatives, exponents: tuple[Exponent, ...]) -> bool:
    """Return whether the fixed shift loses no digits; S must be symmetric, with its weights."""
    if not negatives.symmetric or not negatives.by_keys_alone:
        return False
    return all(_range(exponent, negatives.bound) < _SAFE_RANGE for exponent in exponents)


def _range(exponent: Exponent, bound: float) -> float:
    """Return how far apart slope * s + tilt(s) may lie; infinity where that is unknown."""
    if exponent.tilt is None:
        return 2 * abs(exponent.slope) * bound
    if exponent.tilt_has_gradient or not isinstance(exponent.tilt, Term):
        return math.inf
    low, high = exponent.tilt.limits(bound)
    return high - low + 2 * abs(exponent.slope) * bound


@dataclass(frozen=True, kw_only=True)
class Shifted:
    """Exponents, what is subtracted from them, and the one exponential of which they are powers."""

    coded: Coded
    highest: tuple[float, ...]
    base: float
    powers: tuple[int, ...]
    bound: float

    @staticmethod
    def of(exponents: tuple[Exponent, ...], bound: float) -> Shifted:
        """Return the exponents shifted by their largest values, so that columns find room above."""
        highest = tuple(LOG2_E * _highest(each, bound) for each in exponents)
        base, powers = _common_base(exponents)
        return Shifted(
            coded=Coded.of(exponents), highest=highest, base=base * LOG2_E, powers=powers, bound=bound
        )

    @staticmethod
    def of_logits(exponents: tuple[Exponent, ...]) -> Shifted:
        """Return exponents without tilt and column as they are: the middle of their range is zero."""
        base, powers = _common_base(exponents)
        none = (0.0,) * len(exponents)
        return Shifted(coded=Coded.of(exponents), highest=none, base=base * LOG2_E, powers=powers, bound=0.0)

    @property
    def arguments(self) -> tuple[object, ...]:
        """The numbers, in the order in which the kernels take them."""
        coded = self.coded
        return coded.slopes, coded.firsts, coded.seconds, self.highest, self.base, self.base * self.bound

    def constants(self, exponents: tuple[Exponent, ...]) -> dict[str, object]:
        """Return the arguments with which the kernels are compiled."""
        return {
            "COUNT": len(exponents),
            "TILTS": self.coded.tilts,
            "POWERS": self.powers,
            "SHARES": any(self.powers),
            "LISTED": tuple(each.column is not None for each in exponents),
        }


def _highest(exponent: Exponent, bound: float) -> float:
    tilt = exponent.tilt.limits(bound)[1] if isinstance(exponent.tilt, Term) else 0.0
    return abs(exponent.slope) * bound + tilt


def _common_base(exponents: tuple[Exponent, ...]) -> tuple[float, tuple[int, ...]]:
    """Return a slope of which all are small multiples, and the multiples; zeros where there is no such slope.

    With beta = 1, HCL's two slopes are 1 and 2 times that of the logit: one exponential and its square.
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
    """Return 2^{column - largest + lift} for each exponent with a column, and what its log-sums then lack."""
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


def log_sums(operands: Operands, exponents: tuple[Exponent, ...]) -> Float[Tensor, "r n"]:
    """Return log sum_j e^{x_rij}, from the tiles on and above the diagonal."""
    shifted = Shifted.of(exponents, operands.bound)
    factors, missing = _factors(exponents, operands.nothing)
    totals = partial_sums(operands, exponents, shifted, factors).sum(dim=0).log2_()
    for r, (largest, more) in enumerate(zip(shifted.highest, missing, strict=True)):
        totals[r] += largest + more
    return totals / LOG2_E


def partial_sums(
    operands: Operands, exponents: tuple[Exponent, ...], shifted: Shifted, factors: tuple[Tensor, ...]
) -> Float[Tensor, "slots r n"]:
    """Return sum_j factor_rj e^{x_rij - shift_r} in parts, to be added up over the slots.

    Args:
        operands: the embeddings, on both sides of S.
        exponents: x.
        shifted: what is subtracted from them.
        factors: `(n,)` factors of the columns, one vector for each exponent.
    """
    from tammes.reduce.triton.kernels import fixed_shift as kernels

    launch, mine = operands.launch_of(gathers=False), operands.anchors
    n, d = mine.embeddings.shape
    # A program takes one square of groups x groups; more programs would need more partial sums.
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
        **shifted.constants(exponents),
        **operands.constants(launch, gathers=False),
    )
    return out


def gradients(
    operands: Operands,
    exponents: tuple[Exponent, ...],
    sums: Float[Tensor, "r n"],
    by_sums: Float[Tensor, "r n"],
    *,
    mirrored: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """Return d loss / d anchors from d loss / d sums; `mirrored` takes half of the tiles, and atomics."""
    live = [r for r, exponent in enumerate(exponents) if exponent.gradient_slope != 0.0]
    if not live:
        return torch.zeros_like(operands.anchors.embeddings, dtype=torch.float32), None
    exponents = tuple(exponents[r] for r in live)
    shifted = Shifted.of(exponents, operands.bound)
    factors, missing = _factors(exponents, operands.nothing)
    lefts = by_sums.new_empty(len(live), by_sums.shape[1])
    for number, (r, exponent) in enumerate(zip(live, exponents, strict=True)):
        # d loss / d sum_ri times 1 / sum_ri, undoing the shift and the lift of the factors.
        rescale = torch.exp2(shifted.highest[number] + missing[number] - sums[r] * LOG2_E)
        lefts[number] = by_sums[r] * exponent.gradient_slope * rescale
    return total(partial_gradients(operands, exponents, shifted, factors, lefts, mirrored=mirrored)), None


def partial_gradients(
    operands: Operands,
    exponents: tuple[Exponent, ...],
    shifted: Shifted,
    factors: tuple[Tensor, ...],
    lefts: Float[Tensor, "r n"],
    *,
    mirrored: bool,
) -> Float[Tensor, "s n d"]:
    """Return d loss / d anchors in parts, to be added up over the splits of the columns.

    Args:
        operands: the embeddings, on both sides of S.
        exponents: x.
        shifted: what is subtracted from them.
        factors: `(n,)` factors of the columns, one vector for each exponent.
        lefts: d loss / d sum_ri times the exponent's slope, for sums of shifted exponentials.
        mirrored: whether to take half of the tiles, and atomics; strips take half without them.
    """
    from tammes.reduce.triton.kernels import fixed_shift as kernels

    constants = shifted.constants(exponents) | {"SQUARED": shifted.powers == (2, 1)}
    mine, strips = operands.anchors, operands.strips()
    n, d = mine.embeddings.shape
    if strips is not None:
        constants |= operands.constants(strips, gathers=False)

        def write(strip: Strip) -> None:
            kernels.strip_of_slopes[strip.grid](
                mine.embeddings,
                mine.starts,
                mine.stops,
                lefts,
                *shifted.arguments,
                factors,
                strip.slopes,
                n,
                d,
                strip.top,
                strip.blocks,
                strip.stride,
                **constants,
            )

        found, _ = strip_gradients(mine.embeddings, None, strips, write)
        assert found is not None
        return found[None]
    launch = operands.launch_of(gathers=True)
    parts = -(-d // launch.width)
    splits = launch.splits(n, n, parts)
    out = mine.embeddings.new_empty(1 if mirrored else splits, n, d, dtype=torch.float32)
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
        **constants,
        MIRRORED=mirrored,
        **operands.constants(launch, gathers=True),
    )
    return out
