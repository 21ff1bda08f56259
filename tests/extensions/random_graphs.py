"""Graphs with random edges, for the tests of what is found on them."""

from __future__ import annotations

import torch
from hypothesis import strategies as st

from tammes.extensions import Graphs

batches = st.lists(st.integers(1, 8), min_size=1, max_size=4)
"""Numbers of nodes of a few small graphs."""


def random_graphs(sizes: list[int], seed: int, chance: float = 0.5) -> Graphs:
    """A graph of each size, in which each pair of nodes is an edge at this chance."""
    generator = torch.Generator().manual_seed(seed)
    edges = [torch.zeros(2, 0, dtype=torch.long)]
    start = 0
    for n in sizes:
        pairs = torch.combinations(torch.arange(n)).T
        edges.append(pairs[:, torch.rand(pairs.shape[1], generator=generator) < chance] + start)
        start += n
    return Graphs.of(torch.cat(edges, dim=1), sizes=tuple(sizes))
