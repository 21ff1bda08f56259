"""Tammes' problem, after which the package is named: points as far apart as they can be."""

from tammes.theory.packing.known import Optimum, fejes_toth_bound, optimum
from tammes.theory.packing.packing import Packing, pack, simplex_is_optimal

__all__ = ["Optimum", "Packing", "fejes_toth_bound", "optimum", "pack", "simplex_is_optimal"]
