"""Rules for the parts of a training on nodes of one graph, and for the neighbors that its batches draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tammes.checks import check_integer
from tammes.encoders import GPSEncoderConfig, GraphEncoderConfig
from tammes.positives import EdgesAndFeatures, OwnGraph

if TYPE_CHECKING:
    from tammes.training.config import TrainingConfig


def check_fanouts(config: TrainingConfig) -> None:
    """Refuse numbers of neighbors below 1, and such for an encoder that has none or needs more hops.

    Raises:
        ValueError: with the number of hops that the encoder needs.
    """
    if config.fanouts is None:
        return
    if not isinstance(config.encoder, GraphEncoderConfig):
        raise ValueError(
            f"fanouts={config.fanouts} draws neighbors of nodes, and {config.encoder!r} takes no graph: "
            "leave it out"
        )
    for fanout in config.fanouts:
        check_integer("fanouts", fanout, reason="each is a number of neighbors of a node")
    if len(config.fanouts) < config.encoder.layers:
        raise ValueError(
            f"fanouts need a number for each of the {config.encoder.layers} layers of the encoder, got "
            f"{config.fanouts}: give as many"
        )


def check_nodes(config: TrainingConfig) -> None:
    """Refuse parts that make no sense for nodes of one graph.

    Raises:
        ValueError: with the part and what to choose instead.
    """
    encoder = config.encoder
    assert isinstance(encoder, GraphEncoderConfig)  # `RunConfig` has refused others
    if encoder.positions is not None or isinstance(encoder, GPSEncoderConfig):
        raise ValueError(
            f"{encoder!r} takes whole graphs at once, and nodes of one graph are read with their neighbors: "
            "choose GCNEncoderConfig(), GATEncoderConfig() or GINEncoderConfig() without positions"
        )
    if isinstance(config.positives, OwnGraph):
        raise ValueError(
            "OwnGraph() compares nodes with several graphs, and these nodes have one: choose SameInstance() "
            "with augmentation=EdgesAndFeatures()"
        )
    if not isinstance(config.augmentation, EdgesAndFeatures | None):
        raise ValueError(
            f"{config.augmentation!r} changes the nodes of a graph, and here they are the rows: choose "
            "EdgesAndFeatures()"
        )


def check_graphs(config: TrainingConfig) -> None:
    """Refuse numbers of neighbors for whole graphs.

    Raises:
        ValueError: if there are such.
    """
    if config.fanouts is not None:
        raise ValueError(
            f"fanouts={config.fanouts} draws neighbors of nodes of one graph, and these are whole graphs: "
            "leave it out"
        )
