"""The contrastive loss of many runs at once."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from tammes.checks import check_number


def contrastive_losses(
    anchors: Float[Tensor, "runs n d"],
    positives: Float[Tensor, "runs n d"],
    negatives: Float[Tensor, "runs m d"] | None = None,
    *,
    temperature: float,
) -> Float[Tensor, " runs"]:
    """Return the loss of each run, with negatives scored against the positive.

        -log( e^{f(x).f(x+)/t} / (e^{f(x).f(x+)/t} + sum_j e^{f(x_j-).f(x+)/t}) )

    averaged over the pairs of a run. For one run it equals, in value and gradient, `tammes.recipes.simclr`
    on `Pairs` whose anchors are the f(x+) and whose candidates are the f(x); a test compares the two.

    Args:
        anchors: f(x), unit vectors.
        positives: f(x+), unit vectors, one for each anchor.
        negatives: f(x-), unit vectors, each a negative of every pair; None takes the anchors of the other
            pairs.
        temperature: temperature t, above 0, by which similarities are divided.

    Raises:
        ValueError: a temperature that is not positive, positives of another shape than the anchors, or a
            single pair without negatives.

    Source: Weber and Bachman (2022), eq. II.1.

    Example:
        >>> z = torch.eye(4)[None]
        >>> contrastive_losses(z, z, temperature=0.5)  # log(1 + 3 exp(-2))
        tensor([0.3408])
    """
    check_number("temperature", temperature, above=0)
    if anchors.shape != positives.shape or anchors.dim() != 3:
        raise ValueError(
            "expected anchors and positives of one shape (runs, n, d), got "
            f"{tuple(anchors.shape)} and {tuple(positives.shape)}"
        )
    if negatives is None and anchors.shape[1] < 2:
        raise ValueError("expected at least two pairs, each the other's negative, or negatives; got one pair")
    if negatives is None:
        logits = positives @ (anchors / temperature).mT  # (runs, positive, candidate)
        own = torch.arange(logits.shape[1], device=logits.device).repeat(len(logits))
    else:
        positive = (anchors * positives).sum(dim=-1, keepdim=True) / temperature
        logits = torch.cat([positive, positives @ (negatives / temperature).mT], dim=-1)
        own = torch.zeros(logits.shape[:2], dtype=torch.int64, device=logits.device).flatten()
    losses = cross_entropy(logits.flatten(0, 1), own, reduction="none")
    return losses.view(logits.shape[:2]).mean(dim=-1)
