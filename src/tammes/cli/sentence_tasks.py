"""`tammes evaluate --tasks`: an encoder of sentences on tasks, beside features that take no training."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rich.table import Table

from tammes.cli.console import print_table
from tammes.cli.failures import print_line
from tammes.cli.floors import before_training
from tammes.cli.options.evaluate import EvaluateTasks
from tammes.cli.output import counted
from tammes.data import Texts
from tammes.estimate import Estimate
from tammes.evaluation.sentence_tasks import (
    LogisticProtocol,
    Task,
    TaskScore,
    evaluate,
    find_tasks,
    random_words,
    tfidf_svd,
)
from tammes.evaluation.sentence_tasks.tasks import Embed
from tammes.report.evaluation import FILE, Result, record
from tammes.training import Machine, Model, Run, RunFolder, TextsSummary, embed, load_run

ENCODER = "encoder"
"""Name of the run's encoder among the floors."""


def evaluate_tasks(choice: EvaluateTasks) -> None:
    """Measure the encoder and the floors on every task of the folder, and print and record the scores.

    Raises:
        ValueError: a run that is not on texts; tasks that could not be measured, once all others are.
    """
    run = load_run(choice.run, trust=choice.trust)
    if not isinstance(run.config.data, TextsSummary):
        raise ValueError(
            f"--tasks is for encoders of sentences, but {choice.run} is no run on texts: leave it out"
        )
    tasks = find_tasks(choice.tasks)
    encoders = _encoders(run, choice)
    protocol = LogisticProtocol(seed=choice.seed)
    scores: dict[str, dict[str, TaskScore]] = {}
    failed: dict[str, str] = {}
    for task in tasks:
        if not choice.json:
            print_line(f"{task.name}: {counted(len(task.corpus), 'sentence')}")
        floors = {**encoders, **_floors(task, run.model.encoder.features, choice.seed)}
        try:
            found = {name: evaluate(task, each, protocol) for name, each in floors.items()}
        except ValueError as error:
            failed[task.name] = str(error)
            continue
        # At once: neither a task that fails later nor a kill loses what is measured.
        record(choice.run, _results({task.name: found}, str(choice.tasks)))
        scores[task.name] = found
    if choice.json:
        named = {"run": str(choice.run), "tasks": str(choice.tasks)}
        print(json.dumps({**named, "scores": _numbers(scores), "failed": failed}))
    elif scores:
        print_table(task_table(scores))
        for sentence in (_in_words(scores), _where(choice.run)):
            print(sentence)
    if failed:
        causes = "; ".join(failed.values())
        raise ValueError(f"{len(failed)} of {counted(len(tasks), 'task')} could not be measured; {causes}")


def encoded_sentences(model: Model) -> Embed:
    """Return the features of sentences under a model, as a function."""
    return lambda sentences: embed(model, Texts.of(sentences))[0]


def _encoders(run: Run, choice: EvaluateTasks) -> dict[str, Embed]:
    """Return the encoder, and the one before its training."""
    device = Machine(accelerator=choice.accelerator).device
    found = {ENCODER: encoded_sentences(run.model.to(device))}
    if (before := before_training(run, device)) is not None:
        found[before[0]] = encoded_sentences(before[1].eval())
    return found


def _floors(task: Task, dim: int, seed: int) -> dict[str, Embed]:
    """Return features of as many dimensions that take no encoder."""
    return {"tf-idf and SVD": tfidf_svd(task.corpus, dim), "random words": random_words(dim, seed=seed)}


def task_table(scores: dict[str, dict[str, TaskScore]]) -> Table:
    """Return a table with a row for each number of each task, and a column for each encoder and floor."""
    table = Table(caption="scores times 100 with 95 % intervals, over the rows of the last column")
    table.add_column("task")
    for name in dict.fromkeys(name for found in scores.values() for name in found):
        table.add_column(name, justify="right")
    table.add_column("interval over", overflow="fold")
    for task, found in scores.items():
        for metric in found[ENCODER].metrics:
            cells = [each.metrics[metric].percent for each in found.values()]
            table.add_row(f"{task} {metric}", *cells, found[ENCODER].over)
    return table


def _in_words(scores: dict[str, dict[str, TaskScore]]) -> str:
    """Say on which tasks the encoder is right more often than every floor, sentence by sentence."""
    judged = {task: found for task, found in scores.items() if found[ENCODER].right is not None}
    if not judged:
        return "No task has classes, by which the encoder could be compared with the floors row by row."
    above = [task for task, found in judged.items() if all(_is_above(found, name) for name in found)]
    names = f": {', '.join(above)}" if above else ""
    return (
        f"Above every floor on {len(above)} of {counted(len(judged), 'task')} with classes{names} "
        "(paired 95 % intervals over the test rows)."
    )


def _is_above(found: dict[str, TaskScore], floor: str) -> bool:
    ours, theirs = found[ENCODER].right, found[floor].right
    assert ours is not None
    assert theirs is not None
    return floor == ENCODER or Estimate.of_outcomes(ours.tolist(), theirs.tolist()).above_zero


def _where(run: Path) -> str:
    report = RunFolder(path=run).report
    return f"The results are in {run / FILE}{f'; open {report}' if report.is_file() else ''}"


def _results(scores: dict[str, dict[str, TaskScore]], folder: str) -> list[Result]:
    return [
        Result.of(
            estimate,
            protocol="tasks" if name == ENCODER else f"tasks, {name}",
            name=f"{task}, {metric}",
            over=found.over,
            data=folder,
        )
        for task, by_name in scores.items()
        for name, found in by_name.items()
        for metric, estimate in found.metrics.items()
    ]


def _numbers(scores: dict[str, dict[str, TaskScore]]) -> dict[str, Any]:
    """Return the scores for JSON; ends of intervals that are unknown are None."""

    def numbers(estimate: Estimate) -> dict[str, float | None]:
        low, high = (end if math.isfinite(end) else None for end in (estimate.low, estimate.high))
        return {"mean": estimate.mean, "low": low, "high": high}

    return {
        task: {
            name: {
                "over": score.over,
                "costs": list(score.costs),
                **{metric: numbers(each) for metric, each in score.metrics.items()},
            }
            for name, score in found.items()
        }
        for task, found in scores.items()
    }
