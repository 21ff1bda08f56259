"""The weighted adjacency of a batch of graphs, checked, with what every Laplacian is made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjacency:
    """Edges without self-loops, with weights, and the sizes of the graphs. `Adjacency.of` makes it.

    Args:
        edges: `(2, m)`, numbers among all nodes.
        weights: of each edge, in float64.
        batch: the graph of each node, ascending.
        sizes: how many nodes each graph has.
    """

    edges: Int[Tensor, "2 m"]
    weights: Float[Tensor, " m"]
    batch: Int[Tensor, " nodes"]
    sizes: Int[Tensor, " graphs"]

    @classmethod
    def of(
        cls,
        edge_index: Int[Tensor, "2 m"],
        batch: Int[Tensor, " nodes"],
        edge_weight: Float[Tensor, " m"] | None = None,
    ) -> Adjacency:
        """What torch_geometric's batch holds.

        Raises:
            ValueError: for edges of another shape, that leave the nodes or join graphs, for a batch that
                does not ascend, and for weights of another number, or that are not finite.
        """
        check_batch(batch)
        check_edges(edge_index, batch)
        if edge_weight is None:
            weights = torch.ones(edge_index.shape[1], dtype=torch.float64, device=edge_index.device)
        else:
            weights = _checked_weights(edge_weight, edge_index.shape[1])
        between = edge_index[0] != edge_index[1]
        return cls(
            edges=edge_index[:, between],
            weights=weights[between],
            batch=batch,
            sizes=torch.bincount(batch) if len(batch) else batch,
        )

    @cached_property
    def starts(self) -> Int[Tensor, " graphs"]:
        """Where the nodes of each graph begin."""
        return self.sizes.cumsum(0) - self.sizes

    @cached_property
    def owner(self) -> Int[Tensor, " m"]:
        """The graph of each edge."""
        return self.batch[self.edges[0]]

    @cached_property
    def degrees(self) -> Float[Tensor, " nodes"]:
        """The sum of the weights of the edges that leave each node."""
        return self.weights.new_zeros(len(self.batch)).index_add_(0, self.edges[0], self.weights)


def expect_symmetric(difference: Tensor, largest: Tensor) -> None:
    """Refuse a matrix A by the largest entries of |A - A^T| and of |A|; weights may be rounded differently.

    Raises:
        ValueError: where A is not symmetric.
    """
    if float(difference) > 1e-6 * float(largest):
        raise ValueError(
            "expected edges in both directions, with equal weights: the matrix of a graph is not symmetric "
            f"(entries differ by up to {float(difference):.3g}); make it so (torch_geometric.transforms."
            "ToUndirected), or take EigenspaceProjectors of its laplacian_matrix"
        )


def check_batch(batch: Int[Tensor, " nodes"] | None) -> None:
    """Refuse what does not name the graph of each node, one graph after the other.

    Raises:
        ValueError: for another shape or type, and for a batch that does not ascend from 0.
    """
    if batch is None:
        raise ValueError("expected batch, got None; of one graph it is torch.zeros(nodes, dtype=torch.long)")
    if batch.dim() != 1 or batch.dtype != torch.long:
        raise ValueError(
            f"expected batch as one integer (int64) for each node, got {batch.dtype} {tuple(batch.shape)}"
        )
    if len(batch) and (int(batch[0]) < 0 or bool((batch[1:] < batch[:-1]).any())):
        raise ValueError("expected a batch that ascends from 0, as torch_geometric makes it; sort the nodes")


def check_edges(edges: Int[Tensor, "2 m"], batch: Int[Tensor, " nodes"]) -> None:
    """Refuse edges that are none of the batch.

    Raises:
        ValueError: for another shape or type, and for edges that leave the nodes or join graphs.
    """
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.dtype != torch.long:
        raise ValueError(
            f"expected edge_index as integers (int64) of shape (2, m), got {edges.dtype} {tuple(edges.shape)}"
        )
    if not edges.numel():
        return
    least, most = int(edges.min()), int(edges.max())
    if least < 0 or most >= len(batch):
        raise ValueError(
            f"expected edges between nodes 0 to {len(batch) - 1}, got numbers from {least} to {most}"
        )
    if bool((batch[edges[0]] != batch[edges[1]]).any()):
        raise ValueError("expected edges within graphs, got one that joins two; check batch")


def _checked_weights(weights: Tensor, edges: int) -> Tensor:
    if weights.shape != (edges,) or weights.is_complex():
        raise ValueError(
            f"expected edge_weight as {edges} real numbers, one for each edge, got {weights.dtype} "
            f"{tuple(weights.shape)}"
        )
    weights = weights.double()
    if not bool((2 * weights.abs().sum()).isfinite()):  # a bound of all eigenvalues
        raise ValueError("expected finite edge weights, got infinities, NaN, or a sum beyond all numbers")
    return weights
