"""Graph networks of torch_geometric's layers, to which encodings are given as node features."""

try:
    import torch_geometric.data
    import torch_geometric.nn  # noqa: F401
except ImportError as error:
    raise ImportError('networks on graphs need torch_geometric: pip install "tammes[graphs]"') from error

from tammes.spectral.networks.graph_network import GraphNetwork, GraphNetworkConfig
from tammes.spectral.networks.layers import (
    GATConfig,
    GatedGCNConfig,
    GINEConfig,
    PNAConfig,
    SparseTransformerConfig,
    degree_counts,
)
from tammes.spectral.networks.readout import Readout

__all__ = [
    "GATConfig",
    "GINEConfig",
    "GatedGCNConfig",
    "GraphNetwork",
    "GraphNetworkConfig",
    "PNAConfig",
    "Readout",
    "SparseTransformerConfig",
    "degree_counts",
]
