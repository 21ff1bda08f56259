"""Sources: which candidates stand beside the anchors."""

from tammes.sources.inbatch import InBatch

__all__ = ["InBatch"]
