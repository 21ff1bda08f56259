"""The device a command computes on."""

from typing import Literal

import torch

Accelerator = Literal["auto", "cpu", "gpu"]


def device_of(accelerator: Accelerator) -> torch.device:
    """Return the device of an accelerator; "auto" takes a GPU if there is one.

    Raises:
        ValueError: for a GPU if there is none.

    Example:
        >>> device_of("cpu")
        device(type='cpu')
    """
    available = torch.cuda.is_available()
    if accelerator == "gpu" and not available:
        raise ValueError("no GPU that PyTorch can use was found: choose --accelerator cpu, or auto")
    return torch.device("cuda" if accelerator != "cpu" and available else "cpu")
