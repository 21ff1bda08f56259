"""Sources: which candidates stand beside the anchors."""

from tammes.sources.gather import Gather
from tammes.sources.inbatch import InBatch

__all__ = ["Gather", "InBatch"]
