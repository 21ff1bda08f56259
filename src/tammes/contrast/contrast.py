"""What a contrast is: how an anchor's negatives, made one number, are set against its positives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from tammes.reduce import Positives, WeightedNegatives
from tammes.reduce.weighted import Sample

Shift = Tensor | float
"""A perturbation in logits, one for all anchors or `(n,)`: negatives rise by it, positives fall by it."""


class Contrast(ABC):
    """A loss of one anchor: non-decreasing in its negative logits, non-increasing in its positive ones."""

    weighs: ClassVar[bool] = True
    """Whether it averages over the negatives, so that a coupling's weights mean something."""
    debiasable: ClassVar[bool] = True
    """Whether its number is a mean over the negatives alone, from which false ones can be taken out."""
    logarithmic: ClassVar[bool] = False
    """Whether its number is the logarithm of a mean of e^{l}, and it asks the negatives for no other mean."""

    @property
    def is_softmax(self) -> bool:
        """Whether it is -log of the positive's share of the softmax, where all negatives weigh the same."""
        return False

    @abstractmethod
    def number(self, sample: Sample, positives: Positives, shift: Shift) -> Tensor:
        """The sample's logits, each raised by the shift, as one number per anchor (or per positive pair).

        `sample` is the negatives; where a correction asks what the false ones contribute, the positives.
        """

    @abstractmethod
    def least(self, logit: Shift) -> Shift:
        """The number of a sample whose every logit is `logit`: with the least logit, a lower bound."""

    @abstractmethod
    def losses(
        self, number: Tensor, negatives: WeightedNegatives, positives: Positives, shift: Shift
    ) -> Float[Tensor, " n"]:
        """The loss of each anchor: the number against the positive logits, each lowered by the shift."""


def raised(number: Tensor, shift: Shift) -> Tensor:
    """Number + shift, without an operation where there is no shift.

    Example:
        >>> import torch
        >>> raised(torch.tensor([1.0, 2.0]), 0.5)
        tensor([1.5000, 2.5000])
    """
    return number if isinstance(shift, float) and shift == 0.0 else number + shift
