"""Set functions of graphs that depend on a few counts of the set alone: objectives and scores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.extensions.functions.counts import Counts, counts_along, expected_counts
from tammes.extensions.functions.set_function import SetFunction
from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import GroundSet, Members, Order, Sweep

Formula = Callable[[Counts], Float[Tensor, "..."]]
"""f(S) from the counts of S, in their shape, and 0 for the empty set. A problem of yours needs no more."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphFunction(SetFunction):
    """A formula on graphs, with values along sweeps in O(nodes + edges).

    Args:
        graphs: the graphs; their nodes are the elements.
        formula: f(S) from the counts of S.

    Example:
        >>> def triangles(counts):
        ...     return -((counts.size == 3) & (counts.edges == 3)).double()
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0], [1, 2, 2]]), sizes=(3,))
        >>> GraphFunction(graphs=graph, formula=triangles).values(torch.ones(3, dtype=torch.bool)).item()
        -1.0
    """

    graphs: Graphs
    formula: Formula

    @property
    @override
    def ground(self) -> GroundSet:
        return self.graphs.ground

    @override
    def values(self, members: Bool[Tensor, "*sets total"]) -> Float[Tensor, "*sets inputs"]:
        return self.relaxed(members.double())

    @override
    def along(self, sweep: Sweep) -> Float[Tensor, "rows total"]:
        return self.formula(counts_along(self.graphs, sweep))

    @override
    def multilinear(self, x: Float[Tensor, "rows total"]) -> Float[Tensor, "rows inputs"] | None:
        # A linear function of the counts has as its mean the function of the mean counts.
        return self.relaxed(x) if isinstance(self.formula, LinearFormula) else None

    @override
    def grow(self, order: Order, members: Members | None = None) -> Members:
        # The counts of each set are kept, and for each node the number of its neighbors in the set, which is
        # the number of edges that it adds. One call of the formula then tells of all nodes whether the set is
        # better with them. The first of these in the order joins: until its turn nothing changes. So there
        # are as many rounds as one set gets nodes, each in O(nodes) and the degrees of those that join.
        graphs, ground = self.graphs, self.ground
        owner, degree, (first, second) = ground.owner, graphs.degree, graphs.arcs
        members = ground.empty_sets if members is None else members.clone()
        inside = torch.bincount(first[members[second]], minlength=ground.total)
        counts = expected_counts(graphs, members.double())
        size, edges, volume, best = counts.size, counts.edges, counts.volume, self.formula(counts)
        waiting, never = ground.places(order), ground.widest  # places of nodes yet to come, or behind all
        while True:
            grown = Counts(
                size=size[owner] + 1,
                pairs=size[owner] * (size[owner] + 1) / 2,
                edges=edges[owner] + inside,
                volume=volume[owner] + degree,
                nodes=counts.nodes[owner],
            )
            found = self.formula(grown)
            better = (found > best[owner]) & ~members
            turn = ground.pad(waiting.where(better, never), never).amin(-1)
            grows = turn < never
            if not grows.any():
                return members
            waiting = waiting.where(waiting > turn[owner], never)
            joining = order[(ground.offsets + turn)[grows]]
            members[joining] = True
            size, best = size + grows, best.masked_scatter(grows, found[joining])
            edges = edges.masked_scatter(grows, grown.edges[joining])
            volume = volume.masked_scatter(grows, grown.volume[joining])
            inside[torch.cat([graphs.adjacent[node] for node in joining.tolist()])] += 1

    def relaxed(self, x: Float[Tensor, "*rows total"]) -> Float[Tensor, "*rows inputs"]:
        """Return the formula of the mean counts of a random set; f itself where x is an indicator vector."""
        return self.formula(expected_counts(self.graphs, x.to(torch.promote_types(x.dtype, torch.float32))))


@dataclass(frozen=True, kw_only=True)
class LinearFormula:
    """f(S) = pairs * |pairs in S| + edges * |edges in S| + volume * vol(S) + size * |S|.

    Its multilinear extension is known in closed form: f of the expected counts.

    Args:
        pairs: coefficient of the number of pairs.
        edges: coefficient of the number of edges with both ends in S.
        volume: coefficient of the sum of degrees.
        size: coefficient of the number of nodes.

    Raises:
        ValueError: if a coefficient is not finite, or if all are 0.

    Example:
        >>> triangle = Graphs.of(torch.tensor([[0, 1, 0], [1, 2, 2]]), sizes=(3,))
        >>> f = GraphFunction(graphs=triangle, formula=LinearFormula(edges=2.0, size=-1.0))
        >>> f.values(torch.ones(3, dtype=torch.bool)).item()
        3.0
    """

    pairs: float = 0.0
    edges: float = 0.0
    volume: float = 0.0
    size: float = 0.0

    def __post_init__(self) -> None:
        for name, coefficient in vars(self).items():
            check_number(name, coefficient)
        if not (self.pairs or self.edges or self.volume or self.size):
            raise ValueError("expected a coefficient other than 0 in a linear formula, got none")

    def __call__(self, counts: Counts) -> Float[Tensor, "..."]:
        """Return f, in the shape of the counts."""
        pairs, edges = self.pairs * counts.pairs, self.edges * counts.edges
        return pairs + edges + self.volume * counts.volume + self.size * counts.size


