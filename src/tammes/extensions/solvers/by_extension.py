"""Training through an extension of the objective."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.extension import Extension
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.lovasz import Lovasz
from tammes.extensions.neural import Neural
from tammes.extensions.problem import Problem
from tammes.extensions.solvers.method import Method


@dataclass(frozen=True, kw_only=True)
class ByScalar(Method):
    """F(x) with x = sigmoid(output), scaled down where the extension's domain is smaller than the cube.

    Args:
        extension: F.

    Source: Robinson (2023), section 8.5.1.
    """

    extension: Extension = field(default_factory=Lovasz)

    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """See `Method.loss`."""
        return self.extension(self._points(outputs, problem.ground), problem.objective).sum(0)

    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """See `Method.decode`: the best set in the support."""
        p = self.extension.distribution(self._points(outputs, problem.ground), problem.ground)
        return p.best(problem.worth)

    def _points(self, outputs: Tensor, ground: GroundSet) -> Tensor:
        return self.extension.within(torch.sigmoid(outputs.T), ground)


@dataclass(frozen=True, kw_only=True)
class ByColumns(Method):
    """The naive extension of embeddings: `ByScalar` of each column, summed up.

    It is no extension, and no column knows of the others.

    Args:
        extension: of a column.

    Source: Robinson (2023), section 8.5.4, Figure 8-5.
    """

    scalar: ClassVar[bool] = False
    extension: Extension = field(default_factory=Lovasz)

    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """See `Method.loss`."""
        return ByScalar(extension=self.extension).loss(outputs, problem)

    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """See `Method.decode`: the best set in the support, over all columns."""
        return ByScalar(extension=self.extension).decode(outputs, problem)


@dataclass(frozen=True, kw_only=True)
class ByNeural(Method):
    """F(Z Z^T) with Z the outputs.

    Args:
        neural: F.

    Source: Robinson (2023), section 8.5.1.
    """

    scalar: ClassVar[bool] = False
    neural: Neural = field(default_factory=Neural)

    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """See `Method.loss`."""
        return self.neural(outputs, problem.objective)

    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """See `Method.decode`: the best set in the support, over all eigenvectors."""
        p = self.neural.distribution(outputs, problem.ground)
        return p.best(problem.worth)
