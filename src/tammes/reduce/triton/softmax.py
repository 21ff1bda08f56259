"""Softmax losses of views on a GPU: one node of the graph, two kernels for S, and two for all that remains.

The general evaluation takes some 40 operations on vectors of n numbers around the kernels. Each costs the
host a launch, and for small batches launches take longer than the kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.autograd import Gradients
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.softmax import SoftmaxLoss
from tammes.reduce.triton.fixed_shift import Shifted, partial_gradients, partial_sums, range_is_safe
from tammes.reduce.triton.operands import Operands

_ROWS, _DEPTH = 32, 64
"""Rows and features that a program takes at a time; these kernels only wait for memory."""


@dataclass(frozen=True, kw_only=True)
class FusedSoftmax:
    """A softmax loss over a symmetric S, each anchor with one positive.

    Args:
        loss: the loss with its constants.
        negatives: S, without a graph.
        operands: the embeddings as the kernels read them.
        exponents: exponents of w_ij e^{l_ij} and, unless the weights are equal, of w_ij.
        partners: `(n,)` the only positive of each anchor.
        lengths: `(n, 1)` lengths by which the embeddings were divided; None where they were not.
        mirrored: whether the backward pass takes half of the tiles, and atomics.
    """

    loss: SoftmaxLoss
    negatives: Negatives
    operands: Operands
    exponents: tuple[Exponent, ...]
    partners: Int[Tensor, " n"]
    lengths: Float[Tensor, "n 1"] | None
    mirrored: bool

    @staticmethod
    def exponents_of(
        loss: SoftmaxLoss, negatives: Negatives, weight: Exponent
    ) -> tuple[Exponent, ...] | None:
        """Return the exponents of a loss; None where their range or their form needs the general kernels."""
        with_logit = weight.with_logit(1 / loss.temperature)
        exponents = (with_logit,) if weight.is_zero else (with_logit, weight)
        plain = weight.tilt is None and weight.column is None
        return exponents if plain and range_is_safe(negatives, exponents) else None

    def mean(self, views: int) -> tuple[Float[Tensor, ""], Gradients]:
        """Return the mean loss, and a function from its gradient to the gradients of the views.

        Args:
            views: number of views whose rows stand side by side.
        """
        from tammes.reduce.triton.kernels.softmax import softmax_rows

        loss, values = self.loss, self.negatives.anchors
        n, d = values.shape
        shifted = Shifted.of_logits(self.exponents)
        nothing = (self.operands.nothing,) * len(self.exponents)
        sums = partial_sums(self.operands, self.exponents, shifted, nothing)
        slopes = tuple(
            sign * each.gradient_slope for sign, each in zip((1.0, -1.0), self.exponents, strict=False)
        )
        live = tuple(each for each in self.exponents if each.gradient_slope != 0.0)
        losses, by_pairs = values.new_empty(n), values.new_empty(n)
        lefts = values.new_empty(len(live), n)
        prior = loss.class_prior
        softmax_rows[(-(-n // _ROWS),)](
            sums,
            values,
            self.partners,
            self.negatives.log_count,
            losses,
            lefts,
            by_pairs,
            slopes,
            1 / loss.temperature,
            0.0 if loss.log_weight is None else loss.log_weight,
            math.log(prior) if prior else 0.0,
            math.log1p(-prior),
            loss.floor,
            loss.shift,
            loss.shifted_share,
            n,
            d,
            len(sums),
            COUNT=len(self.exponents),
            LIVE=len(live),
            WEIGHTED=loss.log_weight is not None,
            LIMIT=loss.limit,
            DEBIASED=prior != 0,
            SHIFTED=loss.shifted_share != 0,
            ROWS=_ROWS,
            DEPTH=_DEPTH,
            enable_fp_fusion=True,  # Triton 3.9 asks to say so
        )
        return losses.mean(), lambda gradient: self._gradients(gradient, live, lefts, by_pairs, views)

    def _gradients(
        self,
        gradient: Float[Tensor, ""],
        live: tuple[Exponent, ...],
        lefts: Float[Tensor, "r n"],
        by_pairs: Float[Tensor, " n"],
        views: int,
    ) -> tuple[Tensor, ...]:
        """Return the gradient of each view."""
        from tammes.reduce.triton.kernels.softmax import row_gradients

        values = self.negatives.anchors
        n, d = values.shape
        nothing = (self.operands.nothing,) * len(live)
        shifted = Shifted.of_logits(live)
        found = partial_gradients(self.operands, live, shifted, nothing, lefts, mirrored=self.mirrored)
        out = torch.empty_like(values)
        row_gradients[(-(-n // _ROWS),)](
            found,
            values,
            values if self.lengths is None else self.lengths,
            self.partners,
            by_pairs,
            gradient,
            out,
            n,
            d,
            found.shape[2],
            len(found),
            views,
            UNIT=self.lengths is not None,
            ROWS=_ROWS,
            DEPTH=_DEPTH,
            enable_fp_fusion=True,
        )
        return out.view(views, n // views, d).unbind()
