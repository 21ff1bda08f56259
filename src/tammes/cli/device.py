"""Where a command computes."""

from typing import Literal

import torch

Accelerator = Literal["auto", "cpu", "gpu"]


def device_of(accelerator: Accelerator) -> torch.device:
    """The device of an accelerator by name; auto takes a GPU where there is one.

    Raises:
        ValueError: for a GPU where there is none.

    Example:
        >>> device_of("cpu")
        device(type='cpu')
    """
    available = torch.cuda.is_available()
    if accelerator == "gpu" and not available:
        raise ValueError("no GPU that PyTorch can use was found: choose --accelerator cpu, or auto")
    return torch.device("cuda" if accelerator != "cpu" and available else "cpu")
