"""The training error as a loss, by the singleton extension."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_indices


def training_error(
    logits: Float[Tensor, "batch classes"], labels: Int[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """Return 1 - (x_y - x_next), x = softmax(logits), x_next the largest other entry that is at most x_y.

    It is the singleton extension of f({k}) = -1{k = y}, plus 1. The probabilities x_(j) - x_(j+1) of the
    classes leave 1 - x_(1) to "no class", which counts as an error as well; so the loss is 0 exactly for
    x = 1_y. It jumps where the right class draws level with another, from about 1 - x_y up to 1: a tie
    counts as an error.

    Args:
        logits: `(batch, classes)`, real numbers.
        labels: `(batch,)`, right classes, from 0 to classes - 1.

    Returns:
        The loss of each example, `(batch,)`, in [0, 1].

    Raises:
        ValueError: for other shapes, labels out of range, and logits that are not finite.

    Source: Robinson (2023), section 8.5.3, F.3.3 and F.7. Differs: the extension of 1{k != y} itself, which
    the text names first, leaves the mass 1 - x_(1) without cost, and is least where x is the same for all
    classes; F.3.3 asks for a function below 0, as here. It also says that continuity is proved as for the
    Lovász extension; the singleton extension is not continuous where entries are equal.

    Example:
        >>> training_error(torch.tensor([[9.0, 0.0], [0.0, 9.0]]), torch.tensor([0, 0])).round(decimals=2)
        tensor([0., 1.])
    """
    if logits.dim() != 2 or labels.shape != logits.shape[:1] or labels.is_floating_point():
        raise ValueError(
            f"expected logits (batch, classes) and integer labels (batch,), got {tuple(logits.shape)} and "
            f"{labels.dtype} {tuple(labels.shape)}"
        )
    check_indices("labels", labels, logits.shape[1])
    if not bool(logits.isfinite().all()):
        raise ValueError("expected finite logits, got infinities or NaN; lower the learning rate")
    x = torch.softmax(logits, dim=1)
    right = x.gather(1, labels[:, None])  # (batch, 1)
    others = x.scatter(1, labels[:, None], 0.0)
    below = others.masked_fill(others.detach() > right.detach(), 0.0).amax(dim=1, keepdim=True)
    return 1 - (right - below).squeeze(1)


class TrainingError(nn.Module):
    """Mean of `training_error` over a batch, in place of `nn.CrossEntropyLoss`.

    Example:
        >>> loss = TrainingError()
        >>> logits = torch.zeros(4, 10, requires_grad=True)
        >>> loss(logits, torch.arange(4)).item()
        1.0
    """

    def forward(
        self, logits: Float[Tensor, "batch classes"], labels: Int[Tensor, " batch"]
    ) -> Float[Tensor, ""]:
        """Return the mean loss of a batch, in [0, 1].

        Raises:
            ValueError: as `training_error`, and for an empty batch.
        """
        if len(logits) == 0:
            raise ValueError("expected a batch of at least one, got none")
        return training_error(logits, labels).mean()
