"""Expectations of a pointwise term under the weights, and the hardest negative, on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.exponent import Exponent
from tammes.reduce.terms import LOG2_E, Term
from tammes.reduce.triton.operands import MOST_PARTS, Operands, Sweep
from tammes.reduce.triton.running_maximum import bias, coded_tilt


@dataclass(frozen=True, kw_only=True)
class Mean:
    """Term to average, and its weights, as `Engine.expectation` takes them."""

    weight: Exponent
    log_total: Float[Tensor, " n"]
    term: Term
    scale: float


def means(
    operands: Operands, mean: Mean, offsets: Float[Tensor, "n p"]
) -> tuple[Float[Tensor, "n p"], Float[Tensor, "n p"], Float[Tensor, "n p"]]:
    """Return the means of the term and of its derivative, and the sums of the weights.

    Raises:
        ValueError: for more than 65,535 offsets of an anchor.
    """
    from tammes.reduce.triton.kernels import expectation as kernels

    if offsets.shape[1] > MOST_PARTS:
        raise ValueError(
            f"expected at most {MOST_PARTS:,} positives of an anchor, which is what the kernels can number, "
            f"got {offsets.shape[1]:,}: give the objective an engine=Tiled(), or a smaller batch"
        )
    sweep, weight = operands.rows(parts=offsets.shape[1]), mean.weight
    found = sweep.empty(*offsets.shape)
    derivatives, masses = torch.empty_like(found), torch.empty_like(found)
    code, first, second = coded_tilt(weight.tilt)
    kernels.row_means[sweep.grid](
        *sweep.tensors,
        mean.log_total * LOG2_E,
        offsets.contiguous(),
        bias(operands, weight),
        weight.slope * LOG2_E,
        first,
        second,
        mean.scale,
        *mean.term.parameters,
        found,
        derivatives,
        masses,
        *sweep.sizes,
        offsets.shape[1],
        TILT=code,
        BIASED=weight.column is not None,
        TERM=mean.term.code,
        **sweep.constants,
    )
    # A long exponent has few digits after the point, so log_total is too coarse to normalize by.
    mass = masses.sum(dim=0)
    return found.sum(dim=0) / mass, derivatives.sum(dim=0) / mass, mass


def gradients(
    operands: Operands,
    mean: Mean,
    offsets: Float[Tensor, "n p"],
    found: Float[Tensor, "n p"],
    by_means: Float[Tensor, "n p"],
    *,
    wanted: tuple[bool, ...],
) -> tuple[Tensor | None, Tensor | None]:
    """Return d loss / d anchors and d loss / d candidates.

    Args:
        operands: both sides of S.
        mean: term and weights.
        offsets: offsets of the term.
        found: the means.
        by_means: d loss / d means, divided by the sums of the weights.
        wanted: whether the anchors, and the candidates, want a gradient.
    """
    from tammes.reduce.triton.kernels import expectation as kernels

    weight = mean.weight
    code, first, second = coded_tilt(weight.tilt)

    def run(sweep: Sweep, out: Tensor) -> None:
        kernel = kernels.mean_gradient if sweep.gathers else kernels.strip_of_mean_slopes
        kernel[sweep.grid](
            *sweep.tensors,
            mean.log_total * LOG2_E,
            offsets.contiguous(),
            found,
            by_means.contiguous(),
            bias(operands, weight),
            weight.slope * LOG2_E,
            weight.gradient_slope,
            first,
            second,
            mean.scale,
            *mean.term.parameters,
            out,
            offsets.shape[1],
            *sweep.sizes,
            TILT=code,
            CURVED=weight.tilt_has_gradient,
            FLOWS=weight.has_gradient,
            BIASED=weight.column is not None,
            TERM=mean.term.code,
            **sweep.constants,
        )

    return operands.gradients(run, wanted=wanted)


def hardest(operands: Operands) -> Int[Tensor, " n"]:
    """Return the negative of largest similarity for each anchor."""
    from tammes.reduce.triton.kernels.hardest import row_hardest

    sweep = operands.rows()
    largest = sweep.empty(sweep.sizes[0])
    where = torch.empty_like(largest, dtype=torch.int32)
    row_hardest[sweep.grid](*sweep.tensors, largest, where, *sweep.sizes, **sweep.constants)
    return where.gather(0, largest.argmax(dim=0, keepdim=True))[0].long()