def clique_penalty(penalty: float = 2.0) -> LinearFormula:
    """Return f(S) = penalty * (pairs in S without an edge) - |S|, least exactly for the maximum cliques.

    A set with a missing pair is no minimum: without one end of the pair f is less by at least penalty - 1.

    Args:
        penalty: cost of a missing pair, above 1.

    Raises:
        ValueError: for a penalty of 1 or less.

    Example:
        >>> clique_penalty()
        LinearFormula(pairs=2.0, edges=-2.0, volume=0.0, size=-1.0)
    """
    check_number("penalty", penalty, above=1, reason="with less, adding a node costs nothing")
    return LinearFormula(pairs=penalty, edges=-penalty, size=-1.0)


def independence_penalty(penalty: float = 2.0) -> LinearFormula:
    """Return f(S) = penalty * (edges in S) - |S|, least exactly for the maximum independent sets.

    It is `clique_penalty` of the complement graph. Its multilinear extension is the loss of Erdős goes neural
    for independent sets.

    Args:
        penalty: cost of an edge, above 1.

    Raises:
        ValueError: for a penalty of 1 or less.
    """
    check_number("penalty", penalty, above=1, reason="with less, adding a node costs nothing")
    return LinearFormula(edges=penalty, size=-1.0)


def clique_erdos(beta: float = 0.5) -> LinearFormula:
    """Return f(S) = beta * pairs - (beta + 1) * edges, the objective of Erdős goes neural for cliques.

    It equals beta * (pairs without an edge) - edges: a penalty with edges instead of nodes as the reward.

    Args:
        beta: cost of a missing pair, positive.

    Raises:
        ValueError: for a beta that is not positive.

    Source: Robinson (2023), F.6.3. Differs: the text has a plus sign before the edges, which would make the
    empty set best. It sums pairs in both orders and halves them; edges are counted once, as here.
    """
    check_number("beta", beta, above=0)
    return LinearFormula(pairs=beta, edges=-(beta + 1))


def cut_size(weight: float = 1.0) -> LinearFormula:
    """Return f(S) = weight * (edges with one end in S); with weight -1 it is least for the maximum cuts."""
    return LinearFormula(edges=-2.0 * weight, volume=weight)


@dataclass(frozen=True, kw_only=True)
class CliqueDensity:
    """f(S) = -e(S) q(S)^c, with e the number of edges in S and q = e / pairs: the paper's surrogate.

    Its least value need not be at a maximum clique: on six nodes with all edges but one, all nodes score
    -14 (14/15)^2 = -12.2, and the cliques of five -10.

    Args:
        exponent: exponent c, positive; the paper takes 2, and 4 for REINFORCE.

    Raises:
        ValueError: for an exponent that is not positive.

    Source: Robinson (2023), F.6.1. Differs: its q has a minus sign, with which f is positive for c = 2 and
    least for sets without edges; the published code has the sign that is here.
    """

    exponent: float = 2.0

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=0)

    def __call__(self, counts: Counts) -> Float[Tensor, "..."]:
        """Return f, in the shape of the counts."""
        return -counts.edges * counts.density**self.exponent


@dataclass(frozen=True, kw_only=True)
class IndependenceDensity:
    """f(S) = -(|S| / n) (1 - q(S))^c, with q the fraction of the pairs in S that are edges: a surrogate.

    Args:
        exponent: exponent c, positive; the paper takes 2.

    Raises:
        ValueError: for an exponent that is not positive.

    Source: Robinson (2023), F.6.1. Differs: the text prints |S|/n q^c, which is 0 for every independent set
    whatever its size; the published code has what is here.
    """

    exponent: float = 2.0

    def __post_init__(self) -> None:
        check_number("exponent", self.exponent, above=0)

    def __call__(self, counts: Counts) -> Float[Tensor, "..."]:
        """Return f, in the shape of the counts."""
        return -counts.size / counts.nodes * (1 - counts.density) ** self.exponent


def clique_size(counts: Counts) -> Float[Tensor, "..."]:
    """Return the score |S| of a clique, minus infinity for other sets."""
    return counts.size.masked_fill(counts.missing > 0, -torch.inf)


def independent_set_size(counts: Counts) -> Float[Tensor, "..."]:
    """Return the score |S| of an independent set, minus infinity for other sets."""
    return counts.size.masked_fill(counts.edges > 0, -torch.inf)
