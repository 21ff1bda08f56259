"""A temperature that is learned with the encoder."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tammes.checks import is_finite


class LearnedTemperature(nn.Module):
    """temperature = e^{-log_scale}, with log_scale a parameter, so that it stays positive.

    Give its value to the objective at every call, and its parameter to the optimizer, without weight decay.

    Args:
        initial: where it starts; positive.
        least: it is not let below this value, where logits would grow without bound: the parameter is set
            back to the edge when the value is asked for.

    Raises:
        ValueError: numbers that are not positive and finite, or an initial value below the least one.

    Source: Radford et al. (2021), sec. 2.4 and 2.5: learned in the log domain, the scale at most 100.

    Example:
        >>> from tammes import recipes
        >>> objective, temperature = recipes.simclr(temperature=0.5), LearnedTemperature(initial=0.07)
        >>> loss = objective(torch.randn(8, 4), torch.randn(8, 4), temperature=temperature())
        >>> loss.backward()
        >>> temperature.log_scale.grad.shape
        torch.Size([])
    """

    def __init__(self, *, initial: float, least: float = 0.01) -> None:
        super().__init__()
        for name, value in (("initial", initial), ("least", least)):
            if not (is_finite(value) and value > 0):
                raise ValueError(f"{name} must be a positive temperature, got {value}")
        if initial < least:
            raise ValueError(f"the initial temperature {initial} lies below the least one, {least}")
        self.least = least
        self.log_scale = nn.Parameter(torch.tensor(-math.log(initial)))

    def forward(self) -> Tensor:
        """The temperature, a number with gradient."""
        # Through .data, so that weights that were not moved do not count as changed.
        self.log_scale.data.clamp_(max=-math.log(self.least))
        return torch.exp(-self.log_scale)

    def extra_repr(self) -> str:
        """For print: the present value and its bound."""
        return f"temperature={math.exp(-float(self.log_scale.detach())):.4g}, least={self.least:g}"
