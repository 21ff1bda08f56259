"""Objectives against what one would write or pick instead: time and peak memory of forward and backward.

    python benchmarks/objective.py                      # 256 to 16,384 pairs, about ten minutes on two cores
    python benchmarks/objective.py --pairs 256 2048 --rounds 15

All methods see the same unit vectors in float32. Times are medians over rounds in which the methods take
turns, so that a change of the machine's mood meets all of them; ratios are medians of the rounds' ratios.
Memory is the peak beyond the inputs, of one forward and backward in a process of its own (Linux only).
Peers: the published dense formula of hard negatives; NT-Xent as cross-entropy over a filled matrix; the
losses of pytorch-metric-learning; transport as published, a broadcast cost handed to POT. A method is left
out where its matrices would not fit: `limit` says up to how many pairs it is run.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from tammes import recipes

Loss = Callable[[Tensor, Tensor], Tensor]
TEMPERATURE, BETA, PRIOR, EPSILON = 0.5, 1.0, 0.1, 0.3


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to compute a loss; `against` names the method its time is divided into."""

    make: Callable[[], Loss]
    limit: int
    against: str | None = None


def hcl_dense() -> Loss:
    """HCL with debiasing as published: every matrix formed."""

    def loss(a: Tensor, b: Tensor) -> Tensor:
        batch, z = len(a), torch.cat([a, b])
        keep = ~torch.eye(batch, dtype=torch.bool).repeat(2, 2)
        negative = torch.exp(z @ z.T / TEMPERATURE).masked_select(keep).view(2 * batch, -1)
        positive = torch.exp((a * b).sum(-1) / TEMPERATURE).repeat(2)
        n = 2 * batch - 2
        importance = (BETA * negative.log()).exp()
        reweighted = (importance * negative).sum(-1) / importance.mean(-1)
        total = (-PRIOR * n * positive + reweighted) / (1 - PRIOR)
        total = torch.clamp(total, min=n * float(torch.exp(torch.tensor(-1 / TEMPERATURE))))
        return -torch.log(positive / (positive + total)).mean()

    return loss


def nt_xent_cross_entropy() -> Loss:
    """NT-Xent as most would write it: a filled diagonal and one cross-entropy."""

    def loss(a: Tensor, b: Tensor) -> Tensor:
        z = torch.cat([a, b])
        logits = (z @ z.T / TEMPERATURE).fill_diagonal_(-torch.inf)
        return cross_entropy(logits, torch.arange(len(z)).roll(len(a)))

    return loss


def hcl_ot_published() -> Loss:
    """Transport as published: the cost by broadcasting, the plan by POT, then the dense formula."""
    import ot

    def loss(a: Tensor, b: Tensor) -> Tensor:
        z = torch.cat([a, b])
        rows = len(z)
        same = torch.eye(len(a), dtype=torch.bool).repeat(2, 2)
        with torch.no_grad():
            cost = ((z[:, None, :] - z[None, :, :]) ** 2).sum(-1)
            cost[same] = 1e3
            mass = torch.full((rows,), 1 / rows).numpy()
            # Its cost lacks the factor 1/2, so the same plan has twice the regularization.
            plan = torch.from_numpy(ot.sinkhorn(mass, mass, cost.numpy(), reg=2 * EPSILON))
            weights = plan / plan.sum(1, keepdim=True)
        mean = (weights * torch.exp(z @ z.T / TEMPERATURE)).sum(1)
        positive = torch.exp((a * b).sum(-1) / TEMPERATURE).repeat(2)
        return torch.log(1 + (rows - 2) * mean / positive).mean()

    return loss


def metric_learning(name: str) -> Callable[[], Loss]:
    """A loss of pytorch-metric-learning; positives are rows that share a label."""

    def make() -> Loss:
        from pytorch_metric_learning import losses

        inner = {"NTXentLoss": losses.NTXentLoss, "SupConLoss": losses.SupConLoss}[name](
            temperature=TEMPERATURE
        )

        def loss(a: Tensor, b: Tensor) -> Tensor:
            return inner(torch.cat([a, b]), torch.arange(len(a)).repeat(2))

        return loss

    return make


