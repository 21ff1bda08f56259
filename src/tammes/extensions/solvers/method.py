"""Methods to train a solver, a loss and a decoder of a network's outputs: by extensions, and baselines."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.extensions.functions.formulas import (
    CliqueDensity,
    GraphFunction,
    IndependenceDensity,
    LinearFormula,
    clique_erdos,
    independence_penalty,
)
from tammes.extensions.ground_set import GroundSet, ScoredSets, Sweep
from tammes.extensions.neural import Neural
from tammes.extensions.problems import Problem
from tammes.extensions.scalar.extension import Extension
from tammes.extensions.scalar.lovasz import Lovasz
from tammes.extensions.scalar.multilinear import Multilinear


class Method(ABC):
    """Loss with which a network learns to solve problems without solutions, and a decoder of its outputs.

    Not every objective suits every method: `clique` and `independent` are those of the paper.
    """

    scalar: ClassVar[bool] = True
    """Whether the network gives a node one number; otherwise it gives an embedding."""
    clique: ClassVar[CliqueDensity | LinearFormula] = CliqueDensity()
    """Objective for cliques."""
    independent: ClassVar[IndependenceDensity | LinearFormula] = IndependenceDensity()
    """Objective for independent sets."""

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


@dataclass(frozen=True, kw_only=True)
class Erdos(Method):
    """Erdős goes neural: the multilinear extension at p = sigmoid(output), in closed form.

    A set is decoded greedily, by taking nodes in order of falling p. The problem's objective should be a
    penalty, `clique_erdos()` or `independence_penalty()`.

    Source: Robinson (2023), F.6.3. Differs: the published code takes nodes in order of rising p, and keeps
    the pairs of the last graph of a batch for all of them.
    """

    clique: ClassVar[CliqueDensity | LinearFormula] = clique_erdos()
    independent: ClassVar[IndependenceDensity | LinearFormula] = independence_penalty()

    @override
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        return Multilinear()(torch.sigmoid(outputs[:, 0]), problem.objective)

    @override
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        members = problem.grow(problem.ground.descending(outputs[:, 0]))
        return problem.score.values(members), members


@dataclass(frozen=True, kw_only=True)
class StraightThrough(Method):
    """L = 1/n sum_k f(1_{S_k}) over the level sets S_k of x, with d 1_{S_k} / dx taken to be the identity.

    The objective must be a `GraphFunction`, since it is differentiated in the indicator vector. The decoded
    set is the best level set.

    Source: Robinson (2023), F.6.3, after Bengio et al.
    """

    @override
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        objective = problem.objective
        if not isinstance(objective, GraphFunction):
            raise ValueError(
                "straight-through differentiates the objective in the indicator vector and needs a "
                f"GraphFunction, got {type(objective).__name__}"
            )
        x, ground = torch.sigmoid(outputs.T), problem.ground
        steps = torch.arange(ground.widest, device=x.device)
        levels = Sweep(ground=ground, order=ground.descending(x)).members(steps)[0]  # (widest, total)
        values = objective.relaxed(levels + (x - x.detach()))  # (widest, inputs); the gradient is that of x
        is_level = steps[:, None] < ground.size
        return values.where(is_level, 0.0).sum(0) / ground.size

    @override
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        return Lovasz().distribution(torch.sigmoid(outputs.T), problem.ground).best(problem.score)


@dataclass(frozen=True, kw_only=True)
class Reinforce(Method):
    """REINFORCE: mean_s A_s log p(S_s), each node in S independently with probability p = sigmoid(output).

    A_s is f(S_s), less its mean over the samples and divided by their standard deviation. The gradient of the
    loss is the score-function estimate; its value means nothing. The decoded set is the best of as many
    samples, or the empty set if none is allowed.

    Args:
        generator: random generator of the sets.
        samples: number of sets for each input, at least 2; the paper takes 250.
        better_only: whether samples that are no better than their mean are left out, as the paper does for
            independent sets.

    Raises:
        ValueError: for fewer than two samples.

    Source: Robinson (2023), F.6.3. Differs: the text does not say how a set is decoded.
    """

    clique: ClassVar[CliqueDensity | LinearFormula] = CliqueDensity(exponent=4.0)
    generator: torch.Generator = field(repr=False)
    samples: int = 250
    better_only: bool = False

    def __post_init__(self) -> None:
        check_integer("samples", self.samples, minimum=2)

    @override
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        members = self._sample(outputs)
        values = problem.objective.values(members).detach()
        spread = values.std(dim=0)
        advantage = (values - values.mean(dim=0)) / spread.where(spread > 0, 1.0)
        if self.better_only:
            advantage = advantage.clamp(max=0)
        # log p(S): log sigmoid(output) of the nodes in S, and log sigmoid(-output) of the others.
        signs = torch.where(members, 1.0, -1.0)
        logarithm = problem.ground.sum(torch.nn.functional.logsigmoid(signs * outputs.T))
        return (advantage.to(logarithm.dtype) * logarithm).mean(dim=0)

    @override
    def decode(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> ScoredSets:
        members = torch.cat([self._sample(outputs), problem.ground.empty_sets[None]])
        return problem.ground.best(problem.score.values(members), members)

    def _sample(self, outputs: Tensor) -> Tensor:
        uniform = outputs.new_empty(self.samples, len(outputs)).uniform_(generator=self.generator)
        return uniform < torch.sigmoid(outputs.detach().T)
