"""Softmax losses of views, whose S is symmetric: a tile above the diagonal serves rows and columns.

    losses = f( sums of the rows of S ) ,        d loss / dZ = (P + P^T) Z ,        P_ij = d loss / d s_ij

A row is complete after all of its tiles, which lie in two directions. So there are two sweeps over the tiles:
the first makes the sums of all rows, from which all losses follow with their derivatives, and the second the
gradient. Together they compute two products of S with the embeddings, and no matrix but a tile. Where the
tiles are few, their exponentials are kept for the second sweep: three quarters of the time of the first.

Views that are spread over W processes share the tiles. A sum over the processes completes the rows, and each
process finds what its tiles contribute to the gradient of any row; the source returns these parts to the
owners of the rows. With its own anchors against all candidates, each would compute 4/W products, not 2/W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.group import Group
from tammes.products import STEP, is_quicker
from tammes.reduce.autograd import Gradients, KnownGradient, through_length
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.softmax import SoftmaxLoss
from tammes.reduce.tiled.fixed_shift import column_factor, computed, range_is_safe, slopes, totals
from tammes.reduce.tiled.tiles import Workspace, embedding_gradients

_SMALLEST = 64
"""Smallest side of a tile."""
_SIDE, _TILES = 512, 8
"""Largest side of a tile, and the tiles that each process gets of a batch large enough."""
_SIDE_OF_ONEDNN, _TILES_OF_ONEDNN = 768, 2
"""The same where oneDNN multiplies, which takes longer to prepare a product and less time for it: fewer and
larger ones."""
_KEPT = 1 << 23
"""Entries of tiles up to which they are kept between the sweeps: 32 MiB in float32, whatever the batch."""


@dataclass(frozen=True, kw_only=True)
class SymmetricSoftmaxLoss:
    """A softmax loss of anchors that are each other's candidates, on one process or on several.

    All processes must call, and all decide alike whether there is a closed form.

    Args:
        loss: the loss.
        negatives: S of all processes, symmetric, without a graph and without a subset.
        group: the processes.
        weight: logarithm of the weights, up to the normalization of each row.
        partner: row of each anchor's only positive.
        own: rows of this process; None for all.
    """

    loss: SoftmaxLoss
    negatives: Negatives
    group: Group
    weight: Exponent
    partner: Int[Tensor, " n"]
    own: Int[Tensor, " own"] | None = None

    def __call__(
        self, views: tuple[Float[Tensor, "batch d"], ...], lengths: Float[Tensor, "n 1"] | None
    ) -> Float[Tensor, ""] | None:
        """Return the mean loss over the anchors of all processes, the same number on each.

        Its gradient is this process' part of the mean's, times the number of processes, as `Group.mean` has
        it: the source returns the parts to the owners of the rows and adds them up.

        Args:
            views: embeddings of all anchors, row i of S in view i mod k; the loss is differentiable in them.
            lengths: lengths by which they were divided to make `negatives`.

        Returns:
            The loss, or None where exponentials of S would need a shift.
        """
        if self.weight.tilt is not None or not range_is_safe(self.negatives, self._exponents):
            return None
        # Known here alone: within a node, no gradient is enabled.
        wanted = torch.is_grad_enabled() and any(view.requires_grad for view in views)

        def evaluate() -> tuple[Tensor, Gradients]:
            mean, found = self._mean(wanted)

            def gradients(gradient: Tensor) -> tuple[Tensor, ...]:
                assert found is not None  # a gradient is asked for only where it was wanted
                rows = through_length(found, self.negatives.anchors, lengths) * gradient
                return rows.view(-1, len(views), rows.shape[1]).unbind(1)

            return mean, gradients

        return KnownGradient.apply(evaluate, False, *views)  # type: ignore[no-untyped-call]

    @cached_property
    def _exponents(self) -> tuple[Exponent, ...]:
        with_logit = self.weight.with_logit(1 / self.loss.temperature)
        return (with_logit,) if self.weight.is_zero else (with_logit, self.weight)

    @property
    def _side(self) -> int:
        rows = self.negatives.anchors
        by_onednn = is_quicker(rows, rows.T)
        side, tiles = (_SIDE_OF_ONEDNN, _TILES_OF_ONEDNN) if by_onednn else (_SIDE, _TILES)
        blocks = (2 * tiles * self.group.size) ** 0.5  # on one side of S
        return min(side, max(_SMALLEST, STEP * math.ceil(self.negatives.shape[0] / blocks / STEP)))

    def _mean(self, wanted: bool) -> tuple[Float[Tensor, ""], Float[Tensor, "n d"] | None]:
        """Return the mean loss and, if wanted, this process' part of its gradient."""
        negatives, exponents, group = self.negatives, self._exponents, self.group
        share = slice(group.rank, None, group.size)
        keep = computed(exponents) if wanted else ()
        workspace = Workspace(negatives, self._side, share, keep=keep, most=_KEPT)
        factors = [column_factor(exponent) for exponent in exponents]
        parts = totals(negatives, exponents, [each for each, _ in factors], workspace)
        sums = list(group.sum(torch.stack(parts)).unbind())
        partners = negatives.anchors.index_select(0, self.partner)
        similarity = (negatives.anchors * partners).sum(dim=1)
        losses, by_sums, by_pair = self.loss.of_sums(sums, similarity, negatives.log_count)
        if not wanted:
            return losses.mean(), None
        scale = group.size / len(losses)
        log_sums = [each.log().add_(largest) for each, (_, largest) in zip(sums, factors, strict=True)]
        by_sums = by_sums * scale
        slope = slopes(negatives, exponents, log_sums, [by_sums, -by_sums])
        found, _ = embedding_gradients(negatives, slope, workspace)
        # s+ of a pair belongs to both of its rows.
        both = (by_pair + by_pair[self.partner]) * (-scale / self.loss.temperature)
        if self.own is None:
            return losses.mean(), found.addcmul_(partners, both[:, None])
        found[self.own] += (partners * both[:, None])[self.own]
        return losses.mean(), found
