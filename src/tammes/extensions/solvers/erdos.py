"""Erdős goes neural: the mean of a penalized objective over random sets, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.multilinear import Multilinear
from tammes.extensions.problem import Problem
from tammes.extensions.solvers.method import Method


@dataclass(frozen=True, kw_only=True)
class Erdos(Method):
    """The multilinear extension at p = sigmoid(output), decoded by taking nodes in order of falling p.

    The problem's objective should be the penalized one, `CliqueErdos` or `IndependencePenalty`.

    Source: Robinson (2023), F.6.3. Differs: the published code takes nodes in order of rising p, and keeps
    the pairs of the last graph of a batch for all of them.
    """

    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """See `Method.loss`."""
        return Multilinear()(torch.sigmoid(outputs[:, 0]), problem.objective)

    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """See `Method.decode`: each node in its turn, if the set is better with it."""
        return problem.extend(problem.ground.descending(outputs[:, 0]))
