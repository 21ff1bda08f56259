"""Cells of the spectral-filter experiment: one network, fitted to one filtered image."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from tammes.data.filter_images import FilterImages, filter_images
from tammes.papers.robinson_spectral.filters_networks import BUILD, Grid
from tammes.spectral import Eigenpairs, RelativeGap, eigenpairs

STEPS, IMAGES = 2000, 50
"""Of the paper."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A fit of one image's five filters; `setting` is one of those of the method."""

    image: int
    method: str
    setting: str
    steps: int
    learning_rate: float = 0.01
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The least sum of squared errors on inner nodes in all steps, for each filter."""

    low: float
    high: float
    band: float
    rejection: float
    comb: float
    parameters: int
    seconds: float


class Laboratory:
    """The images and their grid, read once.

    Args:
        data: the folder of the images.

    Attributes:
        grid: gives the grid with its eigenpairs.
    """

    def __init__(self, data: Path) -> None:
        self._read = cache(lambda: filter_images(data))
        self.grid = cache(lambda: decomposed(self._read()))

    @property
    def images(self) -> int:
        """How many there are."""
        return self._read().signals.shape[1]

    def measure(self, cell: Cell) -> Measured:
        """Fit and measure one cell."""
        images, grid = self._read(), self.grid()
        signal = images.signals[:, cell.image, None].float()
        targets = torch.stack([each[images.inner, cell.image] for each in images.targets.values()], dim=1)
        energy = targets.square().sum(dim=0).float()
        torch.manual_seed(cell.seed)
        network = BUILD[cell.method][cell.setting](grid)
        optimizer = torch.optim.Adam(network.rates(cell.learning_rate), lr=cell.learning_rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cell.steps)
        started = time.perf_counter()
        least = torch.full((len(images.targets),), torch.inf)
        for _ in range(cell.steps):
            errors = (network(signal)[images.inner] - targets.float()).square().sum(dim=0)
            least = torch.minimum(least, errors.detach())
            optimizer.zero_grad()
            # The root keeps gradients up when little is left to learn; Adam does not see a loss's scale, so
            # what filters do not share learns as if it were alone.
            (errors / energy).sqrt().sum().backward()
            optimizer.step()
            schedule.step()
        return Measured(
            **dict(zip(images.targets, least.tolist(), strict=True)),
            parameters=sum(parameter.numel() for parameter in network.parameters()),
            seconds=time.perf_counter() - started,
        )


def decomposed(images: FilterImages) -> Grid:
    """The eigenpairs of the grid, decomposed in double precision and kept in single."""
    nodes = len(images.inner)
    pairs = eigenpairs(images.edges, torch.zeros(nodes, dtype=torch.long))
    there: Tensor = torch.ones_like(pairs.values, dtype=torch.bool)
    spaces = RelativeGap(warn=False)(pairs.values, there)
    return Grid(
        edges=images.edges,
        pairs=Eigenpairs(vectors=pairs.vectors.float(), values=pairs.values.float()),
        multiplicities=tuple(spaces.dimension.unique().tolist()),
    )
