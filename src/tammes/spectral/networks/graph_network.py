"""What every network on graphs is: a linear map, then residual layers that look at neighbors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.layers import check_share


class GraphNetwork(nn.Module):
    """h := h + dropout(relu(normalize(layer(h)))), for each of torch_geometric's layers, from h = W x.

    Args:
        features: of a node.
        width: of h; `outputs`.
        layers: those that look at neighbors, from width to width.
        feed_forward: a network on each node by itself after each layer; empty for none.
        edge_features: of an edge; 0 for none.
        dropout: share of channels that are dropped in training.
    """

    def __init__(
        self,
        *,
        features: int,
        width: int,
        layers: list[nn.Module],
        feed_forward: list[nn.Module],
        edge_features: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.features = features
        self.edge_features = edge_features
        self.outputs = width
        self.first = nn.Linear(features, width)
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in layers)
        self.feed_forward = nn.ModuleList(feed_forward)
        self.feed_norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in feed_forward)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "nodes features"],
        edge_index: Int[Tensor, "2 m"],
        edge_attr: Float[Tensor, "m edge_features"] | None = None,
    ) -> Float[Tensor, "nodes outputs"]:
        """The channels of each node.

        Args:
            x: node features, with encodings beside them.
            edge_index: messages go from the first node to the second.
            edge_attr: edge features; not looked at where the network was built for none.

        Raises:
            ValueError: for node or edge features of another number than the network was built for.
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
    """Settings that all networks on graphs share.

    Raises:
        ValueError: for a width or a number of layers below 1, or a share outside [0, 1).
    """

    width: int = 64
    """Channels of a node."""

    layers: int = 4
    """How far a node sees."""

    dropout: float = 0.0
    """Share of channels that are dropped after each layer, in training."""

    def __post_init__(self) -> None:
        check_integer("width", self.width)
        check_integer("layers", self.layers)
        check_share("dropout", self.dropout)

    @abstractmethod
    def layer(self, edges: int | None) -> nn.Module:
        """One layer of torch_geometric, for edges of so many features, or of none."""

    def feed_forward(self) -> list[nn.Module]:
        """What follows each layer on each node by itself: nothing, unless a network says otherwise."""
        return []

    def build(self, features: int, edge_features: int = 0) -> GraphNetwork:
        """Build it for nodes and edges of so many features, with weights from torch's generator.

        Raises:
            ValueError: for fewer than one feature of a node, or fewer than none of an edge.
        """
        check_integer("features", features)
        check_integer("edge_features", edge_features, minimum=0)
        return GraphNetwork(
            features=features,
            width=self.width,
            layers=[self.layer(edge_features or None) for _ in range(self.layers)],
            feed_forward=self.feed_forward(),
            edge_features=edge_features,
            dropout=self.dropout,
        )
