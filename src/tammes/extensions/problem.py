"""What a problem is: an objective to descend on, the worth of a set, and the exact answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from jaxtyping import Bool, Float, Int
from torch import Tensor

from tammes.extensions.greedy import extend
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.integer_program import Answer
from tammes.extensions.set_function import SetFunction


class Problem(ABC):
    """Find the set that is worth most, for each input of a batch, by descending on an objective.

    A problem of one's own gives `objective` and `worth`, and if it is to be compared with what is possible,
    `exact`.

    Example:
        >>> import torch
        >>> from tammes.extensions import CliquePenalty, GraphFunction, Graphs
        >>> from tammes.extensions.worths import CliqueWorth
        >>> graphs = Graphs.of(torch.tensor([[0], [1]]), sizes=(3,))
        >>> class LargestClique(Problem):
        ...     objective = GraphFunction(graphs=graphs, formula=CliquePenalty())
        ...     worth = GraphFunction(graphs=graphs, formula=CliqueWorth())
        >>> LargestClique().worth.values(torch.tensor([True, True, False])).item()
        2.0
    """

    @property
    @abstractmethod
    def objective(self) -> SetFunction:
        """What is minimized."""

    @property
    @abstractmethod
    def worth(self) -> SetFunction:
        """What a set counts, larger being better; minus infinity for sets that are not allowed."""

    @property
    def guide(self) -> SetFunction:
        """What sets are grown by, element by element: `worth`, or more where that is the same for small sets.

        A set that is better by it is worth no less.
        """
        return self.worth

    def extend(
        self, order: Int[Tensor, " total"], members: Bool[Tensor, " total"] | None = None
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """Sets built element by element, each one taken if the guide is larger with it, and their worth.

        Args:
            order: the elements of each input in their order, as indices into all elements.
            members: the sets to begin with, allowed ones; left out, the empty ones.
        """
        _, found = extend(self.guide, order, members)
        return self.worth.values(found), found

    @property
    def ground(self) -> GroundSet:
        """The ground sets of the inputs."""
        return self.worth.ground

    def key(self, number: int) -> str:
        """A name for the exact problem of one input; equal inputs have equal names.

        Raises:
            ValueError: where there is no exact answer to keep.
        """
        raise ValueError(f"{type(self).__name__} gives no exact answers")

    def exact(self, number: int, seconds: float = math.inf) -> Answer:
        """The best set of one input, and a bound where the seconds did not suffice for a proof.

        Raises:
            ValueError: where a problem does not give exact answers.
        """
        raise ValueError(f"{type(self).__name__} gives no exact answers")
