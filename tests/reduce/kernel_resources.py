"""Compiles kernels for compute capability 9.0, without a GPU, and prints what they take, as JSON.

    python tests/reduce/kernel_resources.py > tests/reduce/kernel_resources.json   # records them anew

Of each kernel: registers of a thread, bytes of its stack (which holds what spills), bytes of shared memory,
and the numbers of asynchronous copies and of tensor-core instructions in its code. Besides, how often each
kernel is compiled for eight sizes of a batch. A process of its own: Triton interprets or compiles, not both.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from compile_kernels import Compiler
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from tammes.reduce import Exponent, KeyRanges, Negatives, Product, SoftmaxLoss, Triton
from tammes.reduce.terms import Softened
from tammes.reduce.triton import launch as launches
from tammes.reduce.triton import strips

CAPABILITY, MULTIPROCESSORS, SHARED_MEMORY = 90, 132, 233_472
OBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
BATCHES = (2, 17, 128, 1000, 1024, 1040, 4096, 5000)
CASES = (
    ("BFLOAT16", 128),
    ("BFLOAT16", 100),
    ("BFLOAT16", 256),
    ("BFLOAT16", 512),
    ("TF32", 128),
    ("FULL", 128),
)
GENERAL = (("BFLOAT16", 128), ("BFLOAT16", 512), ("FULL", 128))
"""Products and features of the steps of a softmax loss, and of the kernels of any other loss."""

found: dict[str, Any] = {}
variants: dict[str, set[str]] = {}


def resources(compiled: Any) -> dict[str, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(compiled.asm["cubin"])
        file.flush()
        command = [str(OBJDUMP), "-res-usage", file.name]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in shown.splitlines() if "REG:" in line)
    usage = dict(part.split(":") for part in line.split() if ":" in part)
    ptx = compiled.asm["ptx"]
    return {
        "registers": int(usage["REG"]),
        "stack": int(usage["STACK"]),
        "shared": compiled.metadata.shared,
        "asynchronous copies": ptx.count("cp.async.c"),
        "tensor-core instructions": ptx.count("wgmma.mma_async") + ptx.count("mma.sync"),
    }


def compiling(case: str | None) -> Callable[[Any, Any], Callable[..., None]]:
    """What takes the place of a launch; without a case compilations are only counted."""

    def launch(kernel: Any, grid: Any) -> Callable[..., None]:
        def compiled(*arguments: Any, **options: Any) -> None:
            done, name = kernel.run(*arguments, grid=grid, warmup=True, **options), kernel.fn.__name__
            if case is None:
                variants.setdefault(name, set()).add(done.hash)
            else:
                found[f"{name}, {case}"] = resources(done)

        return compiled

    return launch


def step(rows: int, d: int, product: Product) -> None:
    """HCL of two views, forward and backward."""
    z, partners = torch.zeros(rows, d), torch.arange(rows) ^ 1
    negatives = Negatives(anchors=z, ranges=KeyRanges(keys=torch.arange(rows) // 2), bound=1.0)
    views = tuple(torch.zeros(rows // 2, d, requires_grad=True) for _ in range(2))
    weight = Exponent(slope=2.0, gradient_slope=2.0)
    loss = SoftmaxLoss(temperature=0.5, class_prior=0.1, floor=-2.0)
    mean = Triton(product=product).softmax_loss(loss, views, torch.ones(rows, 1), negatives, weight, partners)
    assert mean is not None
    mean.backward()


def general(rows: int, d: int, product: Product) -> None:
    """The general kernels, of two sets: log-sum-exps of two exponents, and means; one side's gradient."""
    anchors, candidates = torch.zeros(rows, d, requires_grad=True), torch.zeros(rows, d)
    keys = torch.arange(rows)
    ranges = KeyRanges(keys=keys, candidate_keys=keys.clone())
    negatives = Negatives(anchors=anchors, candidates=candidates, ranges=ranges, bound=1.0)
    engine, weight = Triton(product=product), Exponent(slope=2.0, gradient_slope=2.0)
    sums = engine.log_sum_exp(negatives, (Exponent(slope=4.0, gradient_slope=4.0), weight))
    torch.stack(sums).sum().backward()
    offsets = torch.zeros(rows, 1)
    engine.expectation(negatives, weight, sums[1].detach(), Softened(), 2.0, offsets).sum().backward()


def main() -> None:
    driver.set_active(Compiler(CAPABILITY))
    launches._multiprocessors = lambda device: MULTIPROCESSORS
    launches._shared_memory = lambda device: SHARED_MEMORY
    strips._add_product = lambda out, a, b: None  # a CPU multiplies no bfloat16 into float32
    Product.rounded = as_on_a_gpu(Product.rounded)
    for name, d in CASES:
        JITFunction.__getitem__ = compiling(f"{name}, {d}")
        step(4096, d, Product[name])
    for name, d in GENERAL:
        JITFunction.__getitem__ = compiling(f"{name}, {d}")
        general(4096, d, Product[name])
    JITFunction.__getitem__ = compiling(None)
    for pairs in BATCHES:
        step(2 * pairs, 128, Product.BFLOAT16)
    counts = {name: len(hashes) for name, hashes in variants.items()}
    json.dump({"triton": triton.__version__, "kernels": found, "compilations": counts}, sys.stdout, indent=1)
    print()


def as_on_a_gpu(rounded: Callable[[Product, torch.Tensor], torch.Tensor]) -> Any:
    """Keep 16 bits, which the interpreter could not multiply."""
    return lambda product, embeddings: rounded(product, embeddings).to(product.kind)


if __name__ == "__main__":
    main()
