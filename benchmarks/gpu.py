"""Objectives on a GPU against dense PyTorch, in milliseconds and in fractions of the machine's matmul rate.

    python benchmarks/gpu.py                              # 1,024 to 262,144 pairs; writes benchmarks/results/
    python benchmarks/gpu.py --pairs 65536 --rounds 15
    python benchmarks/gpu.py --all --minutes 9            # gpu_all.py, in pieces; the same command resumes
    python benchmarks/gpu.py --interpret                  # a smoke test on a CPU: tiny, and no measurement

Times are of forward and backward together, by CUDA events: medians over rounds in which the methods take
turns. The fraction is the time that symmetric tiles with recomputation need for their 8 * 2 N^2 d operations
(N pairs), at the rate of the machine's matrix product of the same type in the same run, divided by the time
measured. The table says which dense methods do not fit into memory.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

Loss = Callable[[Tensor, Tensor], Tensor]
TEMPERATURE, BETA, EPSILON = 0.5, 1.0, 0.3
UNITS = 8
RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Type of the embeddings, and torch's setting for products in float32."""

    name: str
    type: torch.dtype
    precision: str


KINDS = (
    Kind(name="bfloat16", type=torch.bfloat16, precision="high"),
    Kind(name="tf32", type=torch.float32, precision="high"),
    Kind(name="float32", type=torch.float32, precision="highest"),
)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the table; `milliseconds` by rounds, empty if the method did not fit into memory."""

    kind: Kind
    pairs: int
    method: str
    milliseconds: tuple[float, ...]
    note: str = ""

    def cells(self, dim: int, rates: dict[str, float], others: list[Line]) -> list[str]:
        """Return the cells of a line."""
        if not self.milliseconds:
            return [self.kind.name, f"{self.pairs:,}", self.method, self.note, "", ""]
        median = statistics.median(self.milliseconds)
        needed = 1e3 * UNITS * 2 * self.pairs**2 * dim / rates[self.kind.name]
        plain = next((each for each in others if each.method == "NT-Xent, tammes"), None)
        ratio = ""
        if plain is not None and plain.milliseconds:
            pairwise = [ours / base for ours, base in zip(self.milliseconds, plain.milliseconds, strict=True)]
            ratio = f"{statistics.median(pairwise):.2f}"
        share = "" if "HCL-OT" in self.method else f"{needed / median:.0%}"
        return [self.kind.name, f"{self.pairs:,}", self.method, f"{median:,.3f}", share, ratio]


def nt_xent_dense(a: Tensor, b: Tensor) -> Tensor:
    """Return NT-Xent as it is usually written: a filled diagonal and one cross-entropy."""
    z = normalize(torch.cat([a, b]), dim=1)
    logits = (z @ z.T / TEMPERATURE).fill_diagonal_(-torch.inf)
    return cross_entropy(logits, torch.arange(len(z), device=z.device).roll(len(a)))


def hcl_dense(a: Tensor, b: Tensor) -> Tensor:
    """Return HCL by the published formula, with every matrix formed."""
    z = normalize(torch.cat([a, b]), dim=1)
    rows = torch.arange(len(z), device=z.device) % len(a)
    logits = (z @ z.T / TEMPERATURE).masked_fill(rows[:, None] == rows[None, :], -torch.inf)
    hard = torch.logsumexp((1 + BETA) * logits, dim=1) - torch.logsumexp(BETA * logits, dim=1)
    positive = (z * z.roll(len(a), 0)).sum(1) / TEMPERATURE
    return torch.nn.functional.softplus(hard + math.log(len(z) - 2) - positive).mean()


def methods(kind: Kind, *, small: bool) -> dict[str, Loss]:
    """Return the methods by name; torch.compile only for those that gain from it."""
    from tammes import recipes
    from tammes.reduce import Triton
    from tammes.reduce.choice import product_for

    engine = Triton(product=product_for(kind.type))
    atomics = dataclasses.replace(engine, deterministic=False)
    nt_xent = recipes.simclr(temperature=TEMPERATURE)
    hcl = recipes.hcl(temperature=TEMPERATURE, beta=BETA)
    ours: dict[str, Loss] = {
        "NT-Xent, tammes": dataclasses.replace(nt_xent, engine=engine),
        "NT-Xent, tammes with atomics": dataclasses.replace(nt_xent, engine=atomics),
        "HCL, tammes": dataclasses.replace(hcl, engine=engine),
        "HCL, tammes with atomics": dataclasses.replace(hcl, engine=atomics),
        "HCL-OT, tammes": dataclasses.replace(
            recipes.hcl_ot(temperature=TEMPERATURE, epsilon=EPSILON), engine=engine
        ),
        "NT-Xent, dense": nt_xent_dense,
        "HCL, dense": hcl_dense,
    }
    if small:
        return ours
    return ours | {
        "NT-Xent, dense, compiled": torch.compile(nt_xent_dense),
        "HCL, dense, compiled": torch.compile(hcl_dense),
    }


def milliseconds(work: Callable[[], object], device: torch.device) -> float:
    """Return the milliseconds of one call, by the device's clock if it has one."""
    if device.type != "cuda":
        start = time.perf_counter()
        work()
        return 1e3 * (time.perf_counter() - start)
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    work()
    last.record()
    last.synchronize()
    return first.elapsed_time(last)


def step(loss: Loss, a: Tensor, b: Tensor) -> None:
    """Compute one forward and one backward pass."""
    a.grad = b.grad = None
    loss(a, b).backward()


