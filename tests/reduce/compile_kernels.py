"""Compiles every kernel for the compute capabilities named, on a machine that need have no GPU.

    python tests/reduce/compile_kernels.py 80 90

The engine runs as it would, except that its launches only compile, in the shapes that it would choose on such
a device. In bfloat16 every kernel is compiled, in the other types those of log-sum-exps. Prints a line for
each kernel: capability, product, stages, name, bytes of shared memory. A process of its own, since Triton
interprets or compiles, not both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from tammes.reduce import Exponent, KeyRanges, Negatives, Product, Triton
from tammes.reduce.terms import Clipped, Softened
from tammes.reduce.triton import launch as launches
from tammes.reduce.triton import strips
from tammes.reduce.triton.subset import last_winners

SHARED = {80: 166_912, 86: 101_376, 89: 101_376, 90: 232_448}
"""Bytes of shared memory that a program may have, by compute capability."""
MULTIPROCESSOR = {80: 167_936, 86: 102_400, 89: 102_400, 90: 233_472}
"""Bytes of shared memory of a multiprocessor, by which the engine chooses the stages."""


class Compiler:
    """Stands where Triton looks for a device."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_device(self) -> int:
        return self.capability

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self.capability, 32)


def compiling(capability: int, product: Product) -> Callable[[Any, Any], Callable[..., None]]:
    """What takes the place of a launch."""

    def launch(kernel: Any, grid: Any) -> Callable[..., None]:
        def compiled(*arguments: Any, **options: Any) -> None:
            done = kernel.run(*arguments, grid=grid, warmup=True, **options)
            stages, shared = options.get("num_stages", 0), done.metadata.shared
            print(capability, product.name, stages, kernel.fn.__name__, shared)
            if done.metadata.shared > SHARED[capability]:
                raise SystemExit(f"{kernel.fn.__name__} takes {done.metadata.shared} bytes")

        return compiled

    return launch


def log_sums(engine: Triton, d: int) -> tuple[Negatives, Exponent, torch.Tensor]:
    """Compile the kernels of log-sum-exps of a fixed shift, and of a running maximum."""
    z = torch.eye(256, d).requires_grad_()
    negatives = Negatives(anchors=z, ranges=KeyRanges(keys=torch.arange(256) // 2), bound=1.0)
    hard = (Exponent(slope=4.0, gradient_slope=4.0), Exponent(slope=2.0, gradient_slope=2.0))
    for value in engine.log_sum_exp(negatives, hard):
        value.sum().backward(retain_graph=True)
    weight = Exponent(tilt=Clipped(gain=1.0, bound=1.0), tilt_has_gradient=True)
    (log_total,) = engine.log_sum_exp(negatives, (weight,))
    log_total.sum().backward()
    return negatives, weight, log_total.detach()


def main() -> None:
    """Run each reduction once, forward and backward, at sizes that compile every kernel."""
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    strips._add_product = lambda out, a, b: None  # a CPU multiplies no bfloat16 into float32
    Product.rounded = lambda product, embeddings: embeddings.to(product.kind)  # as on a GPU
    for capability in map(int, sys.argv[1:]):
        driver.set_active(Compiler(capability))
        launches._shared_memory = lambda device, capability=capability: MULTIPROCESSOR[capability]
        for product in Product:
            JITFunction.__getitem__ = compiling(capability, product)
            engine, offsets = Triton(product=product), torch.zeros(256, 1)
            for d in (128, 512) if product is Product.BFLOAT16 else (128,):
                negatives, weight, log_total = log_sums(engine, d)
                if product is Product.BFLOAT16:
                    mean = engine.expectation(negatives, weight, log_total, Softened(), 2.0, offsets)
                    mean.sum().backward()
            if product is Product.BFLOAT16:
                engine.hardest(negatives)
                last_winners(torch.arange(256), negatives.ranges, 3)


if __name__ == "__main__":
    main()
