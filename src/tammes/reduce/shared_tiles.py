"""Softmax losses of views that are spread over processes, which share the tiles of S.

All candidates are anchors of some process, so that S is symmetric, as on one process with the whole batch.
Each process evaluates some of the tiles on and above the diagonal, for the rows and for the columns of a
tile. A sum over the processes makes the sums of all rows; a process then knows the loss of every anchor, and
finds what its tiles contribute to the gradient of any row. The source returns these parts to the owners of
the rows. So W processes compute two products of S with the embeddings together, as one process alone does;
with its own anchors against all candidates, each would compute 4/W.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.group import Group
from tammes.reduce.autograd import Gradients, KnownGradient, through_length
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.softmax import SoftmaxLoss
from tammes.reduce.tiled.fixed_shift import column_factor, range_is_safe, slopes, totals
from tammes.reduce.tiled.tiles import embedding_gradients

_SIDE, _SMALLEST, _TILES = 512, 64, 8
"""Largest and smallest side of a tile, and the tiles that each process gets of a batch large enough."""


@dataclass(frozen=True, kw_only=True)
class SharedSoftmaxLoss:
    """A softmax loss of the anchors of several processes.

    All processes must call, and all decide alike whether there is a closed form.

    Args:
        loss: the loss.
        everyone: anchors of all processes, symmetric, without a graph and without a subset.
        group: the processes.
        weight: logarithm of the weights, up to the normalization of each row.
        partner: row of each anchor's only positive.
        own: rows of this process.
    """

    loss: SoftmaxLoss
    everyone: Negatives
    group: Group
    weight: Exponent
    partner: Int[Tensor, " m"]
    own: Int[Tensor, " n"]

    def __call__(
        self, rows: Float[Tensor, "m d"], lengths: Float[Tensor, "m 1"] | None
    ) -> Float[Tensor, ""] | None:
        """Return the mean loss over the anchors of all processes, the same number on each.

        Its gradient is this process' part of the mean's, times the number of processes, as `Group.mean` has
        it: the source returns the parts to the owners of the rows and adds them up.

        Args:
            rows: anchors of all processes; the loss is differentiable in them.
            lengths: lengths by which they were divided to make `everyone`.

        Returns:
            The loss, or None where exponentials of S would need a shift.
        """
        if self.weight.tilt is not None or not range_is_safe(self.everyone, self._exponents):
            return None

        def evaluate() -> tuple[Tensor, Gradients]:
            mean, by_sums, by_pair, log_sums = self._evaluated()

            def gradients(gradient: Tensor) -> tuple[Tensor, ...]:
                found = self._gradient(by_sums, by_pair, log_sums)
                return (through_length(found, self.everyone.anchors, lengths) * gradient,)

            return mean, gradients

        return KnownGradient.apply(evaluate, False, rows)  # type: ignore[no-untyped-call]

    @cached_property
    def _exponents(self) -> tuple[Exponent, ...]:
        with_logit = self.weight.with_logit(1 / self.loss.temperature)
        return (with_logit,) if self.weight.is_zero else (with_logit, self.weight)

    @property
    def _side(self) -> int:
        blocks = (2 * _TILES * self.group.size) ** 0.5  # on one side of S
        return min(_SIDE, max(_SMALLEST, round(self.everyone.shape[0] / blocks)))

    @property
    def _share(self) -> slice:
        return slice(self.group.rank, None, self.group.size)

    def _evaluated(self) -> tuple[Tensor, Tensor, Tensor, list[Tensor]]:
        """Return the mean loss, d loss_i / d log G_i, d loss_i / d s+_i, and the log-sum-exps of all rows."""
        everyone = self.everyone
        factors = [column_factor(exponent) for exponent in self._exponents]
        parts = totals(everyone, self._exponents, [each for each, _ in factors], self._side, self._share)
        sums = list(self.group.sum(torch.stack(parts)).unbind())
        similarity = (everyone.anchors * everyone.anchors[self.partner]).sum(dim=1)
        losses, to_negatives, to_positives = self.loss.of_sums(sums, similarity, everyone.log_count)
        log_sums = [each.log().add_(largest) for each, (_, largest) in zip(sums, factors, strict=True)]
        return losses.mean(), to_negatives, to_positives / -self.loss.temperature, log_sums

    def _gradient(self, by_sums: Tensor, by_pair: Tensor, log_sums: list[Tensor]) -> Float[Tensor, "m d"]:
        """Return this process' part of the gradient: that of its tiles, and of the positives of its rows."""
        everyone, own, partner = self.everyone, self.own, self.partner
        scale = self.group.size / everyone.shape[0]
        by_sums, by_pair = by_sums * scale, by_pair * scale
        slope = slopes(everyone, self._exponents, log_sums, [by_sums, -by_sums])
        found, _ = embedding_gradients(everyone, slope, self._side, self._share)
        # s+ of a pair belongs to both of its rows.
        both = by_pair[own] + by_pair[partner[own]]
        found[own] += both[:, None] * everyone.anchors[partner[own]]
        return found
