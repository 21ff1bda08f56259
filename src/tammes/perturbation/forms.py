"""Forms of feature modification: where an embedding may move, and what becomes of its length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.reduce import AlongAnchor, Displacement, TowardsAnchor


class ModificationForm(ABC):
    """Form of a modification: a set in which embeddings move, and the similarity of a moved embedding.

    Two kinds of forms differ in cost. Where a move raises all negatives of an anchor alike, the form has
    `lengths`, and one log-sum-exp serves the plain and the modified loss. Where it does not, the form has
    a `displacement`, and the modified similarities are computed in blocks of rows.
    """

    @property
    def stretch(self) -> float | None:
        """Largest ratio of `lengths` to the Euclidean length of an anchor; None where they are equal."""
        return None

    def lengths(self, anchors: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """Return `(n,)` max of v . delta over the set at epsilon = 1: for a ball |v|."""
        return torch.linalg.vector_norm(anchors, dim=1)

    @abstractmethod
    def displacement(self, epsilon: float) -> Displacement | None:
        """Return the move of each candidate for each anchor; None where all negatives rise alike.

        Raises:
            ValueError: an epsilon that the form does not allow.
        """


@dataclass(frozen=True, kw_only=True)
class Shifted(ModificationForm):
    """Move within the ball of radius epsilon, whatever the length afterwards: the form of the method.

        v . (v_j + epsilon v) = s_j + epsilon ,        v . (v+ - epsilon v) = s+ - epsilon ,        |v| = 1

    Source: Robinson (2023), Definition 2, Lemma 4 and eq. 4.2.

    Example:
        >>> Shifted().displacement(0.1) is None
        True
    """

    @override
    def displacement(self, epsilon: float) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Ellipsoid(ModificationForm):
    """Move within an ellipsoid, with a budget epsilon a_k for each direction k of the embedding.

        max v . delta = epsilon |a * v| ,        over sum_k (delta_k / a_k)^2 <= epsilon^2

    With equal axes of 1 it is `Shifted`. A direction of axis 0 is never modified.

    Args:
        axes: half axes a_k at epsilon = 1, one for each dimension of the embeddings; at least 0.

    Raises:
        ValueError: an axis below 0 or not finite, no axis, or, when called, embeddings of another dimension.

    Source: the budget is ours; the worst case is the support function of an ellipsoid, as Lemma 4 of
    Robinson (2023) is that of a ball.

    Example:
        >>> Ellipsoid(axes=(1.0, 0.0)).lengths(torch.tensor([[0.6, 0.8]])).tolist()
        [0.6000000238418579]
    """

    axes: tuple[float, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.axes, tuple) or not self.axes:
            raise ValueError(
                "axes must hold one number for each dimension of the embeddings, as a tuple, got "
                f"{self.axes!r}"
            )
        for axis in self.axes:
            check_number("axes", axis, minimum=0)

    @property
    @override
    def stretch(self) -> float:
        return max(self.axes)

    @override
    def lengths(self, anchors: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        if anchors.shape[1] != len(self.axes):
            raise ValueError(
                f"axes must hold one number for each of the {anchors.shape[1]} dimensions of the embeddings, "
                f"got {len(self.axes)}"
            )
        return torch.linalg.vector_norm(anchors * anchors.new_tensor(self.axes), dim=1)

    @override
    def displacement(self, epsilon: float) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Renormalized(ModificationForm):
    """Move of `Shifted`, then unit length again ("+ norm").

        (s_j + epsilon) / sqrt(1 + 2 epsilon s_j + epsilon^2) ,    (s+ - epsilon) / sqrt(1 - 2 epsilon s+ + epsilon^2)

    Moves are constants: no gradient passes through v in v_j + epsilon v.

    Source: Robinson (2023), appendix B.1.1, "+ norm".

    Example:
        >>> moved = Renormalized().displacement(0.5)
        >>> moved.of_raw
        False
    """  # noqa: E501

    @override
    def displacement(self, epsilon: float) -> Displacement:
        if epsilon >= 1:
            raise ValueError(
                f"epsilon must be below 1 for Renormalized(), got {epsilon}: a unit vector that moves by 1 "
                "may vanish, and has no direction then"
            )
        return AlongAnchor(epsilon=epsilon)


@dataclass(frozen=True, kw_only=True)
class BeforeNormalization(ModificationForm):
    """Move of the embeddings before they are brought to unit length, in several steps ("+ pre-norm").

    For each anchor v a negative u = v_j climbs and a positive u = v+ descends, `steps` times:

        u  <-  u  +  epsilon / steps ( v / |v| - sim(u, v) u / |u| )        (minus for v+)

    A step is at most epsilon / steps long, so that u stays within its ball. Moves are constants.

    Args:
        steps: number of steps; at least 1. One step has the direction of Lemma 9 itself.

    Raises:
        ValueError: a number of steps below 1.

    Source: Robinson (2023), Lemma 9 and appendix B.1.1. Differs: the lemma prints the gradient by v+ with
    the sign of that by v_j, against its own proof, whose factor is negative. The text gives neither the
    number of steps nor their size: both are ours.

    Example:
        >>> BeforeNormalization(steps=2).displacement(0.5).of_raw
        True
    """

    steps: int = 3

    def __post_init__(self) -> None:
        check_integer("steps", self.steps)

    @override
    def displacement(self, epsilon: float) -> Displacement:
        return TowardsAnchor(epsilon=epsilon, steps=self.steps)
