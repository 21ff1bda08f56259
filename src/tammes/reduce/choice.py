"""Which engine reduces a given S. Decided here and nowhere else."""

from __future__ import annotations

from tammes.reduce.engine import Engine
from tammes.reduce.negatives import Negatives
from tammes.reduce.tiled import Tiled


def choose(negatives: Negatives) -> Engine:
    """The engine for these negatives: tiled on every device, since it is the quicker one at any size.

    `benchmarks/objective.py` measures it against the dense one from 256 pairs up.
    """
    return Tiled()
