"""Distributions over few sets."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add

from jaxtyping import Float
from torch import Tensor

from tammes.extensions.functions.set_function import SetFunction
from tammes.extensions.functions.support import ScoredSets, Support
from tammes.extensions.ground_set import GroundSet


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
        return reduce(add, [support.sum(p) for support, p in self._parts()])

    @property
    def mean(self) -> Float[Tensor, "rows total"]:
        """Sum over S of p(S) 1_S."""
        return reduce(add, [support.mean(p) for support, p in self._parts()])

    def expectation(self, f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """Return the sum over S of p(S) f(S), the extension's value (eq. 8.2).

        Raises:
            ValueError: if f is NaN or of the wrong shape for some set.
        """
        return reduce(add, [support.sum(_weighted(p, f.on(support))) for support, p in self._parts()])

    def best(self, score: SetFunction) -> ScoredSets:
        """Return the highest score in the support of each input, over all rows, and the first set with it.

        Args:
            score: set function, higher is better; minus infinity for sets that are not allowed.
        """
        found = [support.best(score.on(support).detach()) for support in self.supports]
        rows = [row for scores, members in found for row in zip(scores, members, strict=True)]
        best, members = rows[0]
        for other, candidate in rows[1:]:
            better = other > best
            members = candidate.where(better[self.ground.owner], members)
            best = other.where(better, best)
        return best, members

    def _parts(self) -> Iterator[tuple[Support, Tensor]]:
        return zip(self.supports, self.probabilities, strict=True)


def _weighted(probabilities: Float[Tensor, "..."], values: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return p f, with 0 where p = 0 and f is infinite.

    >>> import torch
    >>> _weighted(torch.tensor([0.0, 0.5]), torch.tensor([torch.inf, 4.0])).tolist()
    [0.0, 2.0]
    """
    values = values.to(probabilities.dtype)
    unused = values.isinf() & (probabilities.detach() == 0)
    return probabilities * values.masked_fill(unused, 0.0)
