"""NaN and infinity in a step, refused before they reach the weights or a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from tammes.deferred import waits

if TYPE_CHECKING:
    from tammes.training.distributed.group import ProcessGroup


class FiniteChecks:
    """Checks of a step for NaN and infinity, which on a GPU are read together, before the weights change.

    Each read waits until the GPU has done all that it was given, and leaves it without work meanwhile.

    Args:
        at_once: whether to read every check when it is made, as several processes must, which all fail if
            one does.

    Example:
        >>> checks = FiniteChecks(at_once=False)
        >>> checks.add("loss", torch.tensor(1.0), 0)
        >>> checks.norm([torch.tensor([3.0, 4.0])], 0)
        5.0
    """

    def __init__(self, *, at_once: bool) -> None:
        self.at_once = at_once
        self._unread: list[tuple[str, Tensor]] = []

    def add(self, name: str, values: Tensor, step: int) -> None:
        """Check values: raise ValueError for NaN or infinity, or leave that to `norm`.

        Args:
            name: name of the values, for the message.
            values: the values.
            step: number of steps taken before.
        """
        finite = torch.isfinite(values).all()
        if waits(values.device) and not self.at_once:
            self._unread.append((name, finite))
        elif not finite:
            raise not_finite(name, step)

    def norm(self, gradients: Sequence[Tensor], step: int) -> float:
        """Return the Euclidean norm of all gradients together, which may be NaN or infinite.

        Raises:
            ValueError: for a check that was left unread and failed.
        """
        norm = torch.nn.utils.get_total_norm(gradients)
        unread, self._unread = self._unread, []
        *were_finite, found = torch.stack([*(finite.to(norm) for _, finite in unread), norm]).tolist()
        for (name, _), finite in zip(unread, were_finite, strict=True):
            if not finite:
                raise not_finite(name, step)
        return float(found)


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
