"""Graphs as large as molecules, and grids."""

from __future__ import annotations

import random

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from tammes.spectral import eigenpairs


def molecule(numbers: random.Random) -> Data:
    """As large as ZINC's, 23 atoms and 25 bonds on average: a tree of few branches, and rings of 5 or 6."""
    n = min(37, max(9, round(numbers.gauss(23.2, 4.5))))
    parents = [numbers.randrange(max(0, node - 2), node) for node in range(1, n)]
    bonds = {(parent, node) for node, parent in enumerate(parents, start=1)}
    for _ in range(round(n / 9)):
        node = last = numbers.randrange(n)
        for _ in range(numbers.choice((4, 5))):
            last = parents[last - 1] if last else 0
        if last < node:
            bonds.add((last, node))
    edges = torch.tensor(sorted(bonds)).T
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=n)


def molecules(count: int) -> list[Data]:
    """The same molecules at each call."""
    numbers = random.Random(0)
    return [molecule(numbers) for _ in range(count)]


Arguments = tuple[None, Tensor, Tensor, Tensor, Tensor]
"""What an encoding is called with."""


def with_eigenpairs(graphs: list[Data], k: int | None = None) -> Arguments:
    """A batch with k eigenvectors or all, in single precision; eigenvalues in double, to see which are equal.

    Args:
        graphs: graphs of the batch.
        k: number of eigenvectors of a graph; None takes all.
    """
    batch = Batch.from_data_list(graphs)
    pairs = eigenpairs(batch.edge_index, batch.batch, count=k)
    return None, batch.edge_index, batch.batch, pairs.vectors.float(), pairs.values


def grid(side: int) -> Data:
    """Side by side nodes, each joined to the next in its row and in its column."""
    numbers = torch.arange(side**2).view(side, side)
    along = torch.stack([numbers[:, :-1].flatten(), numbers[:, 1:].flatten()])
    down = torch.stack([numbers[:-1].flatten(), numbers[1:].flatten()])
    edges = torch.cat([along, down], dim=1)
    return Data(edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=side**2)
