"""Methods to train a solver: a loss and a decoder of a network's outputs. Those by extensions are here."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.extensions.functions.support import ScoredSets
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.neural.neural import Neural
from tammes.extensions.problems import Problem
from tammes.extensions.scalar.extension import Extension
from tammes.extensions.scalar.lovasz import Lovasz


class Method(ABC):
    """Loss with which a network learns to solve problems without solutions, and a decoder of its outputs."""

    scalar: ClassVar[bool] = True
    """Whether the network gives a node one number; otherwise it gives an embedding."""

    @abstractmethod
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """Return the loss of each input.

        Args:
            outputs: outputs of the network for all elements, any real numbers.
            problem: the problem, whose objective is minimized.
        """

    @abstractmethod
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        """Return the sets that the outputs stand for, with their scores."""


@dataclass(frozen=True, kw_only=True)
class ByScalar(Method):
    """F(x) with x = sigmoid(output), scaled down where the extension's domain is smaller than the cube.

    The decoded set is the best one in the support.

    Args:
        extension: scalar extension F.

    Source: Robinson (2023), section 8.5.1.
    """

    extension: Extension = field(default_factory=Lovasz)

    @override
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        return self.extension(self._points(outputs, problem.ground), problem.objective).sum(0)

    @override
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        p = self.extension.distribution(self._points(outputs, problem.ground), problem.ground)
        return p.best(problem.score)

    def _points(self, outputs: Tensor, ground: GroundSet) -> Tensor:
        return self.extension.within(torch.sigmoid(outputs.T), ground)


@dataclass(frozen=True, kw_only=True)
class ByColumns(Method):
    """The naive extension of embeddings: `ByScalar` of each column, summed.

    It is no extension, since the columns do not interact. The decoded set is the best one over all columns.

    Args:
        extension: scalar extension of a column.

    Source: Robinson (2023), section 8.5.4, Figure 8-5.
    """

    scalar: ClassVar[bool] = False
    extension: Extension = field(default_factory=Lovasz)

    @override
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        return ByScalar(extension=self.extension).loss(outputs, problem)

    @override
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        return ByScalar(extension=self.extension).decode(outputs, problem)


@dataclass(frozen=True, kw_only=True)
class ByNeural(Method):
    """F(Z Z^T) with Z the outputs; the decoded set is the best one over all eigenvectors.

    Args:
        neural: neural extension F.

    Source: Robinson (2023), section 8.5.1.
    """

    scalar: ClassVar[bool] = False
    neural: Neural = field(default_factory=Neural)

    @override
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        return self.neural(outputs, problem.objective)

    @override
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        return self.neural.distribution(outputs, problem.ground).best(problem.score)
