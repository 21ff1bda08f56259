"""Views of a node within its graph: other nodes keep their places, edges and features are hidden."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.data.graph_batch import GraphBatch
from tammes.positives.graph_augmentation import GraphAugmentation, GraphNoise


@dataclass(frozen=True, kw_only=True)
class EdgesAndFeatures(GraphAugmentation):
    """Random edges dropped, and random features set to 0 in all nodes of a graph (GRACE).

    Each edge goes with probability `share`, in both directions, and each feature with probability `masked`.

    Raises:
        ValueError: a share or a probability outside [0, 1).

    Source: Zhu et al., Deep Graph Contrastive Representation Learning, 2020.

    Example:
        >>> batch = GraphBatch(
        ...     features=torch.ones(3, 1000), edges=torch.tensor([[0, 1], [1, 0]]),
        ...     owner=torch.tensor([0, 0, 0]), count=1,
        ... )
        >>> view = EdgesAndFeatures(share=0.0, masked=0.25)(batch, seed=0)
        >>> view.features.sum(1).tolist(), view.edges.shape
        ([755.0, 755.0, 755.0], torch.Size([2, 2]))
    """

    share: float = 0.2
    """Probability that an edge is dropped."""

    masked: float = 0.2
    """Probability that a feature is set to 0."""

    def __post_init__(self) -> None:
        for name, value in (("share", self.share), ("masked", self.masked)):
            check_number(name, value, minimum=0, below=1)

    @override
    def changed(self, batch: GraphBatch, noise: GraphNoise, share: Float[Tensor, " graphs"]) -> GraphBatch:
        kept = noise.of_edges(batch, stream=8) >= share[batch.owner[batch.edges[0]]]
        width = batch.features.shape[1]
        graphs = torch.arange(batch.count, device=kept.device).repeat_interleave(width)
        columns = torch.arange(width, device=kept.device).repeat(batch.count)
        shown = noise.uniform(graphs, columns, stream=9) >= self.masked
        mask = shown.reshape(batch.count, width).to(batch.features.dtype)
        return replace(batch, edges=batch.edges[:, kept], features=batch.features * mask[batch.owner])
