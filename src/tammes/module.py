"""An objective as an `nn.Module`, for hosts that keep losses among their modules."""

from __future__ import annotations

from typing import Protocol

from jaxtyping import Float, Integer
from torch import Generator, Tensor, nn
from typing_extensions import override

from tammes.measurements import Measurements
from tammes.pairs import Pairs
from tammes.temperature import LearnedTemperature


class Evaluates(Protocol):
    """An objective: a loss of views or pairs, with the numbers of its last call."""

    @property
    def last(self) -> Measurements:
        """Named numbers of the last call."""

    @property
    def citation(self) -> str:
        """BibTeX entries of the papers whose methods it is made of."""

    def __call__(
        self,
        *views: Tensor | Pairs,
        ids: Tensor | None = None,
        labels: Tensor | None = None,
        generator: Generator | None = None,
        temperature: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Return the loss."""
        ...


class ObjectiveModule(nn.Module):
    """Objective as a module, for hosts that need `.to`, `ModuleList` or `state_dict`.

    The objective has no state, so without a learned temperature the module has no parameters and an empty
    `state_dict`. `objective.module()` makes one.

    Args:
        objective: objective to evaluate.
        temperature: learned temperature, used at every call and trained with the module; None for the
            objective's own.
        bias: parameter of one number, used at every call as the bias of `Sigmoid` and trained with the
            module.

    Raises:
        ValueError: a temperature that is no LearnedTemperature, a bias that is no parameter of one number.

    Example:
        >>> import torch
        >>> from tammes import LearnedTemperature, recipes
        >>> objective = recipes.simclr(temperature=0.5)
        >>> loss = objective.module(temperature=LearnedTemperature(initial=0.5))
        >>> loss(torch.eye(4), torch.eye(4)).allclose(objective(torch.eye(4), torch.eye(4)))
        True
        >>> list(loss.state_dict())
        ['temperature.log_scale']
    """

    def __init__(
        self,
        objective: Evaluates,
        *,
        temperature: LearnedTemperature | None = None,
        bias: nn.Parameter | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(temperature, LearnedTemperature | None):
            raise ValueError(
                f"temperature must be a LearnedTemperature(initial=...) or None, got {temperature!r}: "
                "a fixed one is a field of the objective"
            )
        if bias is not None and not (isinstance(bias, nn.Parameter) and bias.numel() == 1):
            raise ValueError(
                f"bias must be nn.Parameter(torch.tensor(-10.0)) or None, got {bias!r}: a fixed one is a "
                "field of Sigmoid"
            )
        self.objective, self.temperature, self.bias = objective, temperature, bias

    @property
    def last(self) -> Measurements:
        """Named numbers of the last call."""
        return self.objective.last

    @property
    def citation(self) -> str:
        """BibTeX entries of the papers whose methods the objective is made of."""
        return self.objective.citation

    @override
    def forward(
        self,
        *views: Float[Tensor, "batch d"] | Pairs,
        ids: Integer[Tensor, " batch"] | None = None,
        labels: Integer[Tensor, " batch"] | None = None,
        generator: Generator | None = None,
    ) -> Float[Tensor, ""]:
        """Return the loss; arguments and errors are those of the objective."""
        learned = None if self.temperature is None else self.temperature()
        return self.objective(
            *views, ids=ids, labels=labels, generator=generator, temperature=learned, bias=self.bias
        )

    @override
    def extra_repr(self) -> str:
        return f"objective={self.objective!r}"
