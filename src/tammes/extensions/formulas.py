"""Set functions of graphs that depend on a few counts alone, and those that are minimized."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from tammes.checks import is_finite
from tammes.extensions.counts import Counts, counts_along, counts_of, expected_counts
from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.set_function import SetFunction
from tammes.extensions.sweep import Sweep


class Formula(ABC):
    """f(S) from the counts of S: all that a problem of one's own on graphs needs.

    Example:
        >>> import torch
        >>> class Triangles(Formula):
        ...     def __call__(self, counts):
        ...         return -((counts.size == 3) & (counts.edges == 3)).double()
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0], [1, 2, 2]]), sizes=(3,))
        >>> GraphFunction(graphs=graph, formula=Triangles()).values(torch.ones(3, dtype=torch.bool)).item()
        -1.0
    """

    linear: ClassVar[bool] = False
    """Whether f is linear in size, pairs, edges and volume: its multilinear extension is then f of means."""

    @abstractmethod
    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """f, in the shape of the counts; 0 for the empty set."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphFunction(SetFunction):
    """A formula on graphs, with values along sweeps in O(nodes + edges).

    Args:
        graphs: the graphs.
        formula: the formula.
    """

    graphs: Graphs
    formula: Formula

    @property
    def ground(self) -> GroundSet:
        """The nodes."""
        return self.graphs.ground

    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        """See `SetFunction.values`."""
        return self.formula(counts_of(self.graphs, members))

    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        """See `SetFunction.along`."""
        return self.formula(counts_along(self.graphs, sweep))

    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        """See `SetFunction.multilinear`: known for formulas that are linear in the counts."""
        return self.relaxed(x) if self.formula.linear else None

    def relaxed(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"]:
        """The formula of the counts that a random set has on average; f itself where x is an indicator."""
        return self.formula(expected_counts(self.graphs, x))


def density(counts: Counts) -> Float[Tensor, ...]:
    """The part of the pairs that are edges; 0 for sets without pairs."""
    return counts.edges / counts.pairs.clamp(min=1)


@dataclass(frozen=True, kw_only=True)
class CliqueDensity(Formula):
    """f(S) = -e(S) q(S)^c, with e the number of edges in S and q = e / pairs: the paper's, a surrogate.

    Its least value need not be at a maximum clique: on six nodes with all edges but one, all nodes score
    -14 (14/15)^2 = -12.2, and the cliques of five -10.

    Args:
        exponent: c, positive; the paper's is 2, and 4 for REINFORCE.

    Raises:
        ValueError: for an exponent that is not positive.

    Source: Robinson (2023), F.6.1. Differs: its q has a minus sign, with which f is positive for c = 2 and
    least for sets without edges; the published code has the sign that is here.
    """

    exponent: float = 2.0

    def __post_init__(self) -> None:
        _expect_positive("exponent", self.exponent)

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return -counts.edges * density(counts) ** self.exponent


@dataclass(frozen=True, kw_only=True)
class CliquePenalty(Formula):
    """f(S) = -|S| + penalty * (pairs in S that are no edges): least exactly for the maximum cliques.

    A set with a missing pair is no minimum: without one end of the pair f is less by at least penalty - 1.

    Args:
        penalty: above 1.

    Raises:
        ValueError: for a penalty of 1 or less.
    """

    linear: ClassVar[bool] = True
    penalty: float = 2.0

    def __post_init__(self) -> None:
        _expect_above_one(self.penalty)

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return self.penalty * counts.missing - counts.size


@dataclass(frozen=True, kw_only=True)
class CliqueErdos(Formula):
    """f(S) = beta * pairs - (beta + 1) * edges: its multilinear extension is the loss of Erdős goes neural.

    Args:
        beta: positive.

    Raises:
        ValueError: for a beta that is not positive.

    Source: Robinson (2023), F.6.3. Differs: the text has a plus sign before the edges, which would make the
    empty set best. It sums pairs in both orders and halves them; edges are counted once, as here.
    """

    linear: ClassVar[bool] = True
    beta: float = 0.5

    def __post_init__(self) -> None:
        _expect_positive("beta", self.beta)

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return self.beta * counts.pairs - (self.beta + 1) * counts.edges


@dataclass(frozen=True, kw_only=True)
class IndependenceDensity(Formula):
    """f(S) = -(|S| / n) (1 - q(S))^c, with q the part of the pairs in S that are edges: a surrogate.

    Args:
        exponent: c, positive; the paper's is 2.

    Raises:
        ValueError: for an exponent that is not positive.

    Source: Robinson (2023), F.6.1. Differs: the text prints |S|/n q^c, which is 0 for every independent set
    whatever its size; the published code has what is here.
    """

    exponent: float = 2.0

    def __post_init__(self) -> None:
        _expect_positive("exponent", self.exponent)

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return -counts.size / counts.nodes * (1 - density(counts)) ** self.exponent


@dataclass(frozen=True, kw_only=True)
class IndependencePenalty(Formula):
    """f(S) = -|S| + penalty * (edges in S): least exactly for the maximum independent sets.

    A set with an edge in it is no minimum: without one end of the edge f is less by at least penalty - 1.
    The multilinear extension is the loss of Erdős goes neural for this problem.

    Args:
        penalty: above 1.

    Raises:
        ValueError: for a penalty of 1 or less.
    """

    linear: ClassVar[bool] = True
    penalty: float = 2.0

    def __post_init__(self) -> None:
        _expect_above_one(self.penalty)

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return self.penalty * counts.edges - counts.size


@dataclass(frozen=True, kw_only=True)
class CutSize(Formula):
    """f(S) = -(edges with one end in S): least exactly for the maximum cuts."""

    linear: ClassVar[bool] = True

    def __call__(self, counts: Counts) -> Float[Tensor, ...]:
        """See `Formula.__call__`."""
        return -counts.cut


def _expect_positive(name: str, value: float) -> None:
    if not (is_finite(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, got {value}")


def _expect_above_one(penalty: float) -> None:
    if not (is_finite(penalty) and penalty > 1):
        raise ValueError(f"penalty must be above 1, got {penalty}: with less, taking a node in costs nothing")
