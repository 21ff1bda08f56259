"""`tammes solve`: sets of nodes by networks that are trained without solutions."""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tammes.cli.console import plain_console, print_table
from tammes.cli.options.solve import ApproachName, Solve
from tammes.cli.output import counted
from tammes.cli.solver_choice import (
    cache_of,
    check_cache,
    fit_config,
    is_rising,
    method_of,
    network_config,
    network_of,
    problem_constructor,
)
from tammes.estimate import Estimate
from tammes.extensions import Answer, Graphs, edge_list, exact_answers, tu_graphs
from tammes.extensions.solvers import (
    ByScalar,
    FitConfig,
    SolverNetwork,
    approximation_ratios,
    fit,
    greedy_by_degree,
    greedy_scores,
    optimal_scores,
    search,
    solve,
    split,
)

SHOWN = 40
"""Number of members of a set that are printed."""
GREEDY = "greedy, by degree"
OnEpoch = Callable[..., None]
"""Callback whose first argument is the number of epochs done."""


def main(choice: Solve) -> None:
    """Train networks on graphs, and print what they find."""
    # These check their own fields, before graphs are read, which may take long.
    _ = fit_config(choice), network_config(choice)
    check_cache(choice)
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
    plain = problem_constructor(choice, ByScalar())
    answers = exact_answers(plain(Graphs.join(test)), cache=cache_of(choice), seconds=choice.seconds)
    optima = torch.tensor([answer.score for answer in answers], dtype=torch.float64)
    exact = _total_seconds(answers)
    known, _ = optimal_scores(plain, validation, cache=cache_of(choice), seconds=choice.seconds)
    unproved = sum(answer.bound > answer.score for answer in answers)

    def trained(name: ApproachName, config: FitConfig, done: OnEpoch | None = None) -> SolverNetwork:
        method = method_of(choice, name)
        network, make_problem = network_of(choice, method), problem_constructor(choice, method)
        fit(network, method, make_problem, train, validation, config, optima=known, on_epoch=done)
        return network

    rows = [_result(GREEDY, greedy_scores(plain, test, rising=is_rising(choice)), optima, None)]
    left_out = _left_out(choice, None if unproved else exact, trained)
    for name in () if left_out else choice.methods:
        method, started = method_of(choice, name), time.perf_counter()
        with _steps(choice, name) as done:
            network = trained(name, fit_config(choice), done)
        spent = time.perf_counter() - started
        make_problem = problem_constructor(choice, method)
        scores = solve(network, method, make_problem, test, batch_size=choice.batch_size)
        rows.append(_result(name, scores, optima, spent))
    if choice.json:
        counts = {"test_graphs": len(test), "unproved": unproved, "exact_seconds": exact}
        print(json.dumps({**counts, "left_out": left_out is not None, "rows": rows}))
        return
    _show(choice, rows, len(train), len(test), unproved, exact, left_out)


def _left_out(
    choice: Solve, exact: float | None, train: Callable[[ApproachName, FitConfig], object]
) -> float | None:
    """Return the seconds that training would take, if it is left out; None if it is not.

    It is left out where no method was named and all exact answers together were quicker. The first pass over
    the graphs is no measure: what it allocates, later ones find.

    Args:
        choice: the options.
        exact: time of all exact answers, in seconds; None if it is not known, or if one has no proof.
        train: training by a method, with some settings.
    """
    if exact is None or choice.extension is not None:
        return None
    config, (name,) = fit_config(choice), choice.methods
    for _ in range(2):
        started = time.perf_counter()
        train(name, replace(config, epochs=1))
        spent = time.perf_counter() - started
    return config.epochs * spent if config.epochs * spent > exact else None


def _total_seconds(answers: Sequence[Answer]) -> float | None:
    """Return the time of all exact answers; None if the time of one is not known."""
    seconds = [answer.seconds for answer in answers if answer.seconds is not None]
    return sum(seconds) if len(seconds) == len(answers) else None


def _in_words(seconds: float | None) -> str:
    """Return seconds with two digits, or a dash if they are not known."""
    if seconds is None:
        return "-"
    if seconds < 0.01:
        return "<0.01"
    return f"{seconds:.0f}" if seconds >= 9.5 else f"{seconds:.2g}"


def _remark(exact: float | None, rows: Sequence[dict[str, Any]], left_out: float | None = None) -> str:
    """Return the sentence that exact answers were quicker than training, if they were; else nothing."""
    if left_out is not None:
        return (
            f"No network was trained: that takes about {_in_words(left_out)} s, and the exact answer took "
            f"{_in_words(exact)} s. Name the methods to train with --extension."
        )
    slower = [row for row in rows if exact is not None and (row["seconds"] or 0) > exact]
    if not slower:
        return ""
    trained = ", ".join(f"{row['method']} ({_in_words(row['seconds'])} s)" for row in slower)
    return f"The exact answer ({_in_words(exact)} s) was quicker than training {trained}."


