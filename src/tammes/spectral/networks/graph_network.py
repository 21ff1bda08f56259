"""Networks on graphs: a linear map, then residual layers of message passing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.layers import check_sizes


class GraphNetwork(nn.Module):
    """h := h + dropout(relu(normalize(layer(h)))), for each of torch_geometric's layers, from h = W x.

    Args:
        config: settings.
        features: number of features of a node.
        edge_features: number of features of an edge; 0 for none.
    """

    def __init__(self, config: GraphNetworkConfig, features: int, edge_features: int) -> None:
        super().__init__()
        self.features = check_integer("features", features)
        self.edge_features = check_integer("edge_features", edge_features, minimum=0)
        self.outputs = width = config.width
        layers = [config.layer(edge_features or None) for _ in range(config.layers)]
        feed_forward = config.feed_forward()
        self.first = nn.Linear(features, width)
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in layers)
        self.feed_forward = nn.ModuleList(feed_forward)
        self.feed_norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in feed_forward)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "nodes features"],
        edge_index: Int[Tensor, "2 m"],
        edge_attr: Float[Tensor, "m edge_features"] | None = None,
    ) -> Float[Tensor, "nodes outputs"]:
        """Return the channels of each node.

        Args:
            x: node features, encodings among them.
            edge_index: edges; messages go from the first node to the second.
            edge_attr: edge features; ignored where the network was built for none.

        Raises:
            ValueError: for node or edge features not as many as the network was built for.
        """
        if x.dim() != 2 or x.shape[1] != self.features:
            raise ValueError(
                f"expected node features of shape (nodes, {self.features}), got {tuple(x.shape)}"
            )
        edges = self._edges(edge_index, edge_attr)
        h = self.first(x)
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            h = h + self.dropout(norm(layer(h, edge_index, edges)).relu())
            if self.feed_forward:
                h = self.feed_norms[number](h + self.dropout(self.feed_forward[number](h)))
        return h

    def _edges(self, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor | None:
        if not self.edge_features:
            return None
        expected = (edge_index.shape[1], self.edge_features)
        if edge_attr is None or edge_attr.shape != expected:
            came = "none" if edge_attr is None else str(tuple(edge_attr.shape))
            raise ValueError(f"expected edge features of shape {expected}, got {came}")
        return edge_attr


@dataclass(frozen=True, kw_only=True)
class GraphNetworkConfig(ABC):
    """Settings of a `GraphNetwork`; a subclass gives its layers.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).
    """

    width: int = 64
    """Channels of a node."""

    layers: int = 4
    """Number of layers: how many edges away a node's channels depend on others."""

    dropout: float = 0.0
    """Share of channels that are dropped after each layer, in training."""

    def __post_init__(self) -> None:
        check_sizes(width=self.width, layers=self.layers, dropout=self.dropout)

    @abstractmethod
    def layer(self, edges: int | None) -> nn.Module:
        """Return one layer of torch_geometric for edges with `edges` features, or None for no features."""

    def feed_forward(self) -> list[nn.Module]:
        """Return a network on single nodes to follow each layer; by default none."""
        return []

    def build(self, features: int, edge_features: int = 0) -> GraphNetwork:
        """Return the network, with weights from torch's generator.

        Args:
            features: number of features of a node.
            edge_features: number of features of an edge; 0 for none.

        Raises:
            ValueError: for fewer than one feature of a node, or a negative number of features of an edge.
        """
        return GraphNetwork(self, features, edge_features)
