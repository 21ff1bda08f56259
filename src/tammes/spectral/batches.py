"""Checks of a batch of graphs: node numbers, edges, eigenpairs and node features."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def batch_of(
    batch: Int[Tensor, " nodes"] | None, eigenvectors: Float[Tensor, "nodes k"]
) -> Int[Tensor, " nodes"]:
    """Return the graph of each node; None stands for a single graph, as in torch_geometric."""
    if batch is not None:
        return batch
    return torch.zeros(eigenvectors.shape[0], dtype=torch.long, device=eigenvectors.device)


def check_batch(batch: Tensor | None) -> None:
    """Raise ValueError unless `batch` holds the graph of each node, as int64 ascending from 0."""
    if batch is None:
        raise ValueError("expected batch, got None; for one graph give torch.zeros(nodes, dtype=torch.long)")
    if batch.dim() != 1 or batch.dtype != torch.long:
        raise ValueError(
            f"expected batch as one integer (int64) for each node, got {batch.dtype} {tuple(batch.shape)}"
        )
    if len(batch) and (int(batch[0]) < 0 or bool((batch[1:] < batch[:-1]).any())):
        raise ValueError("expected a batch that ascends from 0, as torch_geometric makes it; sort the nodes")


def check_edges(edges: Tensor, batch: Int[Tensor, " nodes"]) -> None:
    """Raise ValueError unless `edges` is int64 (2, m) and each edge joins two nodes of one graph."""
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.dtype != torch.long:
        raise ValueError(
            f"expected edge_index as integers (int64) of shape (2, m), got {edges.dtype} {tuple(edges.shape)}"
        )
    if not edges.numel():
        return
    lowest, highest = int(edges.min()), int(edges.max())
    if lowest < 0 or highest >= len(batch):
        raise ValueError(
            f"expected edges between nodes 0 to {len(batch) - 1}, got numbers from {lowest} to {highest}"
        )
    if bool((batch[edges[0]] != batch[edges[1]]).any()):
        raise ValueError("expected edges within graphs, got one that joins two; check batch")


def check_rows(eigenvectors: Tensor, batch: Int[Tensor, " nodes"]) -> None:
    """Raise ValueError unless `eigenvectors` is a matrix with one row for each node of `batch`."""
    if eigenvectors.dim() != 2 or eigenvectors.shape[0] != batch.shape[0]:
        raise ValueError(
            f"expected eigenvectors of shape ({len(batch)}, k), a row for each node of the batch, got "
            f"{tuple(eigenvectors.shape)}"
        )


def check_eigenpairs(batch: Int[Tensor, " nodes"], eigenvectors: Tensor, eigenvalues: Tensor) -> None:
    """Raise ValueError unless the eigenpairs are real, finite, and fit the nodes and graphs of `batch`.

    Args:
        batch: graph of each node, ascending.
        eigenvectors: matrix of shape (nodes, k), k at least 1.
        eigenvalues: matrix of shape (graphs, k).
    """
    check_batch(batch)
    check_rows(eigenvectors, batch)
    graphs, columns = int(batch[-1]) + 1 if len(batch) else 0, eigenvectors.shape[1]
    fits = eigenvalues.dim() == 2 and len(eigenvalues) >= graphs and eigenvalues.shape[1] == columns
    if not fits or columns < 1:
        raise ValueError(
            f"expected eigenvalues of shape ({graphs}, {columns}), a row for each graph and a column, at "
            f"least one, for each of the eigenvectors, got {tuple(eigenvalues.shape)}"
        )
    for name, values in (("eigenvectors", eigenvectors), ("eigenvalues", eigenvalues)):
        if values.is_complex():
            raise ValueError(
                f"expected real {name}, got {values.dtype}; use ProjectorBasisNet on their projectors"
            )
        if not values.is_floating_point():
            raise ValueError(f"expected {name} of a float type, got {values.dtype}")
        if not bool(values.isfinite().all()):
            raise ValueError(f"expected finite {name}, got infinities or NaN")


def check_features(x: Tensor | None, nodes: int, features: int) -> Float[Tensor, "nodes features"]:
    """Return the node features; raise ValueError unless they are finite and of shape (nodes, features)."""
    if x is None or x.shape != (nodes, features):
        came = "none" if x is None else str(tuple(x.shape))
        raise ValueError(
            f"expected node features of shape ({nodes}, {features}), as this network was built for, got "
            f"{came}"
        )
    if not bool(x.isfinite().all()):
        raise ValueError("expected finite node features, got infinities or NaN")
    return x


def check_columns(columns: int, expected: int) -> None:
    """Raise ValueError unless there are as many columns of eigenvectors as a network was built for."""
    if columns != expected:
        raise ValueError(
            f"expected {expected} columns of eigenvectors, as this network was built for, got {columns}; "
            "compute as many (count=), or use a rho for any number of them (SummedConfig, "
            "EigenvectorSetsConfig, EigenvectorTransformerConfig)"
        )
