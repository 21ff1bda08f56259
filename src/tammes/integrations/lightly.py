"""Objectives as losses of lightly."""

from __future__ import annotations

from torch import Tensor, nn
from typing_extensions import override

from tammes.objective import Objective
from tammes.sources import Gather, InBatch
from tammes.sources.distributed import is_distributed
from tammes.temperature import LearnedTemperature


class ObjectiveLoss(nn.Module):
    """An objective in the place of lightly's `NTXentLoss`: called with the two views of a batch.

    Args:
        objective: objective to minimize.
        gather_distributed: whether rows of all processes are candidates, where there are several.
        temperature: learned temperature, trained with the loss; None for the objective's own.

    Raises:
        ValueError: in a call, what the objective refuses.

    Example:
        >>> import torch
        >>> from tammes import recipes
        >>> criterion = ObjectiveLoss(recipes.hcl(temperature=0.1, beta=0.5))
        >>> criterion(torch.randn(8, 16), torch.randn(8, 16)).ndim
        0
    """

    def __init__(
        self,
        objective: Objective,
        *,
        gather_distributed: bool = False,
        temperature: LearnedTemperature | None = None,
    ) -> None:
        super().__init__()
        self.objective = objective.module(temperature=temperature)
        self.gather_distributed = gather_distributed

    @override
    def forward(self, out0: Tensor, out1: Tensor) -> Tensor:
        """Return the loss of two views `(batch, d)`."""
        source = Gather() if self.gather_distributed and is_distributed() else InBatch()
        loss: Tensor = self.objective(source(out0, out1))
        return loss
