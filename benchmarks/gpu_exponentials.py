"""The rate of powers of two on a GPU: a kernel that computes them in registers, nearly without memory.

Through memory an operation such as `torch.exp2` takes the time in which its 8 bytes a number are moved.
"""

from __future__ import annotations

import torch
import triton
from triton import language as tl

from gpu_rows import median

_BLOCK, _WARPS = 1024, 4
"""Numbers of a program: eight for a thread, whose exponentials do not wait for each other."""


@triton.jit
def repeated(values, results, rounds, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Replace each number x by 2^{-x}, again and again; all come near 0.64, far from an overflow."""
    here = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(values + here)
    for _ in range(rounds):
        x = tl.exp2(-x)
    tl.store(results + here, x)


def rate(device: torch.device, rounds: int) -> float:
    """Return how many exponentials the device computes in a second.

    Args:
        device: a GPU, or a CPU whose interpreter tries the kernel.
        rounds: rounds of which the median counts.
    """
    on_gpu = device.type == "cuda"
    programs = 16 * torch.cuda.get_device_properties(device).multi_processor_count if on_gpu else 1
    repeats = 4096 if on_gpu else 8
    values = torch.rand(programs * _BLOCK, device=device)
    results = torch.empty_like(values)

    def work() -> None:
        repeated[(programs,)](values, results, repeats, BLOCK=_BLOCK, num_warps=_WARPS, enable_fp_fusion=True)

    return values.numel() * repeats / (1e-3 * median(work, device, rounds))
