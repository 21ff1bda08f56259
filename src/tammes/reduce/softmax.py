"""The softmax loss in closed form: debiased or not, perturbed or not, under any weights.

    loss_i = log( 1 + e^{excess_i} ) ,        excess_i = log Q + log G'_i - l+_i
    G'_i   = max{ (G_i - tau+ e^{l+_i}) / (1 - tau+),  e^floor } ,        G_i = sum_j w_ij e^{l_ij}

That is SimCLR (equal weights, tau+ = 0), DCL, HCL, HCL-OT and IFM. The loss is one node of the graph, from
the rows as the encoder gave them, and its derivatives by log G_i and l+_i are written by hand.

Of a small S, d loss / dS is one matrix: there the time goes into the number of operations and of autograd
nodes, not into their size. A larger S is computed in strips (`Sweep`) if the candidates are not the anchors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.positive_pairs import PositivePairs
from tammes.products import product, product_in
from tammes.reduce.autograd import Gradients, KnownGradient, put, through_length
from tammes.reduce.exponent import Exponent
from tammes.reduce.negatives import Negatives
from tammes.reduce.sweep import Lengths, Rows, Strip, StripLoss, Sweep
from tammes.reduce.terms import LOG2_E, softplus
from tammes.reduce.tiled.fixed_shift import computed, kept_exponentials, range_is_safe


@dataclass(frozen=True, kw_only=True)
class SoftmaxLoss:
    """The closed form with its constants.

    Args:
        temperature: l = s / temperature.
        log_weight: log Q; None for the number of negatives of each anchor.
        limit: whether the loss is log G'_i - l+_i itself, the form for infinitely many negatives.
        class_prior: tau+, the share of false negatives; 0 for no correction.
        floor: smallest logarithm of the corrected mean.
        shift: perturbation in logits, by which negatives rise and positives fall.
        shifted_share: share of the perturbed loss in the result; 0 for no perturbation, 1 for it alone.

    Source: Robinson (2023), eq. 3.1, 3.7, 3.11, 3.12, 3.14 and 4.2; Jiang et al. (2023), eq. 8.
    """

    temperature: float
    log_weight: float | None = None
    limit: bool = False
    class_prior: float = 0.0
    floor: float = -math.inf
    shift: float = 0.0
    shifted_share: float = 0.0

    def __call__(
        self,
        rows: Rows,
        lengths: Lengths,
        negatives: Negatives,
        weight: Exponent,
        positives: PositivePairs,
    ) -> Float[Tensor, ""] | None:
        """Return the mean loss over the anchors, or None where exponentials of S would need a shift.

        Args:
            rows: embeddings as the encoder gave them; the loss is differentiable in them.
            lengths: lengths by which they were divided to make `negatives`.
            negatives: negatives without a graph and without a subset; where the candidates are the anchors,
                of a small S.
            weight: logarithm of the weights, up to the normalization of each row.
            positives: the positive pairs, one for each anchor.

        Example:
            >>> from tammes.pairs import Pairs
            >>> from tammes.reduce import KeyRanges
            >>> rows, ids = torch.eye(4), torch.tensor([0, 0, 1, 1])
            >>> negatives = Negatives(anchors=rows, ranges=KeyRanges(keys=ids), bound=1.0)
            >>> positives = Pairs(anchors=rows, ids=ids).positives()
            >>> loss = SoftmaxLoss(temperature=0.5)
            >>> mean = loss(((rows,), None), (None, None), negatives, Exponent(), positives)
            >>> round(mean.exp().item(), 4)  # all logits are zero
            3.0
        """
        with_logit = weight.with_logit(1 / self.temperature)
        exponents = (with_logit,) if weight.is_zero else (with_logit, weight)
        if weight.tilt is not None or not range_is_safe(negatives, exponents):
            return None
        views, candidates = rows
        if candidates is None or negatives.fits_cache:
            return KnownGradient.apply(  # type: ignore[no-untyped-call]
                lambda: self._mean(lengths, negatives, exponents, positives, len(views)),
                len(views) > 1,
                *(views if candidates is None else (*views, candidates)),
            )
        strips = SoftmaxStrips(exponents=exponents, loss=self, negatives=negatives)
        sweep = Sweep(negatives=negatives, positives=positives, strips=strips)
        return sweep((views[0], candidates), lengths)

    def _mean(
        self,
        lengths: Lengths,
        negatives: Negatives,
        exponents: tuple[Exponent, ...],
        positives: PositivePairs,
        views: int,
    ) -> tuple[Tensor, Gradients]:
        """Return the mean loss, and a function from its gradient to the gradients of the rows."""
        tiles = kept_exponentials(negatives, exponents)
        column = exponents[0].column
        if column is None:
            sums = [tile.sum(dim=1) for tile in tiles]
        else:
            # The same factor in both sums: its scale cancels in their ratio.
            column = torch.exp(column - column.max())
            sums = [tile.mv(column) for tile in tiles]
        similarity = _similarity(negatives, positives)
        losses, to_negatives, to_positives = self.of_sums(sums, similarity, negatives.log_count)

        def gradients(gradient: Tensor) -> tuple[Tensor, ...]:
            # d loss_i / d s_ij = d loss_i / d log G_i * share of j in each sum * slope, times n * temperature
            slope: Tensor | None = None
            for tile, exponent, total, sign in zip(tiles, exponents, sums, (1, -1), strict=False):
                relative = sign * exponent.gradient_slope * self.temperature
                if relative != 0.0:
                    by_row = to_negatives / total
                    factor = _factor(by_row if relative == 1.0 else by_row.mul_(relative), column, symmetric)
                    if slope is not None:
                        slope.addcmul_(factor, tile)
                    else:  # in the memory of the factor, if that has the size of S
                        slope = factor.mul_(tile) if factor.shape == tile.shape else factor * tile
            assert slope is not None  # the logit's own slope is never zero
            by_pair = to_positives.neg()
            if symmetric:
                by_pair += by_pair.take(positives.candidate)
            # The positives' entries are masked in every tile, hence zero so far.
            put(slope, positives.entries, by_pair)
            scale = float(gradient) / (len(losses) * self.temperature)
            unit, others = negatives.anchors, negatives.others
            found = through_length(product(slope, others, scale=scale), unit, lengths[0])
            if symmetric:
                return found.view(-1, views, found.shape[1]).unbind(1)
            return found, through_length(product(slope.T, unit, scale=scale), others, lengths[1])

        symmetric = negatives.symmetric
        return losses.mean(), gradients

    def of_sums(
        self, sums: list[Tensor], similarity: Tensor, log_count: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return `(n,)` losses, d loss / d log G_i and -d loss / d l+_i.

        Args:
            sums: `(n,)` sum_j w_ij e^{l_ij} and, unless the weights are equal, `(n,)` sum_j w_ij.
            similarity: `(n,)` similarities of the positives.
            log_count: `(n,)` logarithms of the numbers of negatives.
        """
        if len(sums) == 1 and self.log_weight is None and self.class_prior == 0 and not self.limit:
            # Q G_i is the plain sum: to subtract log N and add it again would cost digits.
            excess = torch.sub(sums[0].log(), similarity, alpha=1 / self.temperature)
            losses, slope = self._of_excess(excess)
            return losses, slope, slope
        positive = similarity / self.temperature
        log_mean = sums[0].log() - log_count if len(sums) == 1 else (sums[0] / sums[1]).log_()
        against = -positive if self.limit else self._log_weight(log_count) - positive
        if self.class_prior == 0:
            losses, slope = self._of_excess(log_mean + against)
            return losses, slope, slope
        # log (G - tau+ e^{l+}) = log G + log left, with left = 1 - tau+ e^{l+} / G; below zero it has no log.
        left = -torch.expm1(positive - log_mean + math.log(self.class_prior))
        corrected = log_mean + torch.log(left) - math.log1p(-self.class_prior)
        on_floor = ~(corrected > self.floor)  # true for NaN
        losses, slope = self._of_excess(torch.where(on_floor, self.floor, corrected) + against)
        # d corrected / d log G = 1 / left = 1 - d corrected / d l+; on the floor neither has a gradient.
        to_negatives = torch.where(on_floor, 0.0, slope / left)
        return losses, to_negatives, torch.where(on_floor, slope, to_negatives)

    def _log_weight(self, log_count: Tensor) -> Tensor | float:
        return log_count if self.log_weight is None else self.log_weight

    def _of_excess(self, excess: Tensor) -> tuple[Tensor, Tensor]:
        """Return `(n,)` losses and their derivatives by the excess."""
        if self.limit:
            return excess + 2 * self.shift * self.shifted_share, torch.ones_like(excess)
        # Means and floor rise by the shift and the positive falls by it: the excess grows by two shifts.
        if self.shifted_share == 1:
            excess = excess + 2 * self.shift
        losses, slope = softplus(excess), torch.sigmoid(excess)
        if self.shifted_share in (0, 1):
            return losses, slope
        shifted = excess + 2 * self.shift
        return (
            losses.lerp(softplus(shifted), self.shifted_share),
            slope.lerp(torch.sigmoid(shifted), self.shifted_share),
        )


