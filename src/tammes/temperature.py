"""A temperature that is learned with the encoder, and how its gradient reaches it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_number
from tammes.traced import is_transformed


class LearnedTemperature(nn.Module):
    """Learned temperature e^{-log_scale}, positive whatever the parameter.

    Give its value to the objective at every call, and its parameter to the optimizer, without weight decay.

    Args:
        initial: initial temperature; positive.
        lower_bound: smallest temperature allowed: below it logits would grow without bound. The parameter
            is set back to the edge when the value is computed.

    Raises:
        ValueError: numbers that are not positive and finite, or an initial value below the lower bound.

    Source: Radford et al. (2021), sec. 2.4 and 2.5: learned in the log domain, the scale at most 100.

    Example:
        >>> from tammes import recipes
        >>> objective, temperature = recipes.simclr(temperature=0.5), LearnedTemperature(initial=0.07)
        >>> loss = objective(torch.randn(8, 4), torch.randn(8, 4), temperature=temperature())
        >>> loss.backward()
        >>> temperature.log_scale.grad.shape
        torch.Size([])
    """

    def __init__(self, *, initial: float, lower_bound: float = 0.01) -> None:
        super().__init__()
        check_number("initial", initial, above=0)
        check_number("lower_bound", lower_bound, above=0)
        if initial < lower_bound:
            raise ValueError(f"the initial temperature {initial} lies below lower_bound={lower_bound}")
        self.lower_bound = lower_bound
        self.log_scale = nn.Parameter(torch.tensor(-math.log(initial)))

    def forward(self) -> Float[Tensor, ""]:
        """Return the temperature, a number with gradient."""
        largest = -math.log(self.lower_bound)
        # In a transformation of torch.func the parameter is the caller's, and stays as it is.
        if is_transformed():
            inside = self.log_scale.detach().clamp(max=largest)
            return torch.exp(-(inside + self.log_scale - self.log_scale.detach()))
        # Through .data, so that weights that were not moved do not count as changed.
        self.log_scale.data.clamp_(max=largest)
        return torch.exp(-self.log_scale)

    def extra_repr(self) -> str:
        """Return the present value and its bound, for print."""
        bound = f"lower_bound={self.lower_bound:g}"
        if self.log_scale.is_meta:
            return bound
        return f"temperature={math.exp(-float(self.log_scale.detach())):.4g}, {bound}"


@dataclass(frozen=True, kw_only=True)
class LogitScale:
    """A temperature as a plain number, and a 1 through which the gradient of a learned one returns.

    Slopes, shifts and ranges are decided before S is seen, from the temperature as a number. Every part
    depends on the temperature through the logits alone (but for a plan's marginals, which are constants),
    so multiplying the logits by the tensor `one` = value / temperature is enough: d loss / d temperature
    arrives through it, and no part needs to know of it.

    With a temperature for each anchor the number is the smallest of them, and `one` has an entry for each
    anchor, at most 1, by which the anchor's row of S is multiplied. S is then not symmetric.

    Args:
        temperature: value of the temperature.
        one: the tensor value / temperature; None where the temperature is the objective's own.
    """

    temperature: float
    one: Float[Tensor, ""] | Float[Tensor, " n"] | None = None

    @staticmethod
    def of(learned: Tensor) -> LogitScale:
        """Return the scale of a learned temperature.

        Raises:
            ValueError: anything but a tensor of one positive, finite number, or of one for each anchor, whose
                squares are in the range of its type.
        """
        value = _smallest(learned)
        one = value / learned
        return LogitScale(temperature=value, one=one if is_for_each_anchor(learned) else one.reshape(()))

    @property
    def differs(self) -> bool:
        """Whether each anchor has a separate temperature."""
        return self.one is not None and self.one.ndim == 1

    def of_views(self, anchors: int, views: int) -> LogitScale:
        """Return the scale of the anchors of several views, one below the other.

        Raises:
            ValueError: another number of temperatures than of rows of a view.
        """
        assert self.one is not None
        if len(self.one) * views != anchors:
            raise ValueError(
                f"temperature must be one number, or one for each of {anchors // views} anchors, got "
                f"{len(self.one)} numbers"
            )
        return replace(self, one=self.one.repeat(views))

    def taking(self, order: Int[Tensor, " k"]) -> LogitScale:
        """Return the scale of these anchors, in this order."""
        if self.one is None or not self.differs:
            return self
        return replace(self, one=self.one[order])

    @property
    def detached(self) -> LogitScale:
        """The same scale without a graph."""
        if self.one is None or not self.differs:
            return LogitScale(temperature=self.temperature)
        return replace(self, one=self.one.detach())

    def logits(self, values: Tensor | float) -> Tensor | float:
        """Return logits computed at the plain temperature, made differentiable in the learned one."""
        if self.one is None or (isinstance(values, float) and not math.isfinite(values)):
            return values
        return values * self.one

    def anchors(self, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Return the anchors; their inner products with `candidates` are those of `rows` times `one`."""
        if self.one is None:
            return rows
        return rows * (self.one[:, None] if self.differs else self.one.sqrt()).to(rows)

    def candidates(self, rows: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Return the candidates that belong to `anchors`."""
        return rows if self.one is None or self.differs else rows * self.one.sqrt().to(rows)


def is_for_each_anchor(temperature: object) -> bool:
    """Return whether a temperature given at a call is a tensor with one for each anchor.

    Example:
        >>> is_for_each_anchor(torch.tensor([0.1, 0.2])), is_for_each_anchor(torch.tensor(0.1))
        (True, False)
    """
    return isinstance(temperature, Tensor) and temperature.numel() > 1


def _smallest(temperature: Tensor) -> float:
    if (
        not isinstance(temperature, Tensor)
        or temperature.is_meta
        or temperature.ndim > 1
        or not len(temperature.reshape(-1))
        or not temperature.is_floating_point()
    ):
        got = repr(temperature)
        if isinstance(temperature, Tensor):
            got = f"{temperature.dtype} of shape {tuple(temperature.shape)} on {temperature.device}"
        raise ValueError(
            f"temperature must be a tensor that holds one positive number, or one for each anchor, got {got}"
        )
    smallest, largest = torch.stack(torch.aminmax(temperature.detach())).tolist()  # NaN if one is NaN
    number = torch.finfo(temperature.dtype)
    # The gradient divides by the square of the temperature.
    low, high = (float(end) ** 0.5 for end in (number.tiny, number.max))
    for value in (smallest, largest):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"temperature must be positive and finite, got {value}")
        if not low <= value <= high:
            raise ValueError(
                f"a learned temperature in {temperature.dtype} must be from {low:.0e} to {high:.0e}, for "
                f"its gradient to be finite, got {value}"
            )
    return smallest
