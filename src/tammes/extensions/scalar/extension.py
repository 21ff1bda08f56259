"""Scalar extensions: for every vector x a distribution over few sets, over which f is averaged."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.extensions.functions.set_function import BlackBox, SetFunction
from tammes.extensions.ground_set import GroundSet, ScoredSets, Support

AnySetFunction = SetFunction | Callable[[Tensor], Tensor]
"""A set function; or, for a single input, a function from `(sets, n)` indicators to `(sets,)` numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Distribution:
    """A distribution p over sets S, for each row and input; the mass missing to 1 lies on the empty set.

    Args:
        supports: families of sets; a set may be in several.
        probabilities: for each support the probabilities of its sets, in its shape; differentiable in x.

    Example:
        >>> import torch
        >>> from tammes.extensions import Lovasz
        >>> p = Lovasz().distribution(torch.tensor([[0.5, 0.9, 0.2]]), GroundSet(sizes=(3,)))
        >>> p.mass.item(), p.mean[0].tolist()  # doctest: +ELLIPSIS
        (0.8999..., [0.5, 0.8999..., 0.2...])
    """

    supports: tuple[Support, ...]
    probabilities: tuple[Float[Tensor, "..."], ...]

    @property
    def ground(self) -> GroundSet:
        """Ground sets of the inputs."""
        return self.supports[0].ground

    @property
    def mass(self) -> Float[Tensor, "rows inputs"]:
        """Sum over S of p(S), without the mass that is left to the empty set."""
        return torch.stack([support.sum(p) for support, p in self._parts()]).sum(0)

    @property
    def mean(self) -> Float[Tensor, "rows total"]:
        """Sum over S of p(S) 1_S."""
        return torch.stack([support.mean(p) for support, p in self._parts()]).sum(0)

    def expectation(self, f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """Return the sum over S of p(S) f(S), the extension's value (eq. 8.2).

        Raises:
            ValueError: if f is NaN or of the wrong shape for some set.
        """
        return torch.stack([support.sum(_weighted(p, f.on(support))) for support, p in self._parts()]).sum(0)

    def best(self, score: SetFunction) -> ScoredSets:
        """Return the highest score in the support of each input, over all rows, and the first set with it.

        Args:
            score: set function, higher is better; minus infinity for sets that are not allowed.
        """
        scores, members = zip(*(each.best(score.on(each).detach()) for each in self.supports), strict=True)
        return self.ground.best(torch.cat(scores), torch.cat(members))

    def _parts(self) -> Iterator[tuple[Support, Tensor]]:
        return zip(self.supports, self.probabilities, strict=True)


def _weighted(probabilities: Float[Tensor, "..."], values: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return p f, with 0 where p = 0 and f is infinite; in float32 at least, whose range holds large counts.

    >>> import torch
    >>> _weighted(torch.tensor([0.0, 0.5]), torch.tensor([torch.inf, 4.0])).tolist()
    [0.0, 2.0]
    """
    values = values.to(torch.promote_types(probabilities.dtype, torch.float32))
    unused = values.isinf() & (probabilities.detach() == 0)
    return probabilities * values.masked_fill(unused, 0.0)


class Extension(ABC):
    """F(x) = sum over S of p_x(S) f(S), with sum p_x(S) <= 1 and, where x is feasible, sum p_x(S) 1_S = x.

    The rest of the mass lies on the empty set, where f is 0. The gradient in x flows through p alone: f may
    be anything that can be evaluated.
    """

    @abstractmethod
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """Return p_x for each row and input.

        Raises:
            ValueError: for an x outside the extension's domain.
        """

    @abstractmethod
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        """Return the distribution of the intersection of two independent draws from p_x.

        It is p at x^2 where sets are nested, or elements independent.

        Raises:
            ValueError: for an x outside the extension's domain.
        """

    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        """Return x in [0, 1], scaled down differentiably where it lies outside the extension's domain."""
        return x

    def value(self, x: Float[Tensor, "rows total"], f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """Return F(x) for each row and input."""
        return self.distribution(x, f.ground).expectation(f)

    def paired(self, x: Float[Tensor, "rows total"], f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """Return the sum over S, T of p_x(S) p_x(T) f(S and T), one eigenvector's part of `Neural`."""
        return self.intersections(x, f.ground).expectation(f)

    def __call__(self, x: Float[Tensor, "*rows total"], f: AnySetFunction) -> Float[Tensor, "*rows inputs"]:
        """Return F(x) for one vector or several.

        Args:
            x: `(total,)` or `(rows, total)`, the elements of all inputs one after the other, in [0, 1].
            f: a set function for all inputs; or, for one input, any function from `(sets, total)` bool
                indicator vectors to `(sets,)` numbers.

        Returns:
            Values of shape `(inputs,)` or `(rows, inputs)`.

        Raises:
            ValueError: for an x outside the domain or of another length than f's ground sets, and for an f
                that is not 0 for the empty set, is NaN, or gives the wrong shape.
        """
        function = as_set_function(f, x)
        check_vectors(x, function.ground)
        return self.value(torch.atleast_2d(x), function).reshape(*x.shape[:-1], function.ground.inputs)


def as_set_function(f: AnySetFunction, x: Tensor) -> SetFunction:
    """Return f itself, or a plain function as the set function of one input with the elements of x.

    Raises:
        ValueError: if f is neither, or not 0 for the empty set.
    """
    if not isinstance(f, SetFunction):
        if not callable(f):
            raise ValueError(f"expected a set function or a callable of indicator vectors, got {f!r}")
        if x.dim() < 1:
            raise ValueError("expected x of shape (elements,) or (rows, elements), got a single number")
        f = BlackBox(functions=(f,), sizes=(x.shape[-1],), device=x.device)
    wrong = f.at_empty_set.nonzero().flatten().tolist()
    if wrong:
        raise ValueError(
            f"an extension assumes f(empty set) = 0, got {f.at_empty_set[wrong[0]].item():g} for input "
            f"{wrong[0]}; extend Normalized(function=f) instead, which subtracts it"
        )
    return f


def check_vectors(x: Tensor, ground: GroundSet) -> None:
    """Raise ValueError unless x is floating point and has a number for each element of the ground sets."""
    if x.dim() not in (1, 2) or x.shape[-1] != ground.total:
        raise ValueError(
            f"expected x of shape ({ground.total},) or (rows, {ground.total}), a number for each element of "
            f"{ground.inputs} inputs, got {tuple(x.shape)}"
        )
    if not x.is_floating_point():
        raise ValueError(f"expected x in floating point, got {x.dtype}")


def check_unit_interval(x: Tensor) -> None:
    """Raise ValueError, with the first number that is wrong, unless x is in [0, 1]."""
    inside = (x >= 0) & (x <= 1)  # false for NaN
    if not bool(inside.all()):
        first = x.detach()[~inside].flatten()[0].item()
        raise ValueError(f"expected x in [0, 1], got {first:g}; apply torch.sigmoid to a network's outputs")


def check_mass(mass: Float[Tensor, "rows inputs"], bound: str) -> None:
    """Raise ValueError if probabilities add up to more than 1.

    Args:
        mass: sum of p for each row and input.
        bound: the condition on x as a formula, for the message.
    """
    tolerance = 512 * torch.finfo(mass.dtype).eps  # rounding of a sum of many probabilities
    over = (mass.detach() > 1 + tolerance).nonzero().tolist()
    if over:
        row, owner = over[0]
        got = mass[row, owner].item()
        raise ValueError(f"expected {bound}, got {got:g} for input {owner}; `within` scales x down")
