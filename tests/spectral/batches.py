"""Batches of graphs and their eigenvectors, and what must not matter about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import torch
from torch import Tensor

from tammes.spectral import RelativeGap, Symmetric, eigenpairs, eigenvector_mask
from tammes.spectral.eigen.laplacian import Laplacian


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """What a network on eigenvectors is called with, but for node features."""

    edges: Tensor
    batch: Tensor
    vectors: Tensor
    values: Tensor

    def arguments(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.edges, self.batch, self.vectors, self.values

    def single(self) -> Batch:
        return Batch(
            edges=self.edges, batch=self.batch, vectors=self.vectors.float(), values=self.values.float()
        )

    def rotated(self, seed: int) -> Batch:
        """Another orthonormal basis of every eigenspace, signs included."""
        generator = torch.Generator().manual_seed(seed)
        spaces = RelativeGap()(self.values, eigenvector_mask(self.vectors, self.batch, len(self.values)))
        vectors = self.vectors.clone()
        for graph, numbers in enumerate(spaces.number):
            rows = self.batch == graph
            for number in range(int(spaces.count[graph])):
                columns = (numbers == number).nonzero().flatten()
                d = len(columns)
                turn = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64))[0]
                turn = turn * torch.randint(0, 2, (d,), generator=generator).mul(2).sub(1)
                block = vectors[rows][:, columns] @ turn.to(vectors)
                vectors[rows.nonzero(), columns] = block
        return Batch(edges=self.edges, batch=self.batch, vectors=vectors, values=self.values)

    def permuted(self, seed: int) -> tuple[Batch, Tensor]:
        """The nodes of each graph in another order, and which node each of them was."""
        generator = torch.Generator().manual_seed(seed)
        keys = self.batch + torch.rand(len(self.batch), generator=generator)
        order = keys.argsort()
        edges = order.argsort()[self.edges]
        moved = Batch(edges=edges, batch=self.batch, vectors=self.vectors[order], values=self.values)
        return moved, order


def edges_of(graphs: Sequence[nx.Graph]) -> tuple[Tensor, Tensor]:
    """As torch_geometric stacks them."""
    edges, batch, start = [], [], 0
    for number, graph in enumerate(graphs):
        relabeled = nx.convert_node_labels_to_integers(graph)
        pairs = torch.tensor(list(relabeled.edges), dtype=torch.long).reshape(-1, 2).T + start
        edges.append(torch.cat([pairs, pairs.flip(0)], dim=1))
        batch.append(torch.full((len(relabeled),), number))
        start += len(relabeled)
    return torch.cat(edges, dim=1), torch.cat(batch)


def batch_of(*graphs: nx.Graph, laplacian: Laplacian | None = None, count: int | None = None) -> Batch:
    edges, batch = edges_of(graphs)
    pairs = eigenpairs(edges, batch, laplacian=laplacian or Symmetric(), count=count)
    return Batch(edges=edges, batch=batch, vectors=pairs.vectors, values=pairs.values)


def high_multiplicities() -> Batch:
    """A star, a cycle, a complete graph, one of two parts, one without edges, one node, and a tree."""
    return batch_of(
        nx.star_graph(6),
        nx.cycle_graph(8),
        nx.complete_graph(5),
        nx.disjoint_union(nx.path_graph(3), nx.path_graph(3)),
        nx.empty_graph(3),
        nx.empty_graph(1),
        nx.random_labeled_tree(9, seed=0),
    )
