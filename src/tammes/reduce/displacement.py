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
    """Move of a candidate in the plane that it spans with an anchor v, a unit vector.

    A candidate is u = along v + across w, where w is the unit vector of its part at a right angle to v. Two
    numbers then describe a move, and the squared length of u is a sum of squares, which cannot cancel.
    A move is a constant: no gradient passes through it.
    """

    of_raw: ClassVar[bool]
    """Whether it moves a candidate as the encoder gave it; otherwise the candidate at unit length."""

    @abstractmethod
    def moved(self, along: Entries, across: Entries, sign: float) -> tuple[Entries, Entries]:
        """Return the two parts of each candidate after its move.

        Args:
            along: its part along the anchor, v . u.
            across: its part at a right angle, w . u.
            sign: 1 towards the anchor, as negatives move, -1 away from it.
        """


@dataclass(frozen=True, kw_only=True)
class AlongAnchor(Displacement):
    """Move by +- epsilon v.

    Example:
        >>> along, across = AlongAnchor(epsilon=0.5).moved(torch.tensor(0.75), torch.tensor(0.5), -1.0)
        >>> along.item(), across.item()
        (0.25, 0.5)
    """

    epsilon: float
    of_raw: ClassVar[bool] = False

    @override
    def moved(self, along: Entries, across: Entries, sign: float) -> tuple[Entries, Entries]:
        return along + sign * self.epsilon, across


@dataclass(frozen=True, kw_only=True)
class TowardsAnchor(Displacement):
    """Sum of steps +- epsilon / steps (v - cos(u, v) u / |u|), along the gradient of the cosine at u.

    Example:
        >>> one_step = TowardsAnchor(epsilon=0.5, steps=1)
        >>> along, across = one_step.moved(torch.tensor(0.0), torch.tensor(2.0), 1.0)
        >>> along.item(), across.item()
        (0.5, 2.0)
    """

    epsilon: float
    steps: int
    of_raw: ClassVar[bool] = True

    @override
    def moved(self, along: Entries, across: Entries, sign: float) -> tuple[Entries, Entries]:
        step = sign * self.epsilon / self.steps
        for _ in range(self.steps):
            # v - cos u / |u| = across (across v - along w) / |u|^2, at a right angle to u
            turn = step * across / (along * along + across * across)
            along, across = along + turn * across, across - turn * along
        return along, across


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
        """Return cos(v, u + delta), with the gradient of a constant delta."""
        base, unit, lengths = self.base[columns], self.unit[columns], self.lengths[columns]
        constant = anchors.detach()
        with torch.no_grad():
            cosine = product(constant, unit)
            sine = (1 - cosine * cosine).clamp_(min=0).sqrt_()
            along, across = self.displacement.moved(cosine * lengths, sine * lengths, sign)
            length = torch.hypot(along, across)
            moved = along / length
            # At unit length the moved candidate is x v + y z. A part across the anchor that is lost in
            # rounding stays, however far a step is beside the candidate's length.
            y = torch.where(sine > 0, across / sine, lengths) / length
            x = moved - y * cosine
        # d cos = (v - cos (x v + y z)) . du / |u + delta| + (x v + y z) . dv, and v . dv = 0 on the sphere.
        slope = (
            product(constant, base) * ((1 - moved * x) / length)
            - (unit * base).sum(dim=1) * (moved * y / length)
            + product(anchors, unit) * y
        )
        return moved + (slope - slope.detach())
