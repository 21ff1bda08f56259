"""NaN and infinity in a step, refused before they reach the weights or a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from tammes.training.distributed.group import ProcessGroup


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


def raise_for_gradient(step: int, group: ProcessGroup, local_maxima: Mapping[int, Tensor]) -> None:
    """Raise ValueError for a gradient that is NaN or infinite, on all processes, with the one at fault.

    Args:
        step: number of steps taken before.
        group: processes of the run.
        local_maxima: largest gradient entries of this process, before they were averaged.
    """
    error = not_finite("gradient", step)
    if not group.is_single:
        # DDP has averaged the NaN into every process; the local maxima tell which one produced it.
        with group.failing_together():
            if not all(torch.isfinite(maximum) for maximum in local_maxima.values()):
                raise error
    raise error
