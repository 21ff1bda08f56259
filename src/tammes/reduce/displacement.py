"""Moves of candidates in the plane that each spans with an anchor, and similarities after them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

Entries = Float[Tensor, "*entries"]
"""Numbers of pairs of an anchor and a candidate: a block of S, or a list of pairs."""


class Displacement(ABC):
    """Move delta_ij = a_ij v_i + b_ij z_j of candidate j for anchor i, both unit vectors.

    A move is a constant: no gradient passes through it.
    """

    of_raw: ClassVar[bool]
    """Whether it moves a candidate as the encoder gave it; otherwise the candidate at unit length."""

    @abstractmethod
    def coefficients(
        self, similarity: Entries, lengths: Tensor, sign: float
    ) -> tuple[Tensor | float, Tensor | float]:
        """Return a_ij and b_ij.

        Args:
            similarity: v_i . z_j, without graph.
            lengths: length of each candidate before the move; 1 unless `of_raw`.
            sign: 1 towards the anchor, as negatives move, -1 away from it.
        """


@dataclass(frozen=True, kw_only=True)
class AlongAnchor(Displacement):
    """delta_ij = +- epsilon v_i.

    Example:
        >>> AlongAnchor(epsilon=0.5).coefficients(torch.zeros(1), torch.ones(1), -1.0)
        (-0.5, 0.0)
    """

    epsilon: float
    of_raw: ClassVar[bool] = False

    @override
    def coefficients(self, similarity: Entries, lengths: Tensor, sign: float) -> tuple[float, float]:
        return sign * self.epsilon, 0.0


@dataclass(frozen=True, kw_only=True)
class TowardsAnchor(Displacement):
    """Sum of steps +- epsilon / steps (v - cos(u, v) u / |u|), along the gradient of the cosine at u.

    With u = a v + b z each step stays in the plane of v and z, so that two numbers describe it.

    Example:
        >>> a, b = TowardsAnchor(epsilon=0.5, steps=1).coefficients(torch.tensor(0.0), torch.tensor(2.0), 1.0)
        >>> a.item(), b.item()
        (0.5, 0.0)
    """

    epsilon: float
    steps: int
    of_raw: ClassVar[bool] = True

    @override
    def coefficients(self, similarity: Entries, lengths: Tensor, sign: float) -> tuple[Tensor, Tensor]:
        step = sign * self.epsilon / self.steps
        a, b = torch.zeros_like(similarity), lengths.expand_as(similarity)
        for _ in range(self.steps):
            along = a + b * similarity  # v . u
            squared = a * a + b * b + 2 * a * b * similarity  # |u|^2
            back = step * along / squared
            a, b = a + step - back * a, b - back * b
        return a, b - lengths


@dataclass(frozen=True, kw_only=True)
class Movable:
    """Anchors and candidates between which moved similarities are taken.

    Args:
        displacement: the move.
        anchors: `(n, d)` unit vectors, in the graph.
        base: `(m, d)` candidates before the move, in the graph: unit vectors, or raw if the move is of these.
        unit: `(m, d)` candidates at unit length, without a graph.
        lengths: `(m,)` lengths of `base`, without a graph.
    """

    displacement: Displacement
    anchors: Float[Tensor, "n d"]
    base: Float[Tensor, "m d"]
    unit: Float[Tensor, "m d"]
    lengths: Float[Tensor, " m"]

    def block(self, rows: slice, sign: float) -> Float[Tensor, "r m"]:
        """Return the similarities of some anchors to all moved candidates."""
        return self._similarity(self.anchors[rows], slice(None), lambda x, y: x @ y.T, sign)

    def pairs(
        self, anchor: Int[Tensor, " e"], candidate: Int[Tensor, " e"], sign: float
    ) -> Float[Tensor, " e"]:
        """Return the similarity of each listed pair after the candidate's move."""
        return self._similarity(self.anchors[anchor], candidate, lambda x, y: (x * y).sum(dim=1), sign)

    def without_graph(self) -> Movable:
        """Return the same embeddings, cut from their graph."""
        return replace(self, anchors=self.anchors.detach(), base=self.base.detach())

    def _similarity(
        self,
        anchors: Tensor,
        columns: slice | Tensor,
        product: Callable[[Tensor, Tensor], Tensor],
        sign: float,
    ) -> Tensor:
        """Return v . (u + delta) / |u + delta|, with the gradient of a constant delta."""
        base, unit, lengths = self.base[columns], self.unit[columns], self.lengths[columns]
        constant = anchors.detach()
        with torch.no_grad():
            similarity = product(constant, unit)
            a, b = self.displacement.coefficients(similarity, lengths, sign)
            length_of_move = a * a + b * b + 2 * a * b * similarity
        # v . delta: its part a v . v has no gradient on the sphere; where b is 0 one product less.
        along = product(anchors, base) + a
        squared = (base * base).sum(dim=1) + 2 * a * product(constant, base) + length_of_move
        if isinstance(b, Tensor):
            along = along + b * product(anchors, unit)
            squared = squared + 2 * b * (unit * base).sum(dim=1)
        return along * torch.rsqrt(squared)
