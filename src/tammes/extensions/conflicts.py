"""Largest sets of elements without conflicts: independent sets, and cliques by the complement graph."""

import math
import time
from collections.abc import Iterator, Sequence

from tammes.extensions.integer_program import Answer, Program

FEW = 24
"""Nodes among which all maximal cliques are listed, at most 3^(24 / 3) = 6,561 (Moon and Moser, 1965)."""


def largest_without(conflicts: Sequence[set[int]], seconds: float = math.inf) -> Answer:
    """Return the largest set of elements no two of which are in conflict.

    Conflicts are covered by cliques, of each of which at most one element may be chosen: a far tighter
    program than one with a constraint for each conflict.

    Args:
        conflicts: for each element, the elements that it is in conflict with.
        seconds: time limit, after which the best set so far is returned with a bound.

    Example:
        >>> largest_without([{1}, {0, 2}, {1}])
        Answer(score=2.0, bound=2.0, members=(0, 2))
    """
    greedy = greedy_without(conflicts)
    if seconds <= 0:
        return _answer(greedy, len(conflicts))
    cliques = _clique_cover(conflicts)
    if all(len(each) == 0 for each in conflicts):
        return _answer(greedy, len(greedy))
    program = Program(
        gain=[1.0] * len(conflicts),
        rows=[[(element, 1.0) for element in clique] for clique in cliques],
        limits=[1.0] * len(cliques),
        elements=len(conflicts),
    )
    found = program.solve(seconds)
    if found is None:
        return _answer(greedy, len(conflicts))
    chosen = found.members if len(found.members) >= len(greedy) else tuple(greedy)
    return _answer(chosen, found.rounded().bound)


def greedy_without(conflicts: Sequence[set[int]]) -> list[int]:
    """Return a set without conflicts, built from the element with the fewest remaining conflicts each time.

    >>> greedy_without([{1, 2, 3}, {0}, {0}, {0}])
    [1, 2, 3]
    """
    left = {element: set(others) for element, others in enumerate(conflicts)}
    chosen = []
    while left:
        element = min(left, key=lambda each: (len(left[each]), each))
        chosen.append(element)
        for gone in (*left[element], element):
            for other in left.pop(gone):
                if other in left:
                    left[other].discard(gone)
    return sorted(chosen)


def largest_clique(neighbors: Sequence[set[int]], seconds: float = math.inf) -> Answer:
    """Return the largest set of nodes that are all neighbors of each other.

    Nodes are removed one by one, always one of least degree. A clique is found when the first of its nodes is
    removed: among this node's remaining neighbors, which are few in a sparse graph, however large it is.

    Args:
        neighbors: for each node, its neighbors.
        seconds: time limit, after which the best clique so far is returned with a bound.

    Example:
        >>> largest_clique([{1, 2}, {0, 2}, {0, 1, 3}, {2}])
        Answer(score=3.0, bound=3.0, members=(0, 1, 2))
    """
    ends = time.monotonic() + seconds
    best: tuple[int, ...] = ()
    bound = 0.0
    later = sorted(_later(neighbors).items(), key=lambda each: -len(each[1]))
    for node, others in later:  # the largest neighborhoods first: the rest cannot hold a larger clique
        if len(others) < len(best):
            break
        members = sorted(others)
        if (
            len(members) <= FEW and time.monotonic() < ends
        ):  # as in molecules: quicker than to set up a program
            clique = max(_maximal_cliques(neighbors, others), key=len)
            bound = max(bound, len(clique) + 1)
            if len(clique) + 1 > len(best):
                best = tuple(sorted([node, *clique]))
            continue
        conflicts = [
            {place for place, other in enumerate(members) if other != each and other not in neighbors[each]}
            for each in members
        ]
        found = largest_without(conflicts, max(0.0, ends - time.monotonic()))
        bound = max(bound, found.bound + 1)
        if len(found.members) + 1 > len(best):
            best = tuple(sorted([node, *(members[place] for place in found.members)]))
    return _answer(best, max(bound, len(best)))


def _maximal_cliques(neighbors: Sequence[set[int]], nodes: set[int]) -> Iterator[set[int]]:
    """Yield the maximal cliques among some nodes.

    Source: Bron and Kerbosch, Algorithm 457, 1973, with a pivot: a maximal clique has the pivot, or a node
    that is not its neighbor.
    """

    def grown(clique: set[int], open_nodes: set[int], closed: set[int]) -> Iterator[set[int]]:
        if not open_nodes and not closed:
            yield clique
            return
        pivot = max(open_nodes | closed, key=lambda each: len(neighbors[each] & open_nodes))
        for node in sorted(open_nodes - neighbors[pivot]):
            yield from grown(clique | {node}, open_nodes & neighbors[node], closed & neighbors[node])
            open_nodes = open_nodes - {node}
            closed = closed | {node}

    yield from grown(set(), nodes, set())


def _later(neighbors: Sequence[set[int]]) -> dict[int, set[int]]:
    """Return each node's remaining neighbors when it is removed, nodes of least degree first."""
    left = {node: set(others) for node, others in enumerate(neighbors)}
    later = {}
    while left:
        node = min(left, key=lambda each: (len(left[each]), each))
        later[node] = left.pop(node)
        for other in later[node]:
            left[other].discard(node)
    return later


def _answer(chosen: Sequence[int], bound: int | float) -> Answer:
    return Answer(score=float(len(chosen)), bound=float(bound), members=tuple(chosen))


def _clique_cover(conflicts: Sequence[set[int]]) -> list[list[int]]:
    """Return cliques of conflicts that together contain every conflict, built greedily."""
    open_conflicts = {
        (element, other) for element, others in enumerate(conflicts) for other in others if element < other
    }
    cover = []
    for first, second in sorted(open_conflicts):
        if (first, second) not in open_conflicts:
            continue
        clique = [first, second]
        common = conflicts[first] & conflicts[second]
        while common:
            element = max(common, key=lambda each: (len(conflicts[each] & common), -each))
            clique.append(element)
            common = common & conflicts[element]
        for element in clique:
            for other in clique:
                open_conflicts.discard((element, other))
        cover.append(clique)
    return cover
