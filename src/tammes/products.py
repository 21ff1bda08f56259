"""Products of float32 matrices on a CPU, by the quicker of the two libraries that torch brings along.

torch leaves them to Intel's MKL, which has slower code for other makers' processors: where registers have 512
bits, it takes twice as long as oneDNN, with which torch computes convolutions.
"""

from __future__ import annotations

import platform
import warnings
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

_FEWEST, _FEWEST_TURNED = 1 << 22, 1 << 24
"""Multiplications of numbers below which oneDNN takes longer to prepare than it saves: in general, and where
it copies a transposed first factor."""
STEP, _LARGE, _LARGE_STEP = 16, 1024, 64
"""Steps of sizes, and from which size on they are the larger ones. oneDNN writes a program for each shape,
which takes as long as several products: the ever new sizes of ragged batches stay with MKL."""


def product(
    left: Float[Tensor, "n d"], right: Float[Tensor, "d m"], *, scale: float = 1.0
) -> Float[Tensor, "n m"]:
    """Return `scale * left @ right`, differentiable as torch's own.

    Example:
        >>> product(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 5.0], [4.0, 6.0]]))
        tensor([[11., 17.]])
    """
    if not is_quicker(left, right):
        return left @ right if scale == 1.0 else _scaled(left, right, scale, _unread(left.dtype, left.device))
    return _quicker(left, right, scale)


def product_in(
    out: Float[Tensor, "n m"], left: Float[Tensor, "n d"], right: Float[Tensor, "d m"], *, scale: float = 1.0
) -> Float[Tensor, "n m"]:
    """Return `scale * left @ right`, in `out` or, by oneDNN, in new memory, without a graph.

    Example:
        >>> product_in(torch.empty(1, 1), torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]), scale=2.0)
        tensor([[22.]])
    """
    if is_quicker(left, right):
        return _quicker(left, right, scale)
    return _scaled(left, right, scale, out, out=out)


def add_product(into: Float[Tensor, "n m"], left: Float[Tensor, "n d"], right: Float[Tensor, "d m"]) -> None:
    """Add `left @ right` to a matrix, without a graph.

    Example:
        >>> into = torch.ones(1, 1)
        >>> add_product(into, torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))
        >>> into
        tensor([[12.]])
    """
    if is_quicker(left, right):
        into.add_(_quicker(left, right, 1.0))
    else:
        into.addmm_(left, right)


class TransposedSum:
    """Sum over the tiles P of a matrix of P^T A, what each tile gives to the rows of its columns.

    oneDNN would copy P^T and turn the result. So its sum is kept transposed: A^T P, and turned once.

    Args:
        rows: A, one row for each of the matrix.
        into: matrix to which the sum is added, one row for each column of the matrix.

    Example:
        >>> into = torch.zeros(3, 1)
        >>> total = TransposedSum(torch.tensor([[1.0], [2.0]]), into)
        >>> total.add(torch.tensor([[3.0, 4.0]]), slice(1, 2), slice(0, 2))
        >>> total.finish()
        >>> into.T
        tensor([[6., 8., 0.]])
    """

    def __init__(self, rows: Float[Tensor, "n d"], into: Float[Tensor, "m d"]) -> None:
        self._rows, self._into = rows, into
        self._total = rows.new_zeros(into.shape[::-1]) if is_quicker(rows, into.T) else None
        self._place, self._turned = slice(0, 0), rows[:0].T

    def add(self, tile: Float[Tensor, "r c"], rows: slice, columns: slice) -> None:
        """Add what a tile gives; tiles of the same rows come one after the other."""
        if self._total is None:
            self._into[columns].addmm_(tile.T, self._rows[rows])
            return
        if rows != self._place:  # turned once for all tiles of these rows
            self._place, self._turned = rows, self._rows[rows].T.contiguous()
        self._total[:, columns] += product(self._turned, tile)

    def finish(self) -> None:
        """Add the sum to the matrix, where that has not happened."""
        if self._total is not None:
            self._into.add_(self._total.T)


_replaced: list[torch.library.Library] = []
"""What `quick_products` has changed."""


