"""Largest sets of elements without conflicts: independent sets, and cliques by the complement graph."""

import math
import time
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import combinations, count, takewhile

from tammes.extensions.integer_program import Answer, Program

FEW = 24
"""Nodes among which cliques are enumerated, at most 3^(24 / 3) = 6,561 maximal ones (Moon, Moser, 1965)."""

STEPS = 1024
"""Removals of nodes between two looks at the clock."""


def largest_without(conflicts: Sequence[set[int]], seconds: float = math.inf) -> Answer:
    """Return the largest set of elements no two of which are in conflict.

    Conflicts are covered by cliques, of each of which at most one element may be chosen: a far tighter
    program than one with a constraint for each conflict.

    Args:
        conflicts: for each element, the elements that it is in conflict with.
        seconds: time limit, after which the best set so far is returned with a bound; one pass over the
            elements is not cut short.

    Example:
        >>> largest_without([{1}, {0, 2}, {1}])
        Answer(score=2.0, bound=2.0, members=(0, 2))
    """
    ends, elements = time.monotonic() + seconds, len(conflicts)
    most, greedy = _clique_partition(conflicts, ends), greedy_without(conflicts, ends)
    if len(greedy) == most:
        return _answer(greedy, most)
    cover = takewhile(lambda _: time.monotonic() < ends, _clique_cover(conflicts))
    rows = [[(element, 1.0) for element in clique] for clique in cover]
    if (left := ends - time.monotonic()) <= 0:
        return _answer(greedy, most)
    program = Program(gain=[1.0] * elements, rows=rows, limits=[1.0] * len(rows), elements=elements)
    found = program.solve(left).rounded()
    return _answer(max(found.members, greedy, key=len), min(found.bound, most))


def greedy_without(conflicts: Sequence[set[int]], ends: float = math.inf) -> list[int]:
    """Return a set without conflicts, built from the element with the fewest remaining conflicts each time.

    Args:
        conflicts: for each element, the elements that it is in conflict with.
        ends: time of `time.monotonic` after which the set so far is returned.

    >>> greedy_without([{1, 2, 3}, {0}, {0}, {0}])
    [1, 2, 3]
    """
    return sorted(element for element, _ in _fewest_first(conflicts, ends, and_neighbors=True))


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
    ends, bound = time.monotonic() + seconds, 0.0
    later, best = _later(neighbors, ends), set[int]()
    for node in reversed(later):  # a first clique, from where the graph is densest
        if best <= neighbors[node]:
            best.add(node)
    # The largest neighborhoods come first, after which the rest cannot hold a larger clique.
    for node, others in sorted(later.items(), key=lambda each: -len(each[1])):
        if len(others) < len(best):
            break
        if (left := ends - time.monotonic()) <= 0:
            return _answer(sorted(best), max(bound, len(others) + 1))
        if len(others) <= FEW:  # as in molecules: quicker than to set up a program
            clique = _largest_among(neighbors, others)
            most: float = len(clique)
        else:
            members = sorted(others)
            place = {each: number for number, each in enumerate(members)}
            conflicts = [{place[other] for other in others - neighbors[each] - {each}} for each in members]
            found = largest_without(conflicts, left)
            clique, most = {members[number] for number in found.members}, found.bound
        best, bound = max(best, {node, *clique}, key=len), max(bound, most + 1)
    return _answer(sorted(best), max(bound, len(best)))


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


def _later(neighbors: Sequence[set[int]], ends: float) -> dict[int, set[int]]:
    """Return each node's remaining neighbors when it is removed, nodes of least degree first.

    Nodes that are not removed when the time is over keep all their neighbors.
    """
    later = dict(_fewest_first(neighbors, ends))
    return later | {node: others for node, others in enumerate(neighbors) if node not in later}


def _fewest_first(
    neighbors: Sequence[set[int]], ends: float, *, and_neighbors: bool = False
) -> Iterator[tuple[int, set[int]]]:
    """Remove a node with the fewest remaining neighbors, and yield it with them, until the time is over.

    Args:
        neighbors: for each node, its neighbors.
        ends: time of `time.monotonic`, which is looked at once in `STEPS` steps.
        and_neighbors: whether the neighbors of the node are removed too.
    """
    removed, degrees = set[int](), [len(others) for others in neighbors]
    heap = sorted((degree, node) for node, degree in enumerate(degrees))
    for step in count(1):
        if not heap or (step % STEPS == 0 and time.monotonic() > ends):
            return
        degree, node = heappop(heap)
        # A node has an entry for each number of neighbors that it had: only the last one counts.
        if node in removed or degree > degrees[node]:
            continue
        others = neighbors[node] - removed
        gone = {node, *others} if and_neighbors else {node}
        removed |= gone
        for other in (each for one in gone for each in neighbors[one] if each not in removed):
            degrees[other] -= 1
            heappush(heap, (degrees[other], other))
        yield node, others


def _answer(chosen: Sequence[int], bound: int | float) -> Answer:
    return Answer(score=float(len(chosen)), bound=float(bound), members=tuple(chosen))


def _clique_partition(conflicts: Sequence[set[int]], ends: float) -> int:
    """Return a number of cliques that hold all elements, of each of which at most one may be chosen."""
    clique: dict[int, set[int]] = {}
    cliques = 0
    for element, others in enumerate(conflicts):
        if time.monotonic() > ends:
            return cliques + len(conflicts) - element
        own = next((clique[each] for each in others if each in clique and clique[each] <= others), None)
        cliques += own is None
        clique[element] = own = own or set()
        own.add(element)
    return cliques


def _clique_cover(conflicts: Sequence[set[int]]) -> Iterator[list[int]]:
    """Yield cliques of conflicts that together contain every conflict, built greedily."""
    covered: set[tuple[int, int]] = set()
    pairs = ((first, other) for first, others in enumerate(conflicts) for other in sorted(others))
    for first, second in pairs:
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
