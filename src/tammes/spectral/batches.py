"""Batches of graphs with eigenpairs: their checks, and the networks that are called with them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_indices, check_integer


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


def check_edges(edges: Tensor | None, batch: Int[Tensor, " nodes"], name: str = "edge_index") -> None:
    """Raise ValueError unless `edges` is int64 (2, m) and each edge joins two nodes of one graph.

    Args:
        edges: the edges.
        batch: graph of each node.
        name: name of their argument.
    """
    if edges is None or edges.dim() != 2 or edges.shape[0] != 2 or edges.dtype != torch.long:
        came = "none" if edges is None else f"{edges.dtype} {tuple(edges.shape)}"
        raise ValueError(f"expected {name} as integers (int64) of shape (2, m), got {came}")
    check_indices(f"the nodes of {name}", edges, len(batch))
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


def check_features(x: Tensor | None, nodes: int, features: int) -> None:
    """Raise ValueError unless the node features are finite and of shape (nodes, features)."""
    if x is None or x.shape != (nodes, features):
        came = "none" if x is None else str(tuple(x.shape))
        raise ValueError(
            f"expected node features of shape ({nodes}, {features}), as this network was built for, got "
            f"{came}"
        )
    if not bool(x.isfinite().all()):
        raise ValueError("expected finite node features, got infinities or NaN")


def check_columns(columns: int, expected: int) -> None:
    """Raise ValueError unless there are as many columns of eigenvectors as a network was built for."""
    if columns != expected:
        raise ValueError(
            f"expected {expected} columns of eigenvectors, as this network was built for, got {columns}; "
            "compute as many (count=), or use a rho for any number of them (SummedConfig, "
            "EigenvectorSetsConfig, EigenvectorTransformerConfig)"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class EigenvectorBatch:
    """A batch of graphs with eigenpairs, as an `EigenvectorNetwork` was called with it.

    Args:
        x: node features; None for a network that takes none.
        edge_index: edges of the batch.
        batch: graph of each node, ascending.
        vectors: eigenvectors, 0 in the columns that a graph lacks.
        values: eigenvalues.
    """

    x: Float[Tensor, "nodes features"] | None
    edge_index: Int[Tensor, "2 m"] | None
    batch: Int[Tensor, " nodes"]
    vectors: Float[Tensor, "nodes k"]
    values: Float[Tensor, "graphs k"]

    # The checks depend on numbers: each would break the compiled graph.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def check(self, features: int) -> None:
        """Raise ValueError unless eigenpairs and node features are finite and fit the nodes and graphs."""
        if torch.compiler.is_exporting():  # an exported program does not look at numbers
            return
        check_eigenpairs(self.batch, self.vectors, self.values)
        if features:
            check_features(self.x, len(self.batch), features)


class EigenvectorNetwork(nn.Module):
    """Network from the eigenvectors of a batch of graphs to an encoding of each node.

    Args:
        dim: channels of a node's encoding.
        features: number of node features that the network gets; with 0, `x` is ignored.

    Raises:
        ValueError: for a dimension below 1, or a negative number of features.
    """

    def __init__(self, *, dim: int, features: int = 0) -> None:
        super().__init__()
        self.dim = check_integer("dim", dim)
        self.features = check_integer("features", features, minimum=0)

    @override
    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes ..."]:
        """Return the encoding of each node.

        Args:
            x: node features; ignored where the network was built for none.
            edge_index: edges of the batch; a phi on graphs passes messages from the first node to the second.
            batch: graph of each node, ascending; None for one graph.
            eigenvectors: eigenvectors of any float type; 0 in the columns that a graph lacks.
            eigenvalues: ascending eigenvalues of any float type.

        Raises:
            ValueError: for eigenpairs that are not finite or do not fit the nodes and graphs of `batch`, and
                for node features that are not finite or not as many as the network was built for.
        """
        if batch is None:
            batch = torch.zeros(eigenvectors.shape[0], dtype=torch.long, device=eigenvectors.device)
        x = x if self.features else None
        given = EigenvectorBatch(
            x=x, edge_index=edge_index, batch=batch, vectors=eigenvectors, values=eigenvalues
        )
        given.check(self.features)
        return self.encoded(given)

    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes ..."]:
        """Return the encoding of each node of a checked batch."""
        raise NotImplementedError
