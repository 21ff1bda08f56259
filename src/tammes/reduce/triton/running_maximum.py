"""Log-sum-exps of exponents of any range and form on a GPU: a running maximum for every row.

S is swept in full, by rows, for the sums, and once more for each side that wants a gradient. A GPU computes
powers of two: the kernels take exponents, and return log-sum-exps, in units of log 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.terms import LOG2_E, Term
from tammes.reduce.triton.operands import Operands, Sweep


@dataclass(frozen=True, kw_only=True)
class Coded:
    """Exponents as the kernels read them: numbers in tuples, and the codes that decide how they compile."""

    slopes: tuple[float, ...]
    firsts: tuple[float, ...]
    seconds: tuple[float, ...]
    tilts: tuple[int, ...]

    @staticmethod
    def of(exponents: tuple[Exponent, ...]) -> Coded:
        """Return the slopes in units of log 2, and the parameters of the tilts in their own."""
        codes = [coded_tilt(each.tilt) for each in exponents]
        return Coded(
            slopes=tuple(each.slope * LOG2_E for each in exponents),
            firsts=tuple(first for _, first, _ in codes),
            seconds=tuple(second for _, _, second in codes),
            tilts=tuple(code for code, _, _ in codes),
        )


def coded_tilt(tilt: object) -> tuple[int, float, float]:
    """Return the code of a known term and its two numbers; zeros for no tilt."""
    if tilt is None:
        return 0, 0.0, 0.0
    assert isinstance(tilt, Term)
    return tilt.code, *tilt.parameters


def bias(operands: Operands, exponent: Exponent) -> Tensor:
    """Return what is added to each column, in units of log 2."""
    return operands.nothing if exponent.column is None else exponent.column.detach() * LOG2_E


def log_sums(operands: Operands, exponents: tuple[Exponent, ...]) -> Float[Tensor, "r n"]:
    """Return log sum_j e^{x_rij}."""
    from tammes.reduce.triton.kernels import running_maximum as kernels

    sweep, coded = operands.rows(), Coded.of(exponents)
    out = sweep.empty(len(exponents), sweep.sizes[0])
    kernels.row_log_sums[sweep.grid](
        *sweep.tensors,
        coded.slopes,
        coded.firsts,
        coded.seconds,
        tuple(bias(operands, each) for each in exponents),
        out,
        *sweep.sizes,
        COUNT=len(exponents),
        TILTS=coded.tilts,
        BIASED=tuple(each.column is not None for each in exponents),
        **sweep.constants,
    )
    return torch.logsumexp(out / LOG2_E, dim=0)


def gradients(
    operands: Operands,
    exponents: tuple[Exponent, ...],
    sums: Float[Tensor, "r n"],
    by_sums: Float[Tensor, "r n"],
    *,
    wanted: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    """Return d loss / d anchors and d loss / d candidates, from d loss / d sums."""
    from tammes.reduce.triton.kernels import running_maximum as kernels

    live = [r for r, exponent in enumerate(exponents) if exponent.has_gradient]
    if len(live) < len(exponents):
        exponents = tuple(exponents[r] for r in live)
        sums, by_sums = sums[live], by_sums[live]
    sums, by_sums = sums * LOG2_E, by_sums.contiguous()
    coded = Coded.of(exponents)

    def run(sweep: Sweep, out: Tensor) -> None:
        if not exponents:
            out.zero_()
            return
        kernel = kernels.log_sum_gradient if sweep.gathers else kernels.strip_of_log_sum_slopes
        kernel[sweep.grid](
            *sweep.tensors,
            sums,
            by_sums,
            coded.slopes,
            tuple(each.gradient_slope for each in exponents),
            coded.firsts,
            coded.seconds,
            tuple(bias(operands, each) for each in exponents),
            out,
            *sweep.sizes,
            COUNT=len(exponents),
            TILTS=coded.tilts,
            CURVED=tuple(each.tilt_has_gradient for each in exponents),
            BIASED=tuple(each.column is not None for each in exponents),
            **sweep.constants,
        )

    return operands.gradients(run, wanted=wanted)
