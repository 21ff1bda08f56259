"""Sources: the candidates that anchors are compared with."""

from tammes.sources.context_window import ContextWindow
from tammes.sources.distributed import LostProcessError
from tammes.sources.gather import Gather
from tammes.sources.inbatch import InBatch
from tammes.sources.learned import LearnedNegatives
from tammes.sources.nodes_to_graphs import NodesToGraphs
from tammes.sources.queue import Queue
from tammes.sources.two_towers import TwoTowers

__all__ = [
    "ContextWindow",
    "Gather",
    "InBatch",
    "LearnedNegatives",
    "LostProcessError",
    "NodesToGraphs",
    "Queue",
    "TwoTowers",
]