def quick_products(wanted: bool = True) -> bool:
    """Let all of torch multiply float32 matrices by oneDNN in this process, where MKL is slow.

    On an AMD processor with AVX-512 a perceptron then takes about half the time, forward and backward, and a
    Vision Transformer three quarters. Call this once, before a training, as `tammes` commands do; the losses
    of this package need no call. Products of other types, of small matrices and of sizes that are no
    multiples of 16 (64 from 1,024 on) stay as they are. The last digits differ from MKL's.

    Args:
        wanted: False for torch's own products again.

    Returns:
        Whether products are oneDNN's now; elsewhere nothing changes.

    Example:
        >>> quick_products() == is_slow_in_mkl()
        True
        >>> quick_products(False)
        False
    """
    if wanted and not _replaced and is_slow_in_mkl() and hasattr(torch.library, "get_kernel"):
        _replaced.append(_replacement())
    elif not wanted and _replaced:
        _replaced.pop()._destroy()
    return bool(_replaced)


def are_quick() -> bool:
    """Return whether `quick_products` has changed this process, so that those it starts can do the same.

    Example:
        >>> are_quick()
        False
    """
    return bool(_replaced)


def _replacement() -> torch.library.Library:
    """Replace torch's products of matrices on a CPU, for as long as the result lives."""
    key = "CPU"
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    of_torch = {name: torch.library.get_kernel(f"aten::{name}", key) for name in ("mm", "addmm")}

    def mm(left: Tensor, right: Tensor) -> Tensor:
        if _suit(left, right):
            return _by_onednn(left, right, 1.0)
        found: Tensor = of_torch["mm"].call_boxed(keys, left, right)
        return found

    def addmm(bias: Tensor, left: Tensor, right: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
        is_plain = beta == alpha == 1 and bias.shape == right.shape[1:] and bias.dtype == torch.float32
        if is_plain and _suit(left, right):
            return _by_onednn(left, right, 1.0, bias)
        found: Tensor = of_torch["addmm"].call_boxed(keys, bias, left, right, beta=beta, alpha=alpha)
        return found

    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a kernel is replaced
        library.impl("mm", mm, key)
        library.impl("addmm", addmm, key)
    return library


def is_quicker(left: Float[Tensor, "n d"], right: Float[Tensor, "d m"]) -> bool:
    """Return whether `product` of these takes oneDNN, which writes to new memory and has no gradient.

    Example:
        >>> is_quicker(torch.ones(1, 2), torch.ones(2, 3))
        False
    """
    has_graph = torch.is_grad_enabled() and (left.requires_grad or right.requires_grad)
    return _suit(left, right) and is_slow_in_mkl() and not has_graph


def _suit(left: Tensor, right: Tensor) -> bool:
    """Return whether oneDNN multiplies such matrices, and gains more than its preparations take."""
    (n, d), m = left.shape, right.shape[1]
    return (
        n * d * m >= (_FEWEST if left.is_contiguous() else _FEWEST_TURNED)
        and left.dtype == right.dtype == torch.float32
        and left.device.type == right.device.type == "cpu"
        # For columns of a wider matrix oneDNN has no such program, and takes two thousand times as long.
        and (right.is_contiguous() or right.T.is_contiguous())
        and n % (STEP if n < _LARGE else _LARGE_STEP) == 0
        and d % (STEP if d < _LARGE else _LARGE_STEP) == 0
        and m % (STEP if m < _LARGE else _LARGE_STEP) == 0
    )


def _quicker(left: Tensor, right: Tensor, scale: float) -> Tensor:
    if not left.is_contiguous() and right.numel() < left.numel():
        return _by_onednn(right.T, left.T, scale).T  # the smaller factor is copied
    return _by_onednn(left, right, scale)


def _by_onednn(left: Tensor, right: Tensor, scale: float, bias: Tensor | None = None) -> Tensor:
    scaled_first = scale != 1.0 and left.numel() < left.shape[0] * right.shape[1]
    if scaled_first:
        left = left * scale
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.T, bias, "none", [], "")
    return found if scaled_first or scale == 1.0 else found.mul_(scale)


def _scaled(left: Tensor, right: Tensor, scale: float, like: Tensor, *, out: Tensor | None = None) -> Tensor:
    return torch.addmm(like, left, right, beta=0, alpha=scale, out=out)  # for free; `like` is not read


@cache
def _unread(dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.zeros(1, dtype=dtype, device=device)


@cache
def is_slow_in_mkl() -> bool:
    """Return whether MKL leaves half of the processor unused, and oneDNN is there in its place.

    Decided by the processor, not by a measurement: the same machine gets the same digits in every process.

    Example:
        >>> is_slow_in_mkl() in (True, False)
        True
    """
    return (
        torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and "AuthenticAMD" in _maker()
    )


def _maker(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return what the system says of the processor's maker."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()  # on Windows it ends with the maker
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")
