"""Networks on graphs to put encodings in front of, from torch_geometric's layers."""

from tammes.spectral.networks.gat import GATConfig
from tammes.spectral.networks.gated_gcn import GatedGCNConfig
from tammes.spectral.networks.gine import GINEConfig
from tammes.spectral.networks.graph_network import GraphNetwork, GraphNetworkConfig
from tammes.spectral.networks.pna import PNAConfig, degree_counts
from tammes.spectral.networks.readout import Readout, ReadoutConfig
from tammes.spectral.networks.sparse_transformer import SparseTransformerConfig

__all__ = [
    "GATConfig",
    "GINEConfig",
    "GatedGCNConfig",
    "GraphNetwork",
    "GraphNetworkConfig",
    "PNAConfig",
    "Readout",
    "ReadoutConfig",
    "SparseTransformerConfig",
    "degree_counts",
]
