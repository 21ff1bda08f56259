"""`tammes train`: one objective on the user's own images or texts, kept in a folder."""

import os
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from tammes.checks import check_integer
from tammes.cli.conclusion import conclusion
from tammes.cli.failures import is_first_on_machine
from tammes.cli.options.data import Split
from tammes.cli.options.objective import named_recipes
from tammes.cli.options.training import TrainOptions
from tammes.cli.outcome import write_report
from tammes.cli.output import check_text
from tammes.cli.scores import CURVE_POINTS, Measure, Trial, encoded, floors, score_table
from tammes.report import Scores
from tammes.training import Data, Machine, Run, RunFolder, train
from tammes.training.command import Command
from tammes.training.machine import Accelerator


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an encoder on your own images or texts: name an objective, then settings in any order.

    tammes train hcl --data FOLDER --temperature 0.5 --beta 1 --class-prior 0.1

    tammes train --resume runs/FOLDER    goes on with a run, by the command that started it

    Args:
        training: Settings of the training.
        source: Data to train on.
        out: Folder of the run: config.yaml, model.safetensors, checkpoints, metrics.csv, environment.yaml,
            report.html, and for texts vocabulary.json (by default runs/ and the name of the data).
        resume: Resume the run in that folder; it ends as if it had never stopped.
        overwrite: Replace the run in that folder.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        workers: Processes that decode images, for each process that trains.
        patience: Seconds to wait for another of several processes that train together (see torchrun).
        checkpoint_every: Steps between checkpoints within an epoch.
        measure_every: Epochs between measurements of the nearest-neighbor accuracy (by default, so that
            there are about 20).
    """

    training: TrainOptions
    source: Annotated[Split, tyro.conf.arg(name="")]
    out: Path | None = None
    resume: bool = False
    overwrite: bool = False
    accelerator: Accelerator = "auto"
    workers: int = 0
    patience: float = 600.0
    checkpoint_every: int = 500
    measure_every: int | None = None

    def __post_init__(self) -> None:
        if self.measure_every is not None:
            check_integer("--measure-every", self.measure_every)


def changed(words: Sequence[str], added: Sequence[str], dropped: Sequence[str] = ()) -> list[str]:
    """Return the words of a command with further options, which take the place of those of their name.

    Example:
        >>> changed(["simclr", "--epochs", "5", "encoder:convnet"], ["--epochs", "9", "--resume"])
        ['simclr', 'encoder:convnet', '--epochs', '9', '--resume']
        >>> changed(["simclr", "--batch_size=8", "encoder:convnet"], ["--batch-size", "9"])
        ['simclr', 'encoder:convnet', '--batch-size', '9']
    """
    result = [word for word in words if word not in dropped]
    for at, flag in enumerate(added):
        if not flag.startswith("--"):
            continue
        values = list(takewhile(lambda word: not word.startswith("--"), added[at + 1 :]))
        names = [word.partition("=")[0].replace("_", "-") for word in result]
        for place in reversed([place for place, name in enumerate(names) if name == flag]):
            more = 0 if "=" in result[place] else len(values)
            del result[place : place + 1 + more]
    return [*result, *added]


def resumed(arguments: Sequence[str]) -> list[str]:
    """Return the words that resume a run: for `--resume FOLDER` those that started it, and any that follow.

    Their paths are relative to the folder where the run was started, so this becomes the current one.

    Raises:
        ValueError: a folder without a run, or without the command of one.
    """
    if len(arguments) < 2 or arguments[0] != "--resume" or arguments[1].startswith("-"):
        return list(arguments)
    path = Path(arguments[1]).resolve()
    if not RunFolder(path=path).config.exists():
        raise ValueError(f"there is no run to resume in {arguments[1]} (no config.yaml)")
    command = Command.load(RunFolder(path=path).command_file)
    try:
        os.chdir(command.folder)
    except OSError as error:
        raise ValueError(
            f"the run was started in {command.folder}, which its paths are relative to, and which cannot be "
            f"entered ({error.strerror}): repeat the command that started the run and add --resume"
        ) from error
    return changed(command.words, [*arguments[2:], "--resume", "--out", str(path)], ("--overwrite",))


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes train`."""
    arguments = resumed(arguments)
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(
        Train, prog="tammes train", args=arguments, config=markers, console_outputs=is_first_on_machine()
    )
    machine = Machine(
        accelerator=choice.accelerator, workers=choice.workers, progress=True, patience=choice.patience
    )
    folder = RunFolder(
        path=choice.out or Path("runs") / Path(choice.source.data).resolve().name,
        resume=choice.resume,
        overwrite=choice.overwrite,
        checkpoint_every=choice.checkpoint_every,
        command=Command(words=tuple(arguments), folder=Path.cwd()),
    )
    check_text(folder.path.resolve().name)  # of the report, and perhaps the name of the current folder
    data, held_out = choice.training.load(choice.source)
    config = choice.training.config(data, choice.source.data)
    measure = None if held_out is None else Measure.of(data, held_out)
    every = choice.measure_every or max(1, config.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    command = shlex.join(["tammes", "train", *arguments])
    words = (word.replace("_", "-") for word in arguments)
    name = next((word for word in words if word in named_recipes()), "objective")
    # Several processes lock the folder while they train, once they have met; one also while it reports.
    with folder.locked() if machine.launch.count == 1 else nullcontext():
        run = train(config, data, source=choice.source.data, folder=folder, monitor=monitor, machine=machine)
        if machine.launch.rank == 0:
            _report(name, run, folder, command, data, held_out, measure, machine)


def _report(
    name: str,
    run: Run,
    folder: RunFolder,
    command: str,
    data: Data,
    held_out: Data | None,
    measure: Measure | None,
    machine: Machine,
) -> None:
    """Measure a trained run, print its scores and write its page, under the name of its objective."""
    run.model.to(machine.device)
    trial = Trial(name=name, scores=(Scores(),), runs=(run,))
    if measure is not None:
        scores, labels = measure.scores_and_labels(encoded(run.model))
        trial = replace(trial, scores=(scores,), labels=(labels,))
    baselines = () if measure is None else floors(data, [run], measure, machine.device)
    console = Console(markup=False)
    if measure is not None:
        rows = [(str(folder.path), trial.scores, ())]
        console.print(
            score_table(data, "trained encoder", rows, test_rows=len(measure.test), baselines=baselines)
        )
    console.print(conclusion(trial, baselines, 0 if measure is None else len(measure.test)), highlight=False)
    write_report(folder.report, command, [trial], baselines, data, held_out, measure)
    console.print(f"The run is in {folder.path}; open {folder.report}", highlight=False)
