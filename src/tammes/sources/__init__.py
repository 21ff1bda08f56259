"""Sources: which candidates stand beside the anchors."""

from tammes.sources.gather import Gather
from tammes.sources.inbatch import InBatch
from tammes.sources.queue import Queue

__all__ = ["Gather", "InBatch", "Queue"]