@contextmanager
def _steps(choice: Solve, name: ApproachName) -> Iterator[OnEpoch]:
    """Show a progress bar, and yield a callback whose first argument is the number of epochs done."""
    console = Console(stderr=True)
    shown = console.is_terminal and not choice.json
    with Progress(console=console, transient=True, disable=not shown) as progress:
        bar = progress.add_task(name, total=choice.epochs)
        yield lambda epoch, *measured: progress.update(bar, completed=epoch)


def _result(method: str, scores: torch.Tensor, optima: torch.Tensor, seconds: float | None) -> dict[str, Any]:
    """Return the ratios of one method to the optima of the test graphs, as a row of the JSON output."""
    found = approximation_ratios(scores, optima)
    ratio = Estimate.over_seeds(found.tolist())
    return {
        "method": method,
        "ratio": ratio.mean,
        "interval": [ratio.low, ratio.high] if ratio.is_known else None,
        "solved": (found >= 1 - 1e-9).double().mean().item(),
        "seconds": seconds,
    }


def _show(
    choice: Solve,
    rows: Sequence[dict[str, Any]],
    train: int,
    test: int,
    unproved: int,
    exact: float | None,
    left_out: float | None = None,
) -> None:
    caption = f"{choice.problem} on {counted(test, 'graph')}"
    if left_out is None:
        caption += f", after training on {counted(train, 'other')}"
    if unproved:
        were = counted(unproved, "optimum was", "optima were")
        caption += (
            f"; {were} not proved in {choice.seconds:g} s each: for those, the ratio is to the best set found"
        )
    table = Table(caption=caption)
    table.add_column("method")
    for name in ("approximation ratio, 95 % interval over graphs", "solved", "seconds"):
        table.add_column(name, justify="right")
    for row in rows:
        ratio, solved = f"{row['ratio']:.3f}", f"{100 * row['solved']:.0f} %"
        if row["interval"] is not None:
            low, high = row["interval"]
            ratio = Estimate(mean=row["ratio"], low=low, high=high).text()
        table.add_row(row["method"], ratio, solved, _in_words(row["seconds"]))
    table.add_section()
    # Of graphs without a proof the ratio is to the best set found, which is this row's.
    table.add_row("exact", "1.000", f"{100 * (test - unproved) / test:.0f} % proved", _in_words(exact))
    console = plain_console()
    print_table(table)
    remark = _remark(exact if not unproved else None, rows, left_out)
    if remark:
        console.print(remark)


def _solve_one(choice: Solve, path: Path) -> None:
    graph, names = edge_list(path)
    if choice.problem == "k-clique" and choice.k is not None and choice.k > len(names):
        raise ValueError(f"--k is {choice.k}, but {path} has {counted(len(names), 'node')}: choose a smaller")
    plain = problem_constructor(choice, ByScalar())
    (answer,) = exact_answers(plain(graph), cache=cache_of(choice), seconds=choice.seconds)
    rows: list[dict[str, Any]] = []

    def add(method: str, score: float, members: Iterable[int], seconds: float | None) -> None:
        is_none = choice.problem == "k-clique" and score <= 0  # what was found is no clique of k nodes
        nodes = [] if is_none else [names[node] for node in members]
        rows.append({"method": method, "score": score, "nodes": nodes, "seconds": seconds})

    (greedy,), chosen = greedy_by_degree(plain, graph, rising=is_rising(choice))
    add(GREEDY, greedy.item(), _places(chosen), None)

    def searched(
        name: ApproachName, config: FitConfig, done: OnEpoch | None = None
    ) -> tuple[float, torch.Tensor]:
        method = method_of(choice, name)
        network, make_problem = network_of(choice, method), problem_constructor(choice, method)
        return search(network, method, make_problem, graph, config, on_step=done)

    known = answer.seconds if answer.proved else None
    left_out = _left_out(choice, known, searched)
    for name in () if left_out else choice.methods:
        started = time.perf_counter()
        with _steps(choice, name) as done:
            score, members = searched(name, fit_config(choice), done)
        add(name, score, _places(members), time.perf_counter() - started)
    exact = "exact" if answer.proved else f"best in {choice.seconds:g} s (at most {answer.bound:g})"
    remark = _remark(known, rows, left_out)
    add(exact, answer.score, answer.members, answer.seconds)
    if choice.json:
        print(json.dumps({"bound": answer.bound, "left_out": left_out is not None, "rows": rows}))
        return
    sizes = f"{counted(len(names), 'node')}, {counted(graph.edges.shape[1], 'edge')}"
    table = Table(caption=f"{choice.problem} of {path}: {sizes}")
    table.add_column("method")
    table.add_column("score", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("nodes", overflow="fold")
    for row in rows:
        nodes = row["nodes"]
        more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
        shown = " ".join(nodes[:SHOWN]) + more or "none"
        table.add_row(row["method"], f"{row['score']:g}", _in_words(row["seconds"]), shown)
    console = plain_console()
    print_table(table)
    if remark:
        console.print(remark)


def _places(members: torch.Tensor) -> list[int]:
    """Return the numbers of the nodes in a set."""
    return members.nonzero().flatten().tolist()
