"""Time and peak memory of objectives on a CPU, beside hand-written losses and other packages.

    python benchmarks/cpu.py                            # 64 to 4,096 pairs
    python benchmarks/cpu.py --quick                    # a first look, about a minute
    python benchmarks/cpu.py --quick --only nt-xent --pairs 64 256 1024
    python benchmarks/cpu.py --record                   # also writes benchmarks/results/<date>-cpu-avx2.md
    python benchmarks/cpu.py --only hcl hcl-ot --pairs 16384 --memory --record --name cpu-large

The methods of a task do the same work (for losses this is checked first) on the same raw
embeddings in float32, with the same number of threads, and take turns. Times are medians over rounds; a
ratio is the median of the rounds' ratios. "times products" is the time divided by that of the matrix
products alone, at the rate of float32 products in the same run; the rate is that of the faster of two shapes.
"""

from __future__ import annotations

import argparse
import datetime
import shlex
import sys
from pathlib import Path

import torch
from rich.console import Console
from threadpoolctl import threadpool_limits

from hcl_ot import hcl_ot
from losses import hcl, nt_xent, one_way
from machine import description, instructions, matmul_rate
from memory import measure, peak_of
from method import Method, NotReachedError, Size, Task, Work
from table import Cell, Section, markdown, show
from timing import side_by_side
from transport import transport, transport_clustered
from two_pass import two_pass

TASKS = {
    task.key: task
    for task in (nt_xent(), one_way(), hcl(), hcl_ot(), transport(), transport_clustered(), two_pass())
}
RESULTS = Path(__file__).parent / "results"
_DEFAULT, _QUICK = (64, 128, 256, 512, 1024, 2048, 4096), (64, 256, 1024)


def section(task: Task, size: Size, budget: float, *, memory: bool) -> Section:
    """Return the measurements of a task at one size."""
    rate = matmul_rate(size.dim)
    works, notes = _prepared(task, size)
    times = side_by_side(works, budget)
    cells = []
    for method in task.methods(size):
        megabytes = None
        if memory and method.name in times:
            megabytes = peak_of(task.key, method.name, size, torch.get_num_threads())
        cells.append(
            Cell(
                name=method.name,
                times=times.get(method.name),
                megabytes=megabytes,
                note=notes.get(method.name, ""),
            )
        )
    return Section(task=task, size=size, rate=rate, cells=tuple(cells))


def _prepared(task: Task, size: Size) -> tuple[dict[str, Work], dict[str, str]]:
    """Return the works that can be timed, and a note on each that cannot."""
    works, notes = {}, {}
    for method in task.methods(size):
        try:
            works[method.name] = method.prepare(size)
        except NotReachedError:
            notes[method.name] = "not reached"
    return works, notes


def parsed() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS), help="which tasks")
    parser.add_argument("--pairs", type=int, nargs="+", help=f"by default {_DEFAULT}")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, help="measuring time for each task and size; by default 8")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK} pairs, 0.6 seconds each")
    parser.add_argument("--memory", action="store_true", help="also measure peak memory, process by process")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/results")
    parser.add_argument("--name", default="cpu", help="with --record: name of the page, one for each day")
    parser.add_argument("--measure", nargs=2, metavar=("GROUP", "METHOD"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.pairs = options.pairs or (_QUICK if options.quick else _DEFAULT)
    options.seconds = options.seconds or (0.6 if options.quick else 8.0)
    return options


def named(task: str, method: str) -> Method:
    """Return a method by the names of its task and itself."""
    every = TASKS[task]
    return next(one for one in (*every.ours, *every.peers, *every.references) if one.name == method)


def main() -> None:
    """Measure, print, and record if asked."""
    options = parsed()
    torch.set_num_threads(options.threads)
    threadpool_limits(options.threads)
    if options.measure:
        print(measure(named(*options.measure), Size(pairs=options.pairs[0], dim=options.dim)))
        return
    console = Console(width=max(110, Console().width))
    console.print(description(), highlight=False)
    sections = []
    for key in options.only:
        task = TASKS[key]
        if task.agree is not None:
            task.agree(Size(pairs=64, dim=options.dim))
        for pairs in options.pairs:
            console.print(f"[dim]{task.key}, {pairs:,} pairs[/dim]")
            size = Size(pairs=pairs, dim=options.dim)
            sections.append(section(task, size, options.seconds, memory=options.memory))
    show(sections, console)
    if options.record:
        date = datetime.date.today().isoformat()
        path = RESULTS / f"{date}-{options.name}-{instructions().lower()}.md"
        path.parent.mkdir(exist_ok=True)
        command = f"python benchmarks/cpu.py {shlex.join(sys.argv[1:])}"
        path.write_text(markdown(sections, description(), command, date))
        console.print(f"Wrote {path}")


if __name__ == "__main__":
    main()
