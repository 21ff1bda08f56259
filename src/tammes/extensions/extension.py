"""What a scalar extension is: a distribution over few sets for every vector x."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.extensions.distribution import Distribution
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.set_function import BlackBox, SetFunction


class Extension(ABC):
    """F(x) = sum over S of p_x(S) f(S), with sum p_x(S) <= 1 and, where x is feasible, sum p_x(S) 1_S = x.

    The rest of the mass lies on the empty set, where f is 0. The gradient in x flows through p alone: f may
    be anything that can be evaluated.
    """

    @abstractmethod
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """p_x for each row and input.

        Raises:
            ValueError: for an x outside the extension's domain.
        """

    @abstractmethod
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """The distribution of the intersection of two sets, drawn independently from p_x.

        Raises:
            ValueError: for an x outside the extension's domain.
        """

    @abstractmethod
    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        """X in [0, 1], scaled down where it lies outside the extension's domain; differentiable."""

    def value(self, x: Float[Tensor, "rows total"], f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """F for each row and input."""
        return self.distribution(x, f.ground).expectation(f)

    def paired(self, x: Float[Tensor, "rows total"], f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """Sum over S, T of p_x(S) p_x(T) f(S and T): one eigenvector's part of a neural extension."""
        return self.intersections(x, f.ground).expectation(f)

    def __call__(
        self, x: Float[Tensor, "*rows total"], f: SetFunction | Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "*rows inputs"]:
        """F(x), for one vector or several.

        Args:
            x: `(total,)` or `(rows, total)`, the elements of all inputs one after the other, in [0, 1].
            f: a set function for all inputs; or, where there is one input, any function of `(sets, total)`
                indicator vectors that gives `(sets,)` numbers.

        Returns:
            `(inputs,)` or `(rows, inputs)`.

        Raises:
            ValueError: for an x outside the domain or of another length than f's ground sets, and for an f
                that is not 0 for the empty set, is NaN, or gives the wrong shape.
        """
        function = as_set_function(f, x)
        expect_vectors(x, function.ground)
        expect_nothing_of_nothing(function)
        value = self.value(x if x.dim() == 2 else x[None], function)
        return value if x.dim() == 2 else value[0]


def as_set_function(f: SetFunction | Callable[[Tensor], Tensor], x: Tensor) -> SetFunction:
    """F itself, or a plain function as the set function of the one input that x stands for."""
    if isinstance(f, SetFunction):
        return f
    if not callable(f):
        raise ValueError(f"expected a set function or a callable of indicator vectors, got {f!r}")
    if x.dim() < 1:
        raise ValueError("expected x of shape (elements,) or (rows, elements), got a single number")
    return BlackBox(functions=(f,), sizes=(x.shape[-1],), device=x.device)


def expect_vectors(x: Tensor, ground: GroundSet) -> None:
    """Refuse an x that does not fit the ground sets.

    Raises:
        ValueError: for another number of dimensions or elements, or numbers that are not floating point.
    """
    if x.dim() not in (1, 2) or x.shape[-1] != ground.total:
        raise ValueError(
            f"expected x of shape ({ground.total},) or (rows, {ground.total}), a number for each element of "
            f"{ground.inputs} inputs, got {tuple(x.shape)}"
        )
    if not x.is_floating_point():
        raise ValueError(f"expected x in floating point, got {x.dtype}")


def expect_nothing_of_nothing(f: SetFunction) -> None:
    """Refuse a set function that is not 0 for the empty set.

    Raises:
        ValueError: see above.
    """
    found = f.of_nothing
    wrong = (found != 0).nonzero().flatten().tolist()
    if wrong:
        raise ValueError(
            f"an extension assumes f(empty set) = 0, got {found[wrong[0]].item():g} for input {wrong[0]}; "
            "extend Normalized(function=f) instead, which subtracts it"
        )


def expect_unit_interval(x: Tensor) -> None:
    """Refuse numbers outside [0, 1].

    Raises:
        ValueError: see above, with the first of them.
    """
    inside = (x >= 0) & (x <= 1)  # NaN is not
    if not bool(inside.all()):
        first = x.detach()[~inside].flatten()[0].item()
        raise ValueError(
            f"expected x in [0, 1], got {first:g}; a network's outputs go through torch.sigmoid first"
        )


def expect_mass(mass: Float[Tensor, "rows inputs"], bound: str) -> None:
    """Refuse an x whose probabilities add up to more than 1.

    Args:
        mass: sum of p.
        bound: what must hold, as a formula.

    Raises:
        ValueError: see above.
    """
    tolerance = 512 * torch.finfo(mass.dtype).eps  # what sums of many probabilities are off by
    over = (mass.detach() > 1 + tolerance).nonzero().tolist()
    if over:
        row, number = over[0]
        raise ValueError(
            f"expected {bound}, got {mass[row, number].item():g} for input {number}; "
            "`within` scales x down to that"
        )
