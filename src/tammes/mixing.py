"""Mixing of hard negatives: further negatives, made for each anchor of those closest to it (MoCHi)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tammes.checks import check_integer


@dataclass(frozen=True, kw_only=True)
class HardMixing:
    """Synthetic negatives of each anchor q, mixed of its hardest negatives n_1, ..., n_N.

        h_k   =  normalize( a n_i + (1 - a) n_j ) ,        a uniform on (0, 1)
        h'_k  =  normalize( b q + (1 - b) n_j ) ,          b uniform on (0, 1/2)

    The negatives i and j are drawn anew for each k. Synthetic negatives are constants: no gradient passes
    through them to the embeddings they are made of. They count as negatives like all others, also in N.

    Args:
        hardest: number N of the hardest negatives that are mixed; all where an anchor has fewer.
        pairs: number of mixtures h of two negatives, for each anchor; at least 0.
        with_anchor: number of mixtures h' of the anchor and a negative; at least 0.

    Raises:
        ValueError: numbers below these, or no mixture at all.

    Source: Kalantidis et al. (2020), sections 4.1 and 4.2; the defaults are their N = 1024, s = 1024 and
    s' = 128 with a queue. Differs: i and j are distinct where there are two; the negatives of a batch are
    mixed too if there is no queue; there is no warm-up without mixtures.

    Example:
        >>> HardMixing(hardest=16, pairs=8, with_anchor=4).count
        12
    """

    hardest: int = 1024
    pairs: int = 1024
    with_anchor: int = 128

    def __post_init__(self) -> None:
        check_integer("hardest", self.hardest)
        check_integer("pairs", self.pairs, minimum=0)
        check_integer("with_anchor", self.with_anchor, minimum=0)
        if self.count == 0:
            raise ValueError("pairs and with_anchor are both 0, so nothing is mixed: leave the mixing out")

    @property
    def count(self) -> int:
        """Number of synthetic negatives of each anchor."""
        return self.pairs + self.with_anchor

    def seed(self, generator: torch.Generator | None) -> int:
        """Return a seed for the mixtures of one call, drawn from `generator` or torch's own."""
        device = None if generator is None else generator.device
        return int(torch.randint(2**62, (), generator=generator, device=device))
