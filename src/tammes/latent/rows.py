"""Some of the rows of every run."""

from torch import Tensor


def picked(values: Tensor, rows: Tensor) -> Tensor:
    """The rows (runs, k) of values (runs, n, ...), each run its own: (runs, k, ...).

    Example:
        >>> import torch
        >>> picked(torch.tensor([[5, 6, 7], [8, 9, 10]]), torch.tensor([[0, 0], [2, 1]])).tolist()
        [[5, 5], [10, 9]]
    """
    return values.take_along_dim(rows.view(*rows.shape, *[1] * (values.ndim - 2)), dim=1)
