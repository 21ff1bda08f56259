"""Named approaches to training a solver: a method, and the objectives it is trained with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch

from tammes.extensions.functions.formulas import (
    CliqueDensity,
    Formula,
    IndependenceDensity,
    clique_erdos,
    clique_penalty,
    independence_penalty,
)
from tammes.extensions.graphs import Graphs
from tammes.extensions.neural import Neural, Peak
from tammes.extensions.problems import Problem, maximum_clique, maximum_independent_set
from tammes.extensions.scalar.lovasz import BoundedLovasz, Lovasz
from tammes.extensions.solvers.method import (
    ByColumns,
    ByNeural,
    ByScalar,
    Erdos,
    Method,
    Reinforce,
    StraightThrough,
)


@dataclass(frozen=True, kw_only=True)
class Approach:
    """A method with its objectives; not every objective suits every method.

    Args:
        method: loss and decoder.
        clique: objective for cliques.
        independent: objective for independent sets.

    Example:
        >>> lovasz().clique
        CliqueDensity(exponent=2.0)
    """

    method: Method
    clique: Formula = field(default_factory=CliqueDensity)
    independent: Formula = field(default_factory=IndependenceDensity)

    def with_exact_objectives(self) -> "Approach":
        """Return the same method with objectives that are least at the solutions, instead of surrogates.

        >>> lovasz().with_exact_objectives().independent == independence_penalty()
        True
        """
        return Approach(method=self.method, clique=clique_penalty(), independent=independence_penalty())

    @property
    def cliques(self) -> Callable[[Graphs], Problem]:
        """Constructor of the search for cliques."""
        return partial(maximum_clique, formula=self.clique)

    @property
    def independent_sets(self) -> Callable[[Graphs], Problem]:
        """Constructor of the search for independent sets."""
        return partial(maximum_independent_set, formula=self.independent)


def lovasz() -> Approach:
    """Return the scalar Lovász extension."""
    return Approach(method=ByScalar(extension=Lovasz()))


def neural_lovasz(eigenvectors: int = 4) -> Approach:
    """Return the paper's neural Lovász extension, with power iterations and a sigmoid."""
    return Approach(method=ByNeural(neural=Neural(eigenvectors=eigenvectors)))


def neural_lovasz_peak(eigenvectors: int = 4) -> Approach:
    """Return the neural Lovász extension with eigenvectors divided by their largest entry."""
    return Approach(method=ByNeural(neural=Neural(eigenvectors=eigenvectors, squash=Peak())))


def lovasz_columns() -> Approach:
    """Return the naive extension of embeddings: the scalar Lovász extension of every column."""
    return Approach(method=ByColumns(extension=Lovasz()))


def bounded_lovasz(k: int) -> Approach:
    """Return the Lovász extension over sets of at most k nodes."""
    return Approach(method=ByScalar(extension=BoundedLovasz(k=k)))


def straight_through() -> Approach:
    """Return straight-through estimation over level sets."""
    return Approach(method=StraightThrough())


def reinforce(generator: torch.Generator, samples: int = 250, *, better_only: bool = False) -> Approach:
    """Return REINFORCE, with c = 4 for cliques; the paper sets `better_only` for independent sets."""
    return Approach(
        method=Reinforce(generator=generator, samples=samples, better_only=better_only),
        clique=CliqueDensity(exponent=4.0),
    )


def erdos(beta: float = 0.5) -> Approach:
    """Return Erdős goes neural: penalties in closed form, and greedy decoding."""
    return Approach(method=Erdos(), clique=clique_erdos(beta), independent=independence_penalty())
