"""What a method is: a loss on a network's outputs, and a way to read a set off them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.problem import Problem


class Method(ABC):
    """Trains a network to solve problems, without solutions to learn from."""

    scalar: ClassVar[bool] = True
    """Whether a node has one number; otherwise it has an embedding."""

    @abstractmethod
    def loss(self, outputs: Float[Tensor, "total outputs"], problem: Problem) -> Float[Tensor, " inputs"]:
        """What is to be minimized, for each input.

        Args:
            outputs: of the network for all elements, any real numbers.
            problem: with its objective.
        """

    @abstractmethod
    def decode(
        self, outputs: Float[Tensor, "total outputs"], problem: Problem
    ) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """What the found sets are worth, and the sets."""
