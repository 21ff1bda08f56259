"""Nodes against graphs: a node's own graph is its positive, the others of the batch its negatives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.checks import check_shape
from tammes.pairs import Pairs
from tammes.sources.inbatch import check_views


@dataclass(frozen=True, kw_only=True)
class NodesToGraphs:
    """Nodes as anchors, the graphs of the batch as candidates (InfoGraph, local to global).

    Nothing in an objective knows of it: the ids say which graph is a node's own, and the loss of
    `recipes.jsd()` on these pairs is the published local-global loss up to the constant 2 log 2. No matrix of
    all nodes and graphs is formed.

    Source: Sun et al., InfoGraph, 2020, eq. 3 and 4; Robinson (2023), appendix A.2. Differs: the text
    averages over graphs and, within each, over its nodes; as in the published code, an objective averages
    over all nodes of the batch.

    Example:
        >>> import tammes
        >>> nodes, graphs = torch.randn(5, 8), torch.randn(2, 8)
        >>> pairs = NodesToGraphs()(nodes, graphs, owner=torch.tensor([0, 0, 1, 1, 1]))
        >>> pairs.positives().candidate.tolist()
        [0, 0, 1, 1, 1]
        >>> loss = tammes.recipes.jsd()(pairs)
    """

    def __call__(
        self,
        nodes: Float[Tensor, "nodes d"],
        graphs: Float[Tensor, "graphs d"],
        *,
        owner: Int64[Tensor, " nodes"],
        ids: Int64[Tensor, " graphs"] | None = None,
        labels: Int64[Tensor, " graphs"] | None = None,
    ) -> Pairs:
        """Return the pairs.

        Args:
            nodes: embeddings of all nodes of the batch.
            graphs: embeddings of the graphs.
            owner: graph of each node.
            ids: number of each graph; the same number makes two graphs positives of each other's nodes. By
                default each graph has its own.
            labels: class of each graph, for selections that need classes.

        Raises:
            ValueError: embeddings that are no matrices of one width, an owner for another number of nodes,
                beyond the graphs or of another type, ids or labels for another number of graphs, fewer than
                two graphs.
        """
        for rows in (nodes, graphs):
            check_views((rows,))
        if not isinstance(owner, Tensor) or owner.dtype != torch.int64:  # bytes would be taken for a mask
            got = owner.dtype if isinstance(owner, Tensor) else type(owner).__name__
            raise ValueError(f"owner must be integers of 64 bits, the graph of each node, got {got}")
        for name, numbers in (("ids", ids), ("labels", labels)):
            if numbers is not None:
                check_shape(f"{name}, one for each graph,", numbers.shape, (len(graphs),))
        if owner.shape != nodes.shape[:1]:
            raise ValueError(
                f"owner must name the graph of each of the {len(nodes)} nodes: got shape {tuple(owner.shape)}"
            )
        if len(graphs) < 2:
            raise ValueError(f"expected at least two graphs, got {len(graphs)}: one has no negative")
        if len(owner) and not 0 <= int(owner.min()) <= int(owner.max()) < len(graphs):
            raise ValueError(
                f"owner must be from 0 to {len(graphs) - 1}, got {int(owner.min())} to {int(owner.max())}"
            )
        ids = torch.arange(len(graphs), device=graphs.device) if ids is None else ids.to(graphs.device)
        labels = None if labels is None else labels.to(graphs.device)
        return Pairs(
            anchors=nodes,
            ids=ids[owner],
            candidates=graphs,
            candidate_ids=ids,
            labels=None if labels is None else labels[owner],
            candidate_labels=labels,
        )
