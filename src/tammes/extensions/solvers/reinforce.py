"""REINFORCE: the score-function gradient of the mean objective of random sets."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.problem import Problem
from tammes.extensions.solvers.method import Method


@dataclass(frozen=True, kw_only=True)
class Reinforce(Method):
    """mean_s A_s log p(S_s), each node being in S independently with probability p = sigmoid(output).

    A_s is f(S_s), less its mean over the samples and divided by their standard deviation.

    Args:
        generator: what sets are drawn with.
        samples: how many, at least 2; the paper's are 250.
        better_only: whether samples that are no better than their mean are left out, as the paper does for
            independent sets.

    Raises:
        ValueError: for fewer than two samples.

    Source: Robinson (2023), F.6.3. Differs: the text does not say how a set is read off; the best of as many
    samples is taken.
    """

    generator: torch.Generator = field(repr=False)
    samples: int = 250
    better_only: bool = False

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ValueError(f"samples must be at least 2, got {self.samples}")

    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """See `Method.loss`: its gradient is the estimate, its value means nothing."""
        members = self._draw(outputs)
        values = problem.objective.values(members).detach()
        spread = values.std(dim=0)
        advantage = (values - values.mean(dim=0)) / spread.where(spread > 0, 1.0)
        if self.better_only:
            advantage = advantage.clamp(max=0)
        signs = torch.where(members, 1.0, -1.0)
        logarithm = problem.ground.sum(torch.nn.functional.logsigmoid(signs * outputs.T))
        return (advantage.to(logarithm.dtype) * logarithm).mean(dim=0)

    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """See `Method.decode`: the best of the samples; the empty set where none is allowed."""
        nothing = torch.zeros(1, len(outputs), dtype=torch.bool, device=outputs.device)
        members = torch.cat([self._draw(outputs), nothing])
        best = problem.worth.values(members).max(dim=0)
        chosen = best.indices[problem.ground.owner]
        return best.values, members.gather(0, chosen[None])[0]

    def _draw(self, outputs: Tensor) -> Tensor:
        chance = torch.sigmoid(outputs.detach().T)
        uniform = torch.rand(
            self.samples, len(outputs), generator=self.generator, dtype=chance.dtype, device=chance.device
        )
        return uniform < chance
