"""What every network on a batch of eigenpairs expects of it."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.adjacency import check_batch


def batch_of(
    batch: Int[Tensor, " nodes"] | None, eigenvectors: Float[Tensor, "nodes k"]
) -> Int[Tensor, " nodes"]:
    """The graph of each node, where None stands for a single graph, as in torch_geometric."""
    if batch is not None:
        return batch
    return torch.zeros(len(eigenvectors), dtype=torch.long, device=eigenvectors.device)


def check_eigenpairs(
    batch: Int[Tensor, " nodes"],
    eigenvectors: Float[Tensor, "nodes k"],
    eigenvalues: Float[Tensor, "graphs k"],
) -> None:
    """Refuse eigenpairs that do not belong to the batch.

    Raises:
        ValueError: for a batch that does not ascend, another number of nodes, graphs or columns, and for
            entries that are not real and finite.
    """
    check_batch(batch)
    if eigenvectors.dim() != 2 or len(eigenvectors) != len(batch):
        raise ValueError(
            f"expected eigenvectors of shape ({len(batch)}, k), a row for each node of the batch, got "
            f"{tuple(eigenvectors.shape)}"
        )
    graphs = int(batch[-1]) + 1 if len(batch) else 0
    if (
        eigenvalues.dim() != 2
        or len(eigenvalues) < graphs
        or eigenvalues.shape[1] != eigenvectors.shape[1]
        or eigenvectors.shape[1] < 1
    ):
        raise ValueError(
            f"expected eigenvalues of shape ({graphs}, {eigenvectors.shape[1]}), a row for each graph and a "
            f"column, at least one, for each of the eigenvectors, got {tuple(eigenvalues.shape)}"
        )
    for name, values in (("eigenvectors", eigenvectors), ("eigenvalues", eigenvalues)):
        if values.is_complex():
            raise ValueError(f"expected real {name}, got {values.dtype}; take BasisNet on their projectors")
        if not values.is_floating_point():
            raise ValueError(f"expected {name} of a float type, got {values.dtype}")
        if not bool(values.isfinite().all()):
            raise ValueError(f"expected finite {name}, got infinities or NaN")


def check_features(
    x: Float[Tensor, "nodes features"] | None, nodes: int, features: int
) -> Float[Tensor, "nodes features"]:
    """The node features, where they are as many as a network was built for.

    Raises:
        ValueError: where they are not, or not finite.
    """
    if x is None or x.shape != (nodes, features):
        came = "none" if x is None else str(tuple(x.shape))
        raise ValueError(
            f"expected node features of shape ({nodes}, {features}), as this network was built for, got "
            f"{came}"
        )
    if not bool(x.isfinite().all()):
        raise ValueError("expected finite node features, got infinities or NaN")
    return x


def expect_columns(eigenvectors: Float[Tensor, "nodes k"], columns: int) -> None:
    """Refuse another number of columns than a module was made for.

    Raises:
        ValueError: for another number.
    """
    if eigenvectors.shape[1] != columns:
        raise ValueError(
            f"expected {columns} columns of eigenvectors, as this module was made for, got "
            f"{eigenvectors.shape[1]}"
        )
