"""Losses over other candidates than the anchors: value and gradient in one sweep over S.

    P_ij = d loss / d s_ij ,        d loss / d anchors = P B ,        d loss / d candidates = P^T A

S is computed in strips, of some anchors and all candidates. With its strip, everything is known that the loss
of an anchor depends on, its derivatives too. So the gradient is made before the strip is dropped: three
products with the embeddings, where a backward pass of its own would compute S a second time. The price is
that the gradient stays in memory until the backward pass.

That needs rows that are complete. Where the candidates are the anchors, s_ij belongs to rows i and j, and to
use the symmetry saves more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.positive_pairs import PositivePairs
from tammes.products import STEP, TransposedSum, add_product, is_quicker
from tammes.reduce.autograd import Gradients, KnownGradient, put, through_length
from tammes.reduce.negatives import Negatives

_ENTRIES, _ENTRIES_OF_MKL, _FEWEST_ROWS = 512 * 512, 1024 * 1024, 256
"""Entries of a strip, which stay in a processor's cache, for oneDNN and for MKL, which is quicker with large
products; rows below which a product is slower by half."""
Rows = tuple[tuple[Float[Tensor, "batch d"], ...], Float[Tensor, "m d"] | None]
"""Views of the anchors, and rows of the candidates, None where the candidates are the anchors."""
Lengths = tuple[Float[Tensor, "n 1"] | None, Float[Tensor, "m 1"] | None]
"""Lengths by which the rows were divided, None where they were not."""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Losses of some anchors and their derivatives.

    Args:
        losses: losses.
        slope: d loss_i / d s_ij in the memory of a tile; zero where no negative stands.
        by_pair: d loss_i / d s+_i, by the similarity of the positive.
    """

    losses: Float[Tensor, " r"]
    slope: Float[Tensor, "r m"]
    by_pair: Float[Tensor, " r"]


class StripLoss(ABC):
    """Loss of an anchor as a function of its similarities."""

    @property
    @abstractmethod
    def tiles(self) -> int:
        """Number of tiles that the evaluation of a strip takes."""

    @abstractmethod
    def evaluate(self, rows: slice, tiles: list[Tensor], positives: Int[Tensor, " r"]) -> Strip:
        """Return the losses of some anchors and their derivatives.

        Args:
            rows: the anchors.
            tiles: memory of the strip's shape, to write to.
            positives: positions of the positives in the strip, row by row.
        """


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep over S that finds the mean loss and its gradient.

    Args:
        negatives: S, without a graph, whose candidates are not the anchors.
        positives: the positive pairs, one for each anchor.
        strips: the loss.
    """

    negatives: Negatives
    positives: PositivePairs
    strips: StripLoss

    def __call__(self, rows: tuple[Tensor, Tensor], lengths: Lengths) -> Float[Tensor, ""]:
        """Return the mean loss, differentiable in the rows.

        Args:
            rows: anchors and candidates as the encoder gave them.
            lengths: lengths by which they were divided to make `negatives`.
        """
        # Known here alone: within a node, no gradient is enabled.
        anchors, candidates = (torch.is_grad_enabled() and each.requires_grad for each in rows)
        units = self.negatives.anchors, self.negatives.others

        def evaluate() -> tuple[Tensor, Gradients]:
            mean, found = self.mean(wanted=(anchors, candidates))
            return mean, lambda gradient: tuple(
                None if each is None else through_length(each, unit, length) * gradient
                for each, unit, length in zip(found, units, lengths, strict=True)
            )

        return KnownGradient.apply(evaluate, False, *rows)  # type: ignore[no-untyped-call]

    def mean(
        self, *, wanted: tuple[bool, bool]
    ) -> tuple[Float[Tensor, ""], tuple[Tensor | None, Tensor | None]]:
        """Return the mean loss, and its gradients by anchors and candidates.

        Args:
            wanted: whether the gradients by anchors and by candidates are computed; else they are None.
        """
        anchors, others = self.negatives.anchors, self.negatives.others
        to_anchors = torch.zeros_like(anchors) if wanted[0] else None
        to_others = torch.zeros_like(others) if wanted[1] else None
        of_others = None if to_others is None else TransposedSum(anchors, to_others)
        losses = []
        for rows, tiles in self._strips():
            positives = self.positives.entries[rows] - rows.start * len(others)
            found = self.strips.evaluate(rows, tiles, positives)
            losses.append(found.losses)
            slope = put(found.slope, positives, found.by_pair)
            if to_anchors is not None:
                add_product(to_anchors[rows], slope, others)
            if of_others is not None:
                of_others.add(slope, rows, slice(0, len(others)))
        if of_others is not None:
            of_others.finish()
        for sum_of_losses in (to_anchors, to_others):
            if sum_of_losses is not None:
                sum_of_losses.div_(len(anchors))  # the mean's
        return torch.cat(losses).mean(), (to_anchors, to_others)

    def _strips(self) -> Iterator[tuple[slice, list[Tensor]]]:
        """Yield the rows of each strip and its tiles, in memory that the next strip overwrites."""
        n, m = self.negatives.shape
        by_onednn = is_quicker(self.negatives.anchors[:_FEWEST_ROWS], self.negatives.others.T)
        entries = _ENTRIES if by_onednn else _ENTRIES_OF_MKL
        height = min(n, max(_FEWEST_ROWS, entries // m // STEP * STEP))
        memory = [self.negatives.anchors.new_empty(height * m) for _ in range(self.strips.tiles)]
        for begin in range(0, n, height):
            rows = slice(begin, min(begin + height, n))
            tiles = [each[: (rows.stop - begin) * m] for each in memory]
            if is_quicker(self.negatives.anchors[rows], self.negatives.others.T):
                yield rows, [each.view(-1, m) for each in tiles]
            else:  # candidate by candidate: MKL gives a product that is higher than wide to more threads
                yield rows, [each.view(m, -1).T for each in tiles]
