"""Sources: the candidates that anchors are compared with."""

from tammes.sources.distributed import LostProcessError
from tammes.sources.gather import Gather
from tammes.sources.inbatch import InBatch
from tammes.sources.queue import Queue

__all__ = ["Gather", "InBatch", "LostProcessError", "Queue"]
