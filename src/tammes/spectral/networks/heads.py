"""Graph networks whose layers attend with several heads."""

from dataclasses import dataclass

from tammes.checks import check_integer, check_multiple
from tammes.spectral.networks.graph_network import GraphNetworkConfig


@dataclass(frozen=True, kw_only=True)
class HeadsConfig(GraphNetworkConfig):
    """Settings of layers whose channels are shared out evenly among heads of attention.

    Raises:
        ValueError: for a width that is no multiple of the heads.
    """

    heads: int = 4
    """Heads of attention."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("heads", self.heads)
        check_multiple("width", self.width, "heads", self.heads)