METHODS = {
    "HCL, dense formula": Method(make=hcl_dense, limit=4096),
    "HCL, tammes": Method(
        make=lambda: recipes.hcl(temperature=TEMPERATURE, beta=BETA, class_prior=PRIOR),
        limit=10**9,
        against="HCL, dense formula",
    ),
    "NT-Xent, cross-entropy": Method(make=nt_xent_cross_entropy, limit=8192),
    "NT-Xent, metric-learning": Method(
        make=metric_learning("NTXentLoss"), limit=256, against="NT-Xent, cross-entropy"
    ),
    "SupCon, metric-learning": Method(
        make=metric_learning("SupConLoss"), limit=2048, against="NT-Xent, cross-entropy"
    ),
    "SimCLR, tammes": Method(
        make=lambda: recipes.simclr(temperature=TEMPERATURE), limit=10**9, against="NT-Xent, cross-entropy"
    ),
    "HCL-OT, broadcast + POT": Method(make=hcl_ot_published, limit=1024),
    "HCL-OT, tammes": Method(
        make=lambda: recipes.hcl_ot(temperature=TEMPERATURE, epsilon=EPSILON),
        limit=10**9,
        against="HCL-OT, broadcast + POT",
    ),
}


def views(pairs: int, dim: int) -> tuple[Tensor, Tensor]:
    """Unit vectors, the second view near the first."""
    generator = torch.Generator().manual_seed(0)
    a = normalize(torch.randn(pairs, dim, generator=generator), dim=1)
    b = normalize(a + 0.5 * torch.randn(pairs, dim, generator=generator) / dim**0.5, dim=1)
    return a.requires_grad_(), b.requires_grad_()


def once(loss: Loss, a: Tensor, b: Tensor) -> float:
    """Seconds of one forward and backward."""
    a.grad = b.grad = None
    start = time.perf_counter()
    loss(a, b).backward()
    return time.perf_counter() - start


def timed(pairs: int, dim: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of every method in every round, the methods taking turns."""
    a, b = views(pairs, dim)
    losses = {name: method.make() for name, method in METHODS.items() if pairs <= method.limit}
    for loss in losses.values():
        once(loss, a, b)
    seconds: dict[str, list[float]] = {name: [] for name in losses}
    for _ in range(rounds):
        for name, loss in losses.items():
            seconds[name].append(once(loss, a, b))
    return seconds


def peak_memory(name: str, pairs: int, dim: int) -> float:
    """MB beyond the inputs, measured in a fresh process; NaN where the system does not tell."""
    command = [sys.executable, __file__, "--measure", name, "--pairs", str(pairs), "--dim", str(dim)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def measure(name: str, pairs: int, dim: int) -> None:
    """Prints the peak of the resident memory in one forward and backward, less what was there before."""
    a, b = views(pairs, dim)
    loss = METHODS[name].make()
    once(loss, *views(8, dim))  # what libraries allocate once is not the method's
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts from here
    before = status("VmRSS")
    once(loss, a, b)
    print((status("VmHWM") - before) / 1024)


def status(field: str) -> int:
    """kB of a field of this process's memory."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))


def main() -> None:
    """Measures and prints one table for each number of pairs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096, 16384])
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--measure", choices=METHODS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.pairs[0], options.dim)
        return
    console = Console()
    console.print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, d = {options.dim}, float32")
    for pairs in options.pairs:
        seconds = timed(pairs, options.dim, options.rounds if pairs <= 4096 else 3)
        table = Table(title=f"{pairs:,} pairs, forward and backward", title_justify="left")
        for heading in ("method", "ms (median)", "times as fast", "as", "peak MB"):
            table.add_column(heading, justify="left" if heading in ("method", "as") else "right")
        for name, each in seconds.items():
            other = METHODS[name].against
            ratio = ""
            if other in seconds:
                pairwise = [theirs / ours for theirs, ours in zip(seconds[other], each, strict=True)]
                ratio = f"{statistics.median(pairwise):.2f}"
            memory = f"{peak_memory(name, pairs, options.dim):,.0f}"
            table.add_row(
                name, f"{1e3 * statistics.median(each):,.1f}", ratio, other if ratio else "", memory
            )
        console.print(table)


if __name__ == "__main__":
    main()
