"""The supervised contrast: all positives of an anchor in one denominator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.contrast.contrast import Shift
from tammes.contrast.infonce import LogMeanExpContrast
from tammes.reduce import WeightedNegatives, WeightedPositives


@dataclass(frozen=True, kw_only=True)
class SupCon(LogMeanExpContrast):
    """Softmax over the negatives and all positives P of an anchor, D = sum_P e^{l_p} + Q G.

        outside:  -1/|P| sum_P log( e^{l_p} / D ) ,        inside:  -log( 1/|P| sum_P e^{l_p} / D )

    Give the classes as ids: `objective(view_a, view_b, ids=classes)`. With one positive both are InfoNCE.

    Args:
        average: whether the mean over the positives is taken "outside" the logarithm or "inside".
        weight: Q; None for the number of the anchor's negatives, the usual loss.

    Raises:
        ValueError: an average of another name, a weight that is not positive.

    Source: Khosla et al. (2020), eq. 2 and 3.

    Example:
        >>> from tammes import recipes
        >>> objective = recipes.supcon(temperature=0.5)
        >>> rows = torch.eye(4)  # two classes of two rows each
        >>> round(objective(rows, rows, ids=torch.tensor([0, 0, 1, 1])).item(), 4)
        1.9278
    """

    average: Literal["outside", "inside"] = "outside"
    weight: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average not in ("outside", "inside"):
            raise ValueError(f"average must be 'outside' or 'inside', got {self.average!r}")

    @property
    def falls_with_positives(self) -> bool:  # type: ignore[override]
        """Whether no positive alone can raise the loss: outside, one that is ahead of the others does."""
        return self.average == "inside"

    @override
    def losses(
        self,
        statistic: Float[Tensor, " n"],
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        shift: Shift,
    ) -> Float[Tensor, " n"]:
        logit = positives.logit - positives.of_anchor(shift)
        together = positives.log_sum_exp(logit)
        denominator = torch.logaddexp(self.log_total(statistic, negatives), together)
        if self.average == "inside":
            return denominator - together + positives.log_count
        return denominator - positives.average(logit)
