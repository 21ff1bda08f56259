"""Features of nodes averaged over their neighborhoods: a strong control that needs no training."""

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer
from tammes.data.node_set import NodeSet


def smoothed(nodes: NodeSet, *, hops: int = 2) -> Float[Tensor, "nodes width"]:
    """Return the features of all nodes of a graph, averaged over their neighbors `hops` times.

        S^K X,    S = D^(-1/2) (A + I) D^(-1/2)

    Args:
        nodes: nodes of a graph.
        hops: number of times, K.

    Raises:
        ValueError: a number below 0.

    Source: Wu et al., Simplifying Graph Convolutional Networks, 2019, eq. 4.

    Example:
        >>> from tammes.data import nodes_of
        >>> pair = nodes_of({"edge_index": [[0], [1]], "x": [[1.0], [3.0]]})
        >>> smoothed(pair, hops=1).round(decimals=3).tolist()
        [[2.0], [2.0]]
    """
    check_integer("hops", hops, minimum=0)
    degrees = nodes.starts.diff()
    targets = torch.arange(len(degrees)).repeat_interleave(degrees)
    scale = (degrees + 1).to(nodes.features.dtype).rsqrt()[:, None]
    found = nodes.features
    for _ in range(hops):
        sent = found * scale
        found = scale * sent.index_add(0, targets, sent[nodes.neighbors])
    return found