@dataclass(frozen=True, kw_only=True)
class SoftmaxStrips(StripLoss):
    """The softmax loss on strips of S.

    Args:
        exponents: exponents of w_ij e^{l_ij} and, unless the weights are equal, of w_ij.
        loss: the loss.
        negatives: S, whose candidates are not the anchors.
    """

    exponents: tuple[Exponent, ...]
    loss: SoftmaxLoss
    negatives: Negatives

    @property
    @override
    def tiles(self) -> int:
        return len(self.exponents)

    @override
    def evaluate(self, rows: slice, tiles: list[Tensor], positives: Tensor) -> Strip:
        similarity = self._write_exponentials(rows, tiles, positives)
        column = self.column
        sums = [tile.sum(dim=1) if column is None else tile.mv(column) for tile in tiles]
        losses, to_negatives, to_positives = self.loss.of_sums(
            sums, similarity, self.negatives.log_count[rows]
        )
        # d loss_i / d log G_i * the sum over both exponents of +- slope e^x / (sum of its row)
        slopes = [each.gradient_slope for each in self.exponents]
        slope, by_row = tiles[0], (to_negatives / sums[0]).mul_(slopes[0])
        if len(tiles) == 2 and slopes[1] != 0.0:
            ratio = (sums[0] / sums[1]).mul_(-slopes[1] / slopes[0])
            slope.addcmul_(tiles[1], ratio[:, None])
        slope.mul_(by_row[:, None])
        if column is not None:
            slope.mul_(column)
        return Strip(losses=losses, slope=slope, by_pair=to_positives * (-1 / self.loss.temperature))

    @cached_property
    def column(self) -> Float[Tensor, " m"] | None:
        """Factor of each candidate in both sums, whose scale cancels; None for ones."""
        column = self.exponents[0].column
        return None if column is None else torch.exp(column - column.max())

    def _write_exponentials(self, rows: slice, tiles: list[Tensor], positives: Tensor) -> Tensor:
        """Write e^{x_ij} without its column to a tile for each exponent, zero where no negative stands.

        Returns:
            `(r,)` similarities of the positives.
        """
        negatives, columns = self.negatives, slice(0, self.negatives.shape[1])
        anchors = negatives.anchors[rows]
        slopes = [each.slope * LOG2_E for each in self.exponents]
        one = len(computed(self.exponents)) == 1
        # Of one exponential, that of the last exponent, the product scales for free.
        alpha = slopes[-1] if one else 1.0
        tiles[-1] = last = product_in(tiles[-1], anchors, negatives.others.T, scale=alpha)
        similarity = last.take(positives).div_(alpha)
        if not one:
            negatives.without(torch.mul(last, slopes[0], out=tiles[0]).exp2_(), rows, columns, 0.0)
            last.mul_(slopes[1])
        negatives.without(last.exp2_(), rows, columns, 0.0)
        if one and len(tiles) == 2:
            torch.mul(last, last, out=tiles[0])
        return similarity


def _factor(by_row: Tensor, column: Tensor | None, symmetric: bool) -> Tensor:
    """Return by_row_i column_j, plus its transpose for a symmetric S: s_ij and s_ji are one number.

    As a sum of vectors: to add a transposed matrix would take ten times as long.
    """
    if column is None:
        return by_row[:, None] + by_row if symmetric else by_row[:, None]
    factor = torch.outer(by_row, column)
    return factor.addr_(column, by_row) if symmetric else factor


def _similarity(negatives: Negatives, positives: PositivePairs) -> Float[Tensor, " n"]:
    """Return `(n,)` similarities of the anchors and their only positives."""
    if negatives.fits_cache:
        return torch.take(negatives.kept_similarity, positives.entries)
    return (negatives.anchors * negatives.others.index_select(0, positives.candidate)).sum(dim=1)
