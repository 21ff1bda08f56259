"""Arithmetic in the types that tensors have, whatever autocast says."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch

_NOTHING = nullcontext()


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Turns autocast off, and costs nothing where it is off already.

    Example:
        >>> with torch.autocast("cpu", dtype=torch.bfloat16), without_autocast(torch.device("cpu")):
        ...     (torch.eye(2) @ torch.eye(2)).dtype
        torch.float32
    """
    if not torch.is_autocast_enabled(device.type):
        return _NOTHING
    return torch.autocast(device.type, enabled=False)
