"""NaN and infinity in a step, refused before they reach the weights or a checkpoint."""

import torch
from torch import Tensor


def check_finite(name: str, values: Tensor, step: int) -> None:
    """Raise ValueError if a value is NaN or infinite.

    Args:
        name: name of the values, for the message.
        values: the values.
        step: number of steps taken before.

    Example:
        >>> check_finite("loss", torch.tensor(1.0), 0)
    """
    if not torch.isfinite(values).all():
        raise not_finite(name, step)


def not_finite(name: str, step: int) -> ValueError:
    """Return the error for values that became NaN or infinite, with what to do.

    Example:
        >>> str(not_finite("loss", 3))[:48]
        'the loss became NaN or infinite at step 3 (steps'
    """
    return ValueError(
        f"the {name} became NaN or infinite at step {step} (steps count from 0): "
        "lower the learning rate, raise the temperature, or look for odd data; "
        "the last checkpoint was saved before this step"
    )
