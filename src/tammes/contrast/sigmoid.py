"""The sigmoid contrast: every pair is judged alone, with a bias for the many that are negative."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_number
from tammes.contrast.contrast import Shift, check_weight
from tammes.contrast.softplus import SoftplusContrast
from tammes.reduce import WeightedNegatives


@dataclass(frozen=True, kw_only=True)
class Sigmoid(SoftplusContrast):
    """softplus(-(l+ + b)), averaged over the positives, plus Q sum_j w_j softplus(l_j + b).

    A bias that is learned is given at the call, `objective(..., bias=bias)`, and used instead of b.

    Args:
        bias: b, in logits.
        weight: Q; None for the number of the anchor's negatives: sum_j softplus(l_j + b).

    Raises:
        ValueError: a bias that is no finite number, a weight that is not positive.

    Source: Zhai et al. (2023), sec. 3.2 and Algorithm 1, whose sign of b is used.

    Example:
        >>> Sigmoid()
        Sigmoid(bias=-10.0, weight=None)
    """

    bias: float = -10.0
    weight: float | None = None
    _learned: Tensor | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_number("bias", self.bias)
        check_weight(self.weight)

    def with_bias(self, learned: Float[Tensor, ""] | Float[Tensor, " 1"]) -> Sigmoid:
        """Return the contrast with a learned bias, which gets a gradient.

        Raises:
            ValueError: anything but a tensor of one finite number.
        """
        if (
            not isinstance(learned, Tensor)
            or learned.numel() != 1
            or not learned.is_floating_point()
            or not bool(learned.isfinite())
        ):
            raise ValueError(f"bias must be a tensor that holds one finite number, got {learned!r}")
        other = Sigmoid(bias=float(learned.detach()), weight=self.weight)
        object.__setattr__(other, "_learned", learned.reshape(()))
        return other

    @property
    @override
    def offset(self) -> Shift:
        return self.bias if self._learned is None else self._learned

    @override
    def factor(self, negatives: WeightedNegatives) -> Tensor | float:
        if self.weight is not None:
            return self.weight
        return negatives.count.to(negatives.negatives.anchors.dtype)
