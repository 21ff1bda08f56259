"""What is taken from torch_geometric, or one clear sentence where they are missing."""

try:
    from torch_geometric.data import Data
    from torch_geometric.nn import (
        GATConv,
        GINEConv,
        PNAConv,
        ResGatedGraphConv,
        TransformerConv,
        global_add_pool,
        global_mean_pool,
    )
except ImportError as error:
    raise ImportError('networks on graphs need torch_geometric: pip install "tammes[graphs]"') from error

__all__ = [
    "Data",
    "GATConv",
    "GINEConv",
    "PNAConv",
    "ResGatedGraphConv",
    "TransformerConv",
    "global_add_pool",
    "global_mean_pool",
]
