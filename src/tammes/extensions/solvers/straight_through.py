"""Straight-through: thresholds are the identity on the way back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.formulas import GraphFunction
from tammes.extensions.lovasz import Lovasz
from tammes.extensions.problem import Problem
from tammes.extensions.solvers.method import Method
from tammes.extensions.sweep import Sweep


@dataclass(frozen=True, kw_only=True)
class StraightThrough(Method):
    """L = 1/n sum_k f(1_{S_k}) over the level sets S_k of x, with d 1_{S_k} / dx taken to be the identity.

    f must be given by a formula, since it is differentiated in the indicator vector.

    Source: Robinson (2023), F.6.3, after Bengio et al.
    """

    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """See `Method.loss`.

        Raises:
            ValueError: for an objective without a formula.
        """
        objective = problem.objective
        if not isinstance(objective, GraphFunction):
            raise ValueError(
                "straight-through differentiates the objective in the indicator vector and needs a "
                f"GraphFunction, got {type(objective).__name__}"
            )
        x, ground = torch.sigmoid(outputs.T), problem.ground
        steps = torch.arange(ground.widest, device=x.device)
        levels = Sweep(ground=ground, order=ground.descending(x)).members(steps)[0]  # (widest, total)
        values = objective.relaxed(levels + x - x.detach())  # (widest, inputs)
        is_level = steps[:, None] < ground.size
        return values.where(is_level, 0.0).sum(0) / ground.size

    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """See `Method.decode`: the best level set."""
        p = Lovasz().distribution(torch.sigmoid(outputs.T), problem.ground)
        return p.best(problem.worth)
