"""Counts what a step would launch on a GPU: operations that write, and kernels."""

from __future__ import annotations

import collections
import traceback
from typing import Any
from unittest.mock import patch

from torch.utils._python_dispatch import TorchDispatchMode

ALLOCATIONS = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "_unsafe_view"}


class Launches(TorchDispatchMode):
    """Dispatch mode that counts operations of torch, without views and allocations, and interpreted kernels.

    Attributes:
        operations: number of operations by name.
        kernels: number of kernels by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations: collections.Counter[str] = collections.Counter()
        self.kernels: collections.Counter[str] = collections.Counter()

    def __enter__(self) -> Launches:
        from triton.runtime import interpreter

        run = interpreter.GridExecutor.__call__

        def counted(executor: Any, *args: Any, **kwargs: Any) -> Any:
            self.kernels[executor.fn.__name__] += 1
            return run(executor, *args, **kwargs)

        self._patch = patch.object(interpreter.GridExecutor, "__call__", counted)
        self._patch.start()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._patch.stop()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = function._schema.name.split("::")[1]
        if name not in ALLOCATIONS and not _is_view(function) and not _is_of_the_interpreter():
            self.operations[name] += 1
        return function(*args, **(kwargs or {}))


def _is_view(function: Any) -> bool:
    aliases = [each.alias_info for each in function._schema.returns]
    return bool(aliases) and all(each is not None and not each.is_write for each in aliases)


def _is_of_the_interpreter() -> bool:
    return any("triton/runtime" in frame.filename for frame in traceback.extract_stack())
