"""The page of runs that were trained before: their curves over each other, and the settings that differ."""

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tammes.atomic import write_atomically
from tammes.estimate import Estimate
from tammes.report.curve import Curve
from tammes.report.evaluation import evaluation_table, read_results
from tammes.report.markup import listed, render
from tammes.report.origin import origin
from tammes.report.over_training import Series, label_free_curves, over_training
from tammes.report.palette import css_color
from tammes.report.settings import SEED, data_settings, differing_settings, in_words, training_settings
from tammes.report.table import ScoreCell, ScoreRow, ScoreTable
from tammes.training import RunConfig
from tammes.training.early_stop import early_stop
from tammes.training.history import History

MOST_IN_LEAD = 4
"""Number of groups whose accuracies the first sentence lists; of more it names the highest and the lowest."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunGroup:
    """Runs whose settings differ in the seed alone, finished or not.

    Args:
        name: name of the group, from the folders of its runs.
        runs: a run for each seed.
    """

    name: str
    runs: tuple[History, ...]

    @property
    def config(self) -> RunConfig:
        """Settings of the runs; the seed is that of the first."""
        return self.runs[0].config

    @property
    def epochs(self) -> int:
        """Number of epochs that all runs have finished."""
        return min(run.epochs for run in self.runs)

    def curve(self, name: str) -> Curve | None:
        """Return a number over the epochs, as the mean over the seeds; None if it was not recorded."""
        return Curve.over_seeds([Curve.of(run.metrics, name) for run in self.runs])

    def last(self, name: str) -> Estimate | None:
        """Return the last value of a number, as the mean over the seeds; None if one has not recorded it."""
        curves = [Curve.of(run.metrics, name) for run in self.runs]
        known = [curve.last for curve in curves if curve is not None]
        return Estimate.over_seeds(known) if len(known) == len(curves) else None

    @property
    def accuracy(self) -> Estimate | None:
        """Last accuracy of nearest neighbors; without an interval for one seed, or seeds that agree."""
        found = self.last("knn")
        return None if found is None else Estimate.of_accuracies(found.values, None)

    @property
    def series(self) -> Series:
        """Curves of the group."""
        return Series(
            name=self.name,
            loss_kind=_loss_kind(self.config),
            knn=self.curve("knn"),
            loss=self.curve("loss"),
            gradient_norm=self.curve("gradient_norm"),
            learning_rate=self.curve("learning_rate"),
            label_free=label_free_curves([run.metrics for run in self.runs]),
            seeds=len(self.runs),
        )


def _loss_kind(config: RunConfig) -> str:
    """Return what the loss depends on besides the encoder: it grows with the number of negatives, too."""
    training = config.training
    parts = (training.objective, training.negatives, training.annealing, training.learn_temperature)
    return f"{'; '.join(map(in_words, parts))}; {training.batch_size}"


def grouped(histories: Sequence[History]) -> tuple[RunGroup, ...]:
    """Return the runs in groups that differ in the seed alone, in the order of their first runs.

    Runs of equal settings and seed are no two seeds, so the second begins a group of its own runs.
    """
    groups: dict[tuple[str, int], list[History]] = {}
    seen: dict[str, int] = {}
    for history in histories:
        training = history.config.training
        exact = repr(history.config)
        seen[exact] = seen.get(exact, 0) + 1
        without_seed = replace(history.config, training=replace(training, seed=0))
        groups.setdefault((repr(without_seed), seen[exact]), []).append(history)
    paths = {history.path: Path(os.path.abspath(history.path)) for history in histories}
    members = [[paths[run.path] for run in runs] for runs in groups.values()]
    return tuple(
        RunGroup(name=name, runs=tuple(runs))
        for name, runs in zip(_names(members), groups.values(), strict=True)
    )


def _names(members: Sequence[Sequence[Path]]) -> list[str]:
    """Return a name for each group: the folder that holds its runs alone, or else the folders of its runs."""
    everyone = [path for paths in members for path in paths]
    root = Path(os.path.commonpath([path.parent for path in everyone]))
    names = []
    for paths in members:
        folder = Path(os.path.commonpath(paths))
        if folder != root and sum(path.is_relative_to(folder) for path in everyone) == len(paths):
            names.append(folder.relative_to(root).as_posix())
            continue
        first, *others = (path.relative_to(root).as_posix() for path in paths)
        names.append(listed([first, *others]) if len(others) < 2 else f"{first} and {len(others)} more")
    return names


def write_runs(path: Path, histories: Sequence[History], command: str) -> None:
    """Write the page of runs, from what they have recorded alone; the file is self-contained.

    Args:
        path: path of the HTML file; its folder must exist, and an existing file is replaced.
        histories: runs, at least one, each of which has finished an epoch.
        command: command that writes the page.
    """
    groups = grouped(histories)
    configs = [group.config for group in groups]
    sources = list(dict.fromkeys(config.data.source for config in configs))
    training = over_training(
        [group.series for group in groups], together="all runs", test_rows="rows held out of training"
    )
    count = len(histories)
    context = {
        "kicker": "Run" if count == 1 else "Runs",
        "title": f"{groups[0].name if count == 1 else f'{count} runs'} on {listed(sources)}",
        "lead": _lead(groups),
        "note": _note(groups),
        "shared": _shared_settings(configs),
        "table": run_table(groups),
        "training": training,
        "evaluation": _evaluation(groups),
        "objectives": [
            {"name": group.name, "color": css_color(index), "text": group.config.training.loss}
            for index, group in enumerate(groups)
        ],
        "command": command,
        "origin": origin([history.environments for history in histories]),
    }
    write_atomically(path, render("runs.html.jinja", context).encode("utf-8", "replace"))


def _evaluation(groups: Sequence[RunGroup]) -> ScoreTable | None:
    """Return the table of what `tammes evaluate` has recorded of the runs; None without a record."""
    found = [
        (f"{group.name}, seed {run.config.training.seed}" if len(group.runs) > 1 else group.name, result)
        for group in groups
        for run in group.runs
        for result in read_results(run.path)
    ]
    several = sum(len(group.runs) for group in groups) > 1
    names = [name for name, _ in found] if several else []
    return evaluation_table([result for _, result in found], names=names) if found else None


def _lead(groups: Sequence[RunGroup]) -> str:
    """Return the accuracies at the end, in a sentence."""
    known = [(group.name, group.accuracy) for group in groups]
    ends = sorted(((name, end) for name, end in known if end is not None), key=lambda each: -each[1].mean)
    if not ends:
        return "There are no labels, so there is no accuracy; losses do not tell how good the features are."
    said = [f"{_percent(end)} for {name}" for name, end in ends]
    if len(said) == 1 and len(groups) == 1:
        return f"At the end nearest neighbors name {_percent(ends[0][1])} of the held-out rows."
    if len(said) <= MOST_IN_LEAD:
        return f"At the end nearest neighbors name {listed(said)} of the held-out rows."
    return f"At the end nearest neighbors name from {said[-1]} to {said[0]} of the held-out rows."


def _percent(accuracy: Estimate) -> str:
    if not accuracy.is_known:
        return f"{100 * accuracy.mean:.1f} %"
    return f"{accuracy.percent} %"


def _note(groups: Sequence[RunGroup]) -> str:
    """Return which runs stopped early, and what the accuracies leave out."""
    ends = [early_stop(run.config.training, run.metrics) for group in groups for run in group.runs]
    sentences = list(dict.fromkeys(end for end in ends if end is not None))
    most = max(len(group.runs) for group in groups)
    if most > 1:
        sentences.append("Runs that differ in their seed alone are drawn as one.")
    if any(group.accuracy is not None for group in groups):
        over_seeds = "Intervals are at 95 %, over the seeds (Student). " if most > 1 else ""
        sentences.append(
            f"{over_seeds}One seed has no interval, and seeds of equal accuracies have none, since a run "
            "does not record the number of rows that it was measured on."
        )
        if len({in_words(group.config.data) for group in groups}) > 1:
            sentences.append("The runs were trained on different data, so accuracies cannot be compared.")
    return " ".join(sentences)


def _shared_settings(configs: Sequence[RunConfig]) -> dict[str, str]:
    """Return the settings that are the same in all runs, without the seed."""
    each = [
        {**data_settings(config.data, config.training.positives), **training_settings(config.training)}
        for config in configs
    ]
    return {
        name: value
        for name, value in each[0].items()
        if name != SEED and all(other.get(name) == value for other in each)
    }


def run_table(groups: Sequence[RunGroup]) -> ScoreTable:
    """Return the table of the numbers at the end, and of the settings that differ.

    Args:
        groups: groups of runs, in the order of the page.
    """
    differing = differing_settings([group.config for group in groups])
    losses, accuracies = [group.last("loss") for group in groups], [group.accuracy for group in groups]
    seconds = [_mean_seconds(group) for group in groups]
    columns = {
        "kNN": [_cell(accuracy, digits=1, scale=100) for accuracy in accuracies],
        "training loss": [_cell(loss, digits=3) for loss in losses],
        "seeds": [ScoreCell(text=str(len(group.runs))) for group in groups],
        "epochs": [ScoreCell(text=_epochs(group)) for group in groups],
        "seconds": [ScoreCell(text="–" if each is None else f"{each:.1f}") for each in seconds],
    }
    if all(accuracy is None for accuracy in accuracies):
        del columns["kNN"]
    if all(each is None for each in seconds):
        del columns["seconds"]
    rows = [
        ScoreRow(
            name=group.name,
            color=css_color(index),
            cells=(
                *(cells[index] for cells in columns.values()),
                *(ScoreCell(text=values[index]) for values in differing.values()),
            ),
        )
        for index, group in enumerate(groups)
    ]
    note = "kNN, in per cent, and the loss are those of the last epoch."
    if differing:
        note += " The settings that differ follow; a dash stands for a part that has no such setting."
    return ScoreTable(
        first="run", leading=tuple(columns), probes=(), trailing=tuple(differing), rows=tuple(rows), note=note
    )


def _epochs(group: RunGroup) -> str:
    """Return the number of finished epochs, of how many if the runs go on or were stopped."""
    done, asked = group.epochs, group.config.training.epochs
    return str(asked) if done == asked else f"{done} of {asked}"


def _mean_seconds(group: RunGroup) -> float | None:
    """Return the mean seconds of training, or None if a run did not record them."""
    ends = [run.environments[-1].seconds if run.environments else None for run in group.runs]
    known = [end for end in ends if end is not None]
    return statistics.fmean(known) if len(known) == len(ends) else None


def _cell(estimate: Estimate | None, *, digits: int, scale: float = 1) -> ScoreCell:
    if estimate is None:
        return ScoreCell(text="–")
    mean, low, high = (
        f"{scale * value:.{digits}f}".replace("-", "\N{MINUS SIGN}")
        for value in (estimate.mean, estimate.low, estimate.high)
    )
    return ScoreCell(text=mean, interval=f"{low}, {high}" if estimate.is_known else "")