def matmul_rate(kind: Kind, device: torch.device, size: int, rounds: int) -> float:
    """Return the operations a second of a square matrix product."""
    torch.set_float32_matmul_precision(kind.precision)
    a = torch.randn(size, size, device=device, dtype=kind.type)
    b = torch.randn(size, size, device=device, dtype=kind.type)
    times = [milliseconds(lambda: a @ b, device) for _ in range(rounds + 3)][3:]
    return 2 * size**3 / (1e-3 * statistics.median(times))


def measured(kind: Kind, pairs: int, dim: int, rounds: int, device: torch.device) -> list[Line]:
    """Return a line for each method; the methods take turns."""
    torch.set_float32_matmul_precision(kind.precision)
    generator = torch.Generator().manual_seed(0)
    views = [torch.randn(pairs, dim, generator=generator) for _ in range(2)]
    a, b = (view.to(device, kind.type).requires_grad_() for view in views)
    works = methods(kind, small=device.type != "cuda")
    times: dict[str, list[float]] = {}
    notes: dict[str, str] = {}
    for name, loss in works.items():
        try:
            for _ in range(2):  # compiles, and fills the caches
                step(loss, a, b)
            times[name] = []
        except torch.OutOfMemoryError:
            notes[name] = "does not fit"
            a.grad = b.grad = None
            torch.cuda.empty_cache()
    for _ in range(rounds):
        for name in times:
            times[name].append(milliseconds(lambda name=name: step(works[name], a, b), device))
    return [
        Line(
            kind=kind,
            pairs=pairs,
            method=name,
            milliseconds=tuple(times.get(name, ())),
            note=notes.get(name, ""),
        )
        for name in works
    ]


def page(title: str, lines: list[list[str]], facts: list[str]) -> str:
    """Return the table in Markdown."""
    heads = ("type", "pairs", "method", "ms", f"of the {UNITS}-unit count", "times NT-Xent")
    rows = [heads, tuple("---" for _ in heads), *lines]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"# {title}\n\n" + "\n".join(f"- {fact}" for fact in facts) + f"\n\n{table}\n"


def facts_of(device: torch.device, rates: dict[str, float], dim: int, rounds: int) -> list[str]:
    """Return the facts about the machine and the run that stand above the table."""
    import triton

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU, interpreted"
    products = ", ".join(f"{kind} {rate / 1e12:,.1f}" for kind, rate in rates.items())
    return [
        f"{name}; torch {torch.__version__}, triton {triton.__version__}, CUDA {torch.version.cuda}",
        f"d = {dim}, temperature {TEMPERATURE}, beta {BETA}, epsilon {EPSILON}; medians of {rounds} rounds",
        f"matrix products, TFLOP/s measured: {products}",
    ]


def options() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1024, 4096, 16384, 65536, 262144])
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--kinds", nargs="+", choices=[kind.name for kind in KINDS])
    parser.add_argument("--all", action="store_true", help="checks, rates, launches, table and profiles")
    parser.add_argument("--minutes", type=float, default=9, help="with --all: when to begin no further row")
    parser.add_argument("--out", type=Path, help="with --all: file of the rows")
    parser.add_argument("--retry-errors", action="store_true", help="with --all: measure failed rows again")
    parser.add_argument("--interpret", action="store_true", help="a smoke test on a CPU, not a measurement")
    return parser.parse_args()


def everything(chosen: argparse.Namespace, device: torch.device) -> int:
    """Measure the rows of `gpu_all.py` that are missing; 3 where the time was up before the last."""
    sys.modules.setdefault("gpu", sys.modules[__name__])
    from gpu_all import measure_all
    from gpu_rows import TINY, Sizes, file_name

    if chosen.interpret and chosen.out is None:
        raise SystemExit("--all --interpret needs --out: a smoke test is no result")
    path = chosen.out or RESULTS / file_name(torch.cuda.get_device_name(device), torch.__version__)
    path.parent.mkdir(exist_ok=True)
    sizes = TINY if chosen.interpret else dataclasses.replace(Sizes(), rounds=chosen.rounds)
    whole = measure_all(sizes, device, path, chosen.minutes, retry_errors=chosen.retry_errors)
    return 0 if whole else 3


def main() -> int:
    """Measure, print the table and write it to a file."""
    chosen = options()
    if chosen.interpret:
        os.environ["TRITON_INTERPRET"] = "1"
        chosen.pairs, chosen.dim, chosen.rounds = [8], 16, 1
    elif not torch.cuda.is_available():
        print(
            "no CUDA device here: nothing can be measured (--interpret only tries the script)",
            file=sys.stderr,
        )
        return 2
    device = torch.device("cpu" if chosen.interpret else "cuda")
    if chosen.all:
        return everything(chosen, device)
    kinds = [kind for kind in KINDS if not chosen.kinds or kind.name in chosen.kinds]
    size = 64 if chosen.interpret else 8192
    rates = {kind.name: matmul_rate(kind, device, size, max(5, chosen.rounds)) for kind in kinds}
    rows: list[list[str]] = []
    for kind in kinds:
        for pairs in chosen.pairs:
            lines = measured(kind, pairs, chosen.dim, chosen.rounds, device)
            for line in lines:
                rows.append(line.cells(chosen.dim, rates, lines))
                print("  ".join(rows[-1]), flush=True)
    today = datetime.date.today().isoformat()
    facts = facts_of(device, rates, chosen.dim, chosen.rounds)
    text = page(f"Objectives on a GPU, {today}", rows, facts)
    print("\n" + text)
    if not chosen.interpret:
        RESULTS.mkdir(exist_ok=True)
        target = RESULTS / f"{today}-{torch.cuda.get_device_name(device).replace(' ', '-')}.md"
        target.write_text(text, encoding="utf-8")
        print(f"kept as {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
