"""Softmax losses of anchors that are spread over processes, each of which finds the gradient of its own rows.

    d loss / d s_ij  =  sum_r e^{x_rij} (left_ri + left_rj) ,        left_ri = d loss_i / d x_rij / e^{x_rij}

Every candidate is an anchor of some process, and s_ij = s_ji. So a process that knows the numbers left_j of
the others' anchors knows how their losses depend on its own rows, too. The processes exchange these numbers,
two or three for each row, instead of the gradients of all candidates: a process computes its strips of S
twice and multiplies them with the candidates once, three products instead of four, and holds no gradient but
that of its own rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.pairs import PositivePairs
from tammes.reduce.autograd import Gradients, KnownGradient, through_length
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.softmax import SoftmaxLoss, SoftmaxStrips
from tammes.reduce.sweep import positions, strips
from tammes.reduce.tiled.fixed_shift import range_is_safe


@dataclass(frozen=True, kw_only=True)
class GatheredSoftmaxLoss:
    """A softmax loss of the anchors of several processes.

    All processes must call, and all decide alike whether there is a closed form.

    Args:
        loss: the loss.
        negatives: this process' anchors among those of all, without a graph and without a subset.
        weight: logarithm of the weights, up to the normalization of each row.
        positives: the positive pairs; of all anchors of all processes, each has one.
    """

    loss: SoftmaxLoss
    negatives: Negatives
    weight: Exponent
    positives: PositivePairs

    def __call__(
        self, rows: Float[Tensor, "n d"], lengths: Float[Tensor, "n 1"] | None
    ) -> Float[Tensor, ""] | None:
        """Return the mean loss over the anchors of all processes, the same number on each.

        Its gradient is that of the mean times the number of processes, as `Group.mean` has it.

        Args:
            rows: this process' anchors as the encoder gave them; the loss is differentiable in them.
            lengths: lengths by which they were divided to make `negatives`.

        Returns:
            The loss, or None where exponentials of S would need a shift, or the weights have columns.
        """
        weight, negatives = self.weight, self.negatives
        with_logit = weight.with_logit(1 / self.loss.temperature)
        exponents = (with_logit,) if weight.is_zero else (with_logit, weight)
        if weight.tilt is not None or weight.column is not None or not range_is_safe(negatives, exponents):
            return None
        part = SoftmaxStrips(exponents=exponents, loss=self.loss, negatives=negatives)

        def evaluate() -> tuple[Tensor, Gradients]:
            mean, known = self._exchanged(part)

            def gradients(gradient: Tensor) -> tuple[Tensor | None, ...]:
                found = self._gradient(part, known)
                return (through_length(found, negatives.anchors, lengths) * gradient,)

            return mean, gradients

        return KnownGradient.apply(evaluate, False, rows)  # type: ignore[no-untyped-call]

    def _exchanged(self, part: SoftmaxStrips) -> tuple[Tensor, Float[Tensor, "m k"]]:
        """Return the mean loss, and `left` of each exponent and d loss_i / d s+_i of all anchors."""
        negatives = self.negatives
        assert negatives.own is not None
        columns = []
        for rows, tiles in strips(negatives, part.tiles):
            similarity = part.write_exponentials(rows, tiles, positions(self.positives, rows))
            sums = [tile.sum(dim=1) for tile in tiles]
            losses, to_negatives, to_positives = self.loss.of_sums(
                sums, similarity, negatives.log_count[rows]
            )
            left = [
                to_negatives / total * (sign * exponent.gradient_slope)
                for exponent, total, sign in zip(part.exponents, sums, (1, -1), strict=False)
            ]
            columns.append(torch.stack([losses, to_positives / -self.loss.temperature, *left], dim=1))
        own = torch.cat(columns)
        # Every anchor has its place among the candidates, so that a sum over the processes gathers them.
        everyone = own.new_zeros(negatives.shape[1], own.shape[1])
        everyone[negatives.own] = own
        everyone = negatives.group.sum(everyone)
        return everyone[:, 0].mean(), everyone[:, 1:]

    def _gradient(self, part: SoftmaxStrips, known: Float[Tensor, "m k"]) -> Float[Tensor, "n d"]:
        """Return the gradient of the own rows, as anchors and as candidates of all anchors."""
        negatives = self.negatives
        assert negatives.own is not None
        by_pair, *lefts = known.unbind(1)
        own_pair, *own_lefts = known[negatives.own].unbind(1)
        by_pair = own_pair + by_pair[self.positives.candidate]
        found = torch.empty_like(negatives.anchors)
        scale = negatives.group.size / negatives.shape[1]
        for rows, tiles in strips(negatives, part.tiles + 1):
            place = positions(self.positives, rows)
            part.write_exponentials(rows, tiles, place)
            *tiles, factor = tiles
            total: Tensor | None = None
            for tile, left, own in zip(tiles, lefts, own_lefts, strict=True):
                tile.mul_(torch.add(own[rows, None], left, out=factor))
                total = tile if total is None else total.add_(tile)
            assert total is not None
            total.put_(place, by_pair[rows])
            into = found[rows]
            torch.addmm(into, total, negatives.others, beta=0, alpha=scale, out=into)
        return found
