"""The weighted adjacency of a batch of graphs, from which every Laplacian is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.batches import check_batch, check_edges


@dataclass(frozen=True, kw_only=True, eq=False)
class Adjacency:
    """Weighted edges without self-loops, and the sizes of the graphs; built by `Adjacency.of`.

    Args:
        edges: node numbers within the batch.
        weights: weight of each edge, in float64.
        batch: graph of each node, ascending.
        sizes: number of nodes of each graph.
    """

    edges: Int[Tensor, "2 m"]
    weights: Float[Tensor, " m"]
    batch: Int[Tensor, " nodes"]
    sizes: Int[Tensor, " graphs"]

    @classmethod
    def of(
        cls, edge_index: Int[Tensor, "2 m"], batch: Int[Tensor, " nodes"], edge_weight: Tensor | None = None
    ) -> Adjacency:
        """Return the adjacency of a torch_geometric batch.

        Raises:
            ValueError: for edges of another shape, that leave the nodes or join graphs, for a batch that
                does not ascend, and for weights that are not finite or not one for each edge.
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
        """First node of each graph."""
        return self.sizes.cumsum(0) - self.sizes

    @cached_property
    def owner(self) -> Int[Tensor, " m"]:
        """Graph of each edge."""
        return self.batch[self.edges[0]]

    @cached_property
    def degrees(self) -> Float[Tensor, " nodes"]:
        """Sum of the weights of the edges that leave each node."""
        return self.weights.new_zeros(len(self.batch)).index_add_(0, self.edges[0], self.weights)


def check_symmetric(difference: float, largest: float) -> None:
    """Raise ValueError unless a matrix A is symmetric up to the rounding of its weights.

    Args:
        difference: largest entry of |A - A^T|.
        largest: largest entry of |A|.
    """
    if difference > 1e-6 * largest:
        raise ValueError(
            "expected edges in both directions, with equal weights: the matrix of a graph is not symmetric "
            f"(entries differ by up to {difference:.3g}); make it symmetric (torch_geometric.transforms."
            "ToUndirected), or use Projectors.of its laplacian_matrix"
        )


def _checked_weights(weights: Tensor, edges: int) -> Float[Tensor, " m"]:
    if weights.shape != (edges,) or weights.is_complex():
        raise ValueError(
            f"expected edge_weight as {edges} real numbers, one for each edge, got {weights.dtype} "
            f"{tuple(weights.shape)}"
        )
    weights = weights.double()
    if not bool((2 * weights.abs().sum()).isfinite()):  # an upper bound of all eigenvalues
        raise ValueError("expected finite edge weights, got infinities, NaN, or a sum that overflows")
    return weights
