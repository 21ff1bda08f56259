"""What labels must be where they say which rows are of one class."""

from jaxtyping import Int64
from torch import Tensor


def expect_numbered(labels: Int64[Tensor, " n"]) -> None:
    """Refuse labels below 0, with which rows without a label are marked elsewhere: they are no class.

    Args:
        labels: the class of each row, (n,).

    Raises:
        ValueError: For a label below 0.

    Example:
        >>> import torch
        >>> expect_numbered(torch.tensor([2, 0]))
    """
    below = (labels < 0).nonzero().flatten()
    if len(below):
        row = int(below[0])
        raise ValueError(
            f"expected classes numbered from 0, got the label {int(labels[row])} in row {row} and a label "
            f"below 0 in {len(below)} of {len(labels)} rows: where it stands for no label, as -1 does in "
            "scikit-learn, leave these rows out; else number the classes from 0"
        )
