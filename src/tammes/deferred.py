"""Checks of numbers on a device, read where reading them makes nobody wait.

To read a number from a GPU, the host waits until the GPU has done all that was queued before. A step that
reads nothing keeps the GPU busy. So a check that the computation does not depend on is made on the device,
its numbers are copied to the host behind it, and the next call looks at them when it begins: by then they
have arrived. On a CPU checks are made at once.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def waits(device: torch.device) -> bool:
    """Return whether the host waits for work that is queued on the device when it reads a number there.

    Example:
        >>> waits(torch.device("cpu")), waits(torch.device("cuda"))
        (False, True)
    """
    return device.type != "cpu"


_unread: list[DeferredCheck] = []
"""Checks that were to be read while a CUDA graph was captured, kept until that is over.

Pinned memory that is freed meanwhile leaves an event in the graph, and torch's next request for pinned memory
asks that event whether it is past, which is an error.
"""


class DeferredCheck:
    """Check whose outcome is read later than it is computed.

    Args:
        numbers: `(k,)` numbers on a device that tell whether something is wrong.
        failure: function that returns the error, given these numbers on the host; None if nothing is wrong.
            It must hold no graph.

    Example:
        >>> def failure(numbers):
        ...     return ValueError("a length is zero") if numbers[0] == 0 else None
        >>> DeferredCheck(torch.tensor([1.0]), failure).raise_if_failed()
    """

    def __init__(self, numbers: Tensor, failure: Callable[[list[float]], ValueError | None]) -> None:
        self._numbers: Tensor | None = numbers
        self._failure = failure
        self._copied: torch.cuda.Event | None = None
        if numbers.is_cuda:
            if torch.cuda.is_current_stream_capturing():  # a replay of the graph calls no Python
                self._numbers = None
                return
            _unread.clear()
            # Only a copy to pinned memory lets the host go on at once.
            pinned = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            self._numbers = pinned.copy_(numbers, non_blocking=True)
            self._copied = torch.cuda.Event()
            self._copied.record()

    def raise_if_failed(self) -> None:
        """Raise the error of the check, if it failed."""
        if self._numbers is None:
            return
        if self._copied is not None and torch.cuda.is_current_stream_capturing():
            _unread.append(self)
            return
        if self._copied is not None:  # past long ago, unless the device is a whole step behind
            self._copied.synchronize()
        failure = self._failure(self._numbers.tolist())
        if failure is not None:
            raise ValueError(f"in the call before this one: {failure}") from failure
