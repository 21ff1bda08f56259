"""Counts what would make a host wait for a GPU: reads of tensors, by the line of the package that reads."""

from __future__ import annotations

import collections
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import tammes
from tammes import deferred

SOURCE = str(Path(tammes.__file__).parent)
READS = {
    "_local_scalar_dense", "nonzero", "equal", "is_nonzero", "masked_select", "unique", "_unique2",
    "unique_dim", "unique_consecutive", "bincount",
}  # fmt: skip
OF_THE_HOST = {
    ("deferred.py", "raise_if_failed"),  # reads a copy that has arrived
    ("selection.py", "seed"),  # draws on the CPU
}


class HostReads(TorchDispatchMode):
    """Dispatch mode that counts the operations after which a host knows a number of a device.

    Attributes:
        lines: number of reads by operation and line.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: collections.Counter[str] = collections.Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = function._schema.name.split("::")[1]
        if name in READS or _has_a_size_to_find(name, args, kwargs or {}):
            self.count(name)
        return function(*args, **(kwargs or {}))

    def __enter__(self) -> HostReads:
        self._copies = _Copies(self)
        self._copies.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._copies.__exit__(*error)

    def count(self, name: str) -> None:
        """Count a read, if a line of the package made it."""
        frames = [
            frame
            for frame in traceback.extract_stack()
            if frame.filename.startswith(SOURCE) or "triton/runtime" in frame.filename
        ]
        if not frames or "triton/runtime" in frames[-1].filename:  # the interpreter's own
            return
        file, last = Path(frames[-1].filename).name, frames[-1]
        if (file, last.name) not in OF_THE_HOST:
            self.lines[f"{name} at {last.filename.removeprefix(SOURCE)}:{last.lineno}: {last.line}"] += 1

    def __str__(self) -> str:
        return "\n".join(f"{count} {line}" for line, count in self.lines.items())


class _Copies(TorchFunctionMode):
    """Function mode that reports copies to lists, which dispatch nothing."""

    def __init__(self, reads: HostReads) -> None:
        super().__init__()
        self.reads = reads

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if function is torch.Tensor.tolist:
            self.reads.count("tolist")
        return function(*args, **(kwargs or {}))


def _has_a_size_to_find(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        indices = args[1] if len(args) > 1 else ()
        return any(each is not None and each.dtype == torch.bool for each in indices)
    return name == "repeat_interleave" and kwargs.get("output_size") is None


@contextmanager
def as_on_a_device() -> Iterator[None]:
    """Let checks be deferred as on a GPU."""
    with patch.object(deferred, "waits", lambda device: True):
        yield
