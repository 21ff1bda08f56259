"""`tammes solve`: sets of nodes by networks that were trained without solutions."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tammes.cli.counted import counted
from tammes.cli.solver_choice import ApproachName, Solve
from tammes.extensions import Graphs, exact_answers
from tammes.extensions.edge_list import edge_list
from tammes.extensions.solvers import (
    SolverNetwork,
    by_degree,
    fit,
    greedy,
    optima_of,
    ratios,
    search,
    solve,
    split,
)
from tammes.extensions.solvers import approaches as ways
from tammes.extensions.tu_graphs import tu_graphs

SHOWN = 40
"""Members of a set that are printed."""
GREEDY = "greedy, by degree"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one method came to, over the graphs of the table."""

    method: str
    ratio: float
    deviation: float
    solved: float
    seconds: float | None

    def cells(self) -> tuple[str, ...]:
        """As text."""
        spent = "-" if self.seconds is None else f"{self.seconds:.0f}"
        return self.method, f"{self.ratio:.3f} ± {self.deviation:.3f}", f"{100 * self.solved:.0f} %", spent


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes solve`."""
    choice = tyro.cli(Solve, prog="tammes solve", args=arguments, config=(tyro.conf.FlagCreatePairsOff,))
    if choice.graph is not None:
        _solve_one(choice, choice.graph)
    else:
        _solve_many(choice)


def _solve_many(choice: Solve) -> None:
    assert choice.data is not None
    try:
        graphs = tu_graphs(choice.data, most=choice.most)
    except ImportError as error:
        raise ValueError(str(error)) from error
    train, test, validation = split(graphs, seed=choice.seed)
    plain = choice.pose(ways.lovasz())
    optima, bounds = optima_of(plain, test, kept=choice.kept(), seconds=choice.seconds)
    known, _ = optima_of(plain, validation, kept=choice.kept(), seconds=choice.seconds)
    rows = [_row(GREEDY, by_degree(plain, test, rising=choice.rising), optima, None)]
    for name in choice.extension:
        approach = choice.approach(name)
        posed, started = choice.pose(approach), time.perf_counter()
        network = _trained(choice, name, train, validation, known)
        spent = time.perf_counter() - started
        worths = solve(network, approach.method, posed, test, batch_size=choice.batch_size)
        rows.append(_row(name, worths, optima, spent))
    unproved = int((bounds > optima).sum())
    if choice.json:
        print(
            json.dumps({"test_graphs": len(test), "unproved": unproved, "rows": [vars(row) for row in rows]})
        )
        return
    _show(choice, rows, len(train), len(test), unproved)


def _trained(
    choice: Solve,
    name: ApproachName,
    train: Sequence[Graphs],
    validation: Sequence[Graphs],
    optima: torch.Tensor,
) -> SolverNetwork:
    approach = choice.approach(name)
    network = choice.network(approach)
    with _steps(choice, name) as done:
        fit(
            network,
            approach.method,
            choice.pose(approach),
            train,
            validation,
            choice.fit_config,
            optima=optima,
            said=lambda epoch, loss, ratio: done(epoch),
        )
    return network


@contextmanager
def _steps(choice: Solve, name: ApproachName) -> Iterator[Callable[[int], None]]:
    """A bar on the way to the last epoch; hears how many are done."""
    console = Console(stderr=True)
    shown = console.is_terminal and not choice.json
    with Progress(console=console, transient=True, disable=not shown) as progress:
        bar = progress.add_task(name, total=choice.epochs)
        yield lambda epoch: progress.update(bar, completed=epoch)


def _row(method: str, worths: torch.Tensor, optima: torch.Tensor, seconds: float | None) -> Row:
    found = ratios(worths, optima)
    return Row(
        method=method,
        ratio=found.mean().item(),
        deviation=found.std(correction=0).item(),
        solved=(found >= 1 - 1e-9).double().mean().item(),
        seconds=seconds,
    )


def _show(choice: Solve, rows: Sequence[Row], train: int, test: int, unproved: int) -> None:
    trained = counted(train, "other")
    caption = f"{choice.problem} on {counted(test, 'graph')}, after training on {trained}"
    if unproved:
        were = counted(unproved, "optimum was", "optima were")
        caption += (
            f"; {were} not proved in {choice.seconds:g} s each: there, the ratio is to the best set that was "
            "found"
        )
    table = Table(caption=caption)
    table.add_column("method")
    for name in ("approximation ratio", "solved", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row.cells())
    Console().print(table)


def _solve_one(choice: Solve, path: Path) -> None:
    graph, names = edge_list(path)
    plain = choice.pose(ways.lovasz())
    (answer,) = exact_answers(plain(graph), kept=choice.kept(), seconds=choice.seconds)
    found: list[tuple[str, float, list[str]]] = []

    def join(method: str, worth: float, members: torch.Tensor) -> None:
        found.append((method, worth, [names[node] for node in members.nonzero().flatten().tolist()]))

    (worth,), members = greedy(plain, graph, rising=choice.rising)
    join(GREEDY, worth.item(), members)
    for name in choice.extension:
        approach = choice.approach(name)
        posed, network = choice.pose(approach), choice.network(approach)
        with _steps(choice, name) as done:
            join(name, *search(network, approach.method, posed, graph, choice.fit_config, said=done))
    exact = "exact" if answer.proved else f"best in {choice.seconds:g} s (at most {answer.bound:g})"
    found.append((exact, answer.worth, [names[node] for node in answer.members]))
    if choice.json:
        rows = [{"method": name, "worth": worth, "nodes": nodes} for name, worth, nodes in found]
        print(json.dumps({"bound": answer.bound, "rows": rows}))
        return
    sizes = f"{counted(len(names), 'node')}, {counted(graph.edges.shape[1], 'edge')}"
    table = Table(caption=f"{choice.problem} of {path}: {sizes}")
    table.add_column("method")
    table.add_column("worth", justify="right")
    table.add_column("nodes", overflow="fold")
    for method, worth, nodes in found:
        more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
        table.add_row(method, f"{worth:g}", " ".join(nodes[:SHOWN]) + more)
    Console().print(table)
