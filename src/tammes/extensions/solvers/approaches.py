"""Named ways to a solver: a method, and the objectives it is trained with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from tammes.extensions.formulas import (
    CliqueDensity,
    CliqueErdos,
    CliquePenalty,
    Formula,
    IndependenceDensity,
    IndependencePenalty,
)
from tammes.extensions.graphs import Graphs
from tammes.extensions.lovasz import BoundedLovasz, Lovasz
from tammes.extensions.neural import Neural
from tammes.extensions.problems import MaximumClique, MaximumIndependentSet
from tammes.extensions.solvers.by_extension import ByColumns, ByNeural, ByScalar
from tammes.extensions.solvers.erdos import Erdos
from tammes.extensions.solvers.method import Method
from tammes.extensions.solvers.reinforce import Reinforce
from tammes.extensions.solvers.straight_through import StraightThrough
from tammes.extensions.squash import Peak


@dataclass(frozen=True, kw_only=True)
class Approach:
    """A method with what it minimizes; methods differ in the objectives that suit them.

    Args:
        method: the loss, and how sets are read off.
        clique: minimized to find cliques.
        independent: minimized to find independent sets.

    Example:
        >>> erdos().clique
        CliqueErdos(beta=0.5)
    """

    method: Method
    clique: Formula = field(default_factory=CliqueDensity)
    independent: Formula = field(default_factory=IndependenceDensity)

    def with_exact_objectives(self) -> Approach:
        """The same method on objectives whose least values are at the solutions, instead of surrogates.

        >>> lovasz().with_exact_objectives().independent
        IndependencePenalty(penalty=2.0)
        """
        return Approach(method=self.method, clique=CliquePenalty(), independent=IndependencePenalty())

    @property
    def cliques(self) -> Callable[[Graphs], MaximumClique]:
        """Poses the search for cliques."""
        return lambda graphs: MaximumClique(graphs=graphs, formula=self.clique)

    @property
    def independent_sets(self) -> Callable[[Graphs], MaximumIndependentSet]:
        """Poses the search for independent sets."""
        return lambda graphs: MaximumIndependentSet(graphs=graphs, formula=self.independent)


def lovasz() -> Approach:
    """The scalar Lovász extension."""
    return Approach(method=ByScalar(extension=Lovasz()))


def neural_lovasz(eigenvectors: int = 4) -> Approach:
    """The neural Lovász extension as the paper has it: power iterations, and a sigmoid."""
    return Approach(method=ByNeural(neural=Neural(eigenvectors=eigenvectors)))


def neural_lovasz_peak(eigenvectors: int = 4) -> Approach:
    """The neural Lovász extension with eigenvectors divided by their largest entry."""
    return Approach(method=ByNeural(neural=Neural(eigenvectors=eigenvectors, squash=Peak())))


def lovasz_columns() -> Approach:
    """The naive high-dimensional extension: a scalar one of every column."""
    return Approach(method=ByColumns(extension=Lovasz()))


def bounded_lovasz(k: int) -> Approach:
    """The Lovász extension over sets of at most k nodes."""
    return Approach(method=ByScalar(extension=BoundedLovasz(k=k)))


def straight_through() -> Approach:
    """Straight-through over level sets."""
    return Approach(method=StraightThrough())


def reinforce(generator: torch.Generator, samples: int = 250, *, better_only: bool = False) -> Approach:
    """REINFORCE, for cliques with c = 4; the paper takes the better samples only for independent sets."""
    return Approach(
        method=Reinforce(generator=generator, samples=samples, better_only=better_only),
        clique=CliqueDensity(exponent=4.0),
    )


def erdos(beta: float = 0.5) -> Approach:
    """Erdős goes neural: penalties in closed form, and its own way to read off a set."""
    return Approach(method=Erdos(), clique=CliqueErdos(beta=beta), independent=IndependencePenalty())
