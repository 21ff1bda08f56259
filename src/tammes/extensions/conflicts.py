"""Largest sets of elements without conflicts: independent sets, and cliques by the complement graph."""

import math
import time
from collections.abc import Iterator, Sequence
from itertools import combinations, takewhile

from tammes.extensions.integer_program import Answer, Program

FEW = 24
"""Nodes among which cliques are enumerated, at most 3^(24 / 3) = 6,561 maximal ones (Moon, Moser, 1965)."""


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
    ends, greedy, elements = time.monotonic() + seconds, greedy_without(conflicts), len(conflicts)
    cover = takewhile(lambda _: time.monotonic() < ends, _clique_cover(conflicts))
    rows = [[(element, 1.0) for element in clique] for clique in cover]
    if (left := ends - time.monotonic()) <= 0:
        return _answer(greedy, elements)
    program = Program(gain=[1.0] * elements, rows=rows, limits=[1.0] * len(rows), elements=elements)
    found = program.solve(left).rounded()
    return _answer(max(found.members, greedy, key=len), found.bound)


def greedy_without(conflicts: Sequence[set[int]]) -> list[int]:
    """Return a set without conflicts, built from the element with the fewest remaining conflicts each time.

    >>> greedy_without([{1, 2, 3}, {0}, {0}, {0}])
    [1, 2, 3]
    """
    left = {element: set(others) for element, others in enumerate(conflicts)}
    chosen = []
    for element in _fewest_first(left):
        chosen.append(element)
        for gone in (*left[element], element):
            _remove(left, gone)
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
    best: set[int] = set()
    bound = 0.0
    # The largest neighborhoods come first, after which the rest cannot hold a larger clique.
    for node, others in sorted(_later(neighbors).items(), key=lambda each: -len(each[1])):
        if len(others) < len(best):
            break
        left = ends - time.monotonic()
        if left <= 0 and best:
            return _answer(sorted(best), max(bound, len(others) + 1))
        if len(others) <= FEW and left > 0:  # as in molecules: quicker than to set up a program
            clique = _largest_among(neighbors, others)
            most: float = len(clique)
        else:
            members = sorted(others)
            place = {each: number for number, each in enumerate(members)}
            conflicts = [{place[other] for other in others - neighbors[each] - {each}} for each in members]
            found = largest_without(conflicts, left)
            clique, most = {members[number] for number in found.members}, found.bound
        best, bound = max(best, {node, *clique}, key=len), max(bound, most + 1)
    return _answer(sorted(best), bound)


def _largest_among(neighbors: Sequence[set[int]], nodes: set[int]) -> set[int]:
    """Return a largest clique among some nodes.

    Source: Bron and Kerbosch, Algorithm 457, 1973, with a pivot: a maximal clique has the pivot, or a node
    that is not its neighbor.
    """
    if not nodes:
        return set()
    best: set[int] = set()
    pivot = max(nodes, key=lambda each: len(neighbors[each] & nodes))
    for node in sorted(nodes - neighbors[pivot]):
        best = max(best, {node} | _largest_among(neighbors, nodes & neighbors[node]), key=len)
        nodes = nodes - {node}
    return best


def _later(neighbors: Sequence[set[int]]) -> dict[int, set[int]]:
    """Return each node's remaining neighbors when it is removed, nodes of least degree first."""
    left = {node: set(others) for node, others in enumerate(neighbors)}
    return {node: _remove(left, node) for node in _fewest_first(left)}


def _fewest_first(left: dict[int, set[int]]) -> Iterator[int]:
    """Yield a node with the fewest remaining neighbors until none remains; the caller removes nodes."""
    while left:
        yield min(left, key=lambda each: (len(left[each]), each))


def _remove(left: dict[int, set[int]], node: int) -> set[int]:
    """Remove a node, and return its remaining neighbors."""
    others = left.pop(node)
    for other in others:
        left[other].discard(node)
    return others


def _answer(chosen: Sequence[int], bound: int | float) -> Answer:
    return Answer(score=float(len(chosen)), bound=float(bound), members=tuple(chosen))


def _clique_cover(conflicts: Sequence[set[int]]) -> Iterator[list[int]]:
    """Yield cliques of conflicts that together contain every conflict, built greedily."""
    covered: set[tuple[int, int]] = set()
    for first, second in sorted((first, other) for first, others in enumerate(conflicts) for other in others):
        if first > second or (first, second) in covered:
            continue
        clique = [first, second]
        common = conflicts[first] & conflicts[second]
        while common:
            element = max(common, key=lambda each: (len(conflicts[each] & common), -each))
            clique.append(element)
            common = common & conflicts[element]
        covered.update(combinations(sorted(clique), 2))
        yield clique
