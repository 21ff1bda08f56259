"""Sinkhorn's algorithm (`loop.py`), and what speeds it up (`scaling.py`, `mixing.py`, `warm_start.py`)."""

from tammes.coupling.sinkhorn.loop import sinkhorn
from tammes.coupling.sinkhorn.warm_start import WarmStart

__all__ = ["WarmStart", "sinkhorn"]
