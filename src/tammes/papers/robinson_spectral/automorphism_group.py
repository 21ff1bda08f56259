"""Automorphisms of a graph, decided exactly: twins, color refinement, and a search where colors are equal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jaxtyping import Int
from torch import Tensor

Neighbors = Sequence[frozenset[int]]
"""Neighbors of each node, without the node itself."""
Permutation = tuple[int, ...]
"""Image of each node."""


@dataclass(frozen=True, kw_only=True)
class Symmetry:
    """What `symmetry` says of a graph.

    Args:
        automorphism: an automorphism other than the identity, of an order above 2 if the graph has such a
            one; None for a graph that has the identity only.
        above_two: whether the graph has an automorphism of an order above 2.
    """

    automorphism: Permutation | None
    above_two: bool


def symmetry(neighbors: Neighbors) -> Symmetry:
    """Decide whether a graph has a nontrivial automorphism, and one of an order above 2.

    All automorphisms have an order of at most 2 exactly if the generators of the group are involutions that
    commute. Two involutions a and b commute exactly if the order of ab is at most 2.

    Args:
        neighbors: neighbors of each node, symmetric; any number of components.

    Example:
        >>> symmetry([frozenset({1}), frozenset({0, 2}), frozenset({1})])  # a path
        Symmetry(automorphism=(2, 1, 0), above_two=False)
        >>> symmetry([frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1})]).above_two  # a triangle
        True
    """
    earlier: list[Permutation] = []
    for each in generators(neighbors):
        for product in (each, *(composed(each, other) for other in earlier)):
            if any(product[product[node]] != node for node in range(len(product))):
                return Symmetry(automorphism=product, above_two=True)
        earlier.append(each)
    return Symmetry(automorphism=earlier[0] if earlier else None, above_two=False)


def generators(neighbors: Neighbors) -> Iterator[Permutation]:
    """Yield automorphisms that generate the automorphism group; none for a graph with the identity only.

    Twins are exchanged one after the other. Every automorphism maps twins to twins, and becomes one that
    keeps their order if twins are exchanged afterwards; so the search for the others begins with the place
    among the twins as a node's color.

    Args:
        neighbors: neighbors of each node, symmetric.

    Example:
        >>> list(generators([frozenset({1}), frozenset({0}), frozenset()]))
        [(1, 0, 2)]
    """
    places = [0] * len(neighbors)
    for twins in twin_classes(neighbors):
        for place, (one, other) in enumerate(pairwise(twins), start=1):
            places[other] = place
            exchange = {one: other, other: one}
            yield tuple(exchange.get(node, node) for node in range(len(neighbors)))
    yield from _Search(neighbors, places).generators()


def twin_classes(neighbors: Neighbors) -> list[list[int]]:
    """Return the classes of two or more twins: nodes with equal neighbors apart from each other.

    Example:
        >>> twin_classes([frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1, 3}), frozenset({2})])
        [[0, 1]]
    """
    classes: dict[tuple[bool, frozenset[int]], list[int]] = {}
    for node, others in enumerate(neighbors):
        classes.setdefault((False, others), []).append(node)
        classes.setdefault((True, others | {node}), []).append(node)
    return [twins for twins in classes.values() if len(twins) > 1]


def refined(neighbors: Neighbors, colors: Sequence[int]) -> list[int]:
    """Return the stable colors of color refinement, numbered alike in isomorphic colored graphs.

    A node's new color is the rank of its color and those of its neighbors among all nodes, so an automorphism
    that maps some colors to others maps their stable colors to each other, too.

    Example:
        >>> refined([frozenset({1}), frozenset({0, 2}), frozenset({1})], [0, 0, 0])
        [0, 1, 0]
    """
    count, colors = len(set(colors)), list(colors)
    while True:
        keys = [
            (own, *sorted(colors[other] for other in others))
            for own, others in zip(colors, neighbors, strict=True)
        ]
        ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
        colors = [ranks[key] for key in keys]
        if len(ranks) == count:
            return colors
        count = len(ranks)


def composed(first: Permutation, second: Permutation) -> Permutation:
    """Return the permutation that does the first one, then the second.

    Example:
        >>> composed((1, 2, 0), (1, 0, 2))
        (0, 2, 1)
    """
    return tuple(second[image] for image in first)


def neighbors_of(edges: Int[Tensor, "2 m"], nodes: int) -> list[frozenset[int]]:
    """Return the neighbors of each node of one graph, without self-loops.

    Args:
        edges: edges in both directions.
        nodes: number of nodes.

    Example:
        >>> import torch
        >>> [sorted(others) for others in neighbors_of(torch.tensor([[0, 1], [1, 0]]), 3)]
        [[1], [0], []]
    """
    found: list[set[int]] = [set() for _ in range(nodes)]
    for node, other in edges.T.tolist():
        if node != other:
            found[node].add(other)
    return [frozenset(others) for others in found]


class _Search:
    """Generators of the automorphisms that keep colors, as McKay and Piperno (2014) find them.

    A path of colorings ends with a color for each node: level by level, one node of the smallest cell of
    equal colors, the base, gets a color that no other node has, and colors are refined. An automorphism that
    fixes the earlier base nodes is then known by the node that it maps the next one to, up to those that fix
    this one, too.
    """

    def __init__(self, neighbors: Neighbors, colors: Sequence[int]) -> None:
        self.neighbors = neighbors
        self.path = [refined(neighbors, colors)]
        self.base: list[int] = []
        while len(counts := Counter(self.path[-1])) < len(neighbors):
            cell = min((count, color) for color, count in counts.items() if count > 1)[1]
            self.base.append(self.path[-1].index(cell))
            self.path.append(self._split(self.path[-1], self.base[-1]))
        self.histograms = [sorted(level) for level in self.path]

    def generators(self) -> Iterator[Permutation]:
        """Yield generators, those that fix the most base nodes first."""
        orbit = list(range(len(self.neighbors)))
        for level in reversed(range(len(self.base))):
            colors, node = self.path[level], self.base[level]
            without: list[int] = []  # a node of each orbit that the base node is not mapped to
            for other in range(len(colors)):
                known = {orbit[node], *(orbit[each] for each in without)}
                if colors[other] != colors[node] or orbit[other] in known:
                    continue
                found = self._extended(level + 1, self._split(colors, other))
                if found is None:
                    without.append(other)
                else:
                    orbit = _joined(orbit, found)
                    yield found

    def _extended(self, level: int, colors: list[int]) -> Permutation | None:
        """Return an automorphism that maps the colors of a level of the path to the given ones, or None."""
        left = [iter([colors])]  # colorings to be tried at the levels from this one on
        while left:
            tried = next(left[-1], None)
            here = level + len(left) - 1
            if tried is None:
                left.pop()
            elif sorted(tried) != self.histograms[here]:
                continue  # an automorphism would map equally many nodes of each color
            elif here < len(self.base):
                left.append(self._splits(tried, self.path[here][self.base[here]]))
            else:
                node_of = {color: node for node, color in enumerate(tried)}
                mapping = tuple(node_of[color] for color in self.path[here])
                if self._is_automorphism(mapping):
                    return mapping
        return None

    def _splits(self, colors: list[int], cell: int) -> Iterator[list[int]]:
        return (self._split(colors, node) for node, color in enumerate(colors) if color == cell)

    def _split(self, colors: list[int], node: int) -> list[int]:
        """Return the stable colors after one node has got a color that no other has."""
        return refined(self.neighbors, [2 * color + (each == node) for each, color in enumerate(colors)])

    def _is_automorphism(self, mapping: Permutation) -> bool:
        return all(
            {mapping[other] for other in others} == self.neighbors[mapping[node]]
            for node, others in enumerate(self.neighbors)
        )


def _joined(orbit: list[int], mapping: Permutation) -> list[int]:
    """Return the orbits after a further generator; a number for each node, equal within an orbit."""
    for node, image in enumerate(mapping):
        one, other = orbit[node], orbit[image]
        if one != other:
            orbit = [one if each == other else each for each in orbit]
    return orbit
