"""`tammes train`: one objective on the user's own data, kept in a folder."""

import re
import shlex
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from tammes.cli.advice import advice, positives_of_texts, print_advice
from tammes.cli.conclusion import conclusion
from tammes.cli.console import plain_console, print_table
from tammes.cli.exhibit import check_rows
from tammes.cli.floors import floors
from tammes.cli.graph_data import NODES
from tammes.cli.loading import left_out
from tammes.cli.options.train import Train, objective_place
from tammes.cli.options.training import TrainingOptions
from tammes.cli.outcome import write_report
from tammes.cli.output import check_text
from tammes.cli.scores import CURVE_POINTS, Measure, Measured, Trial, encoded, knn_of, score_table
from tammes.encoders import GRUConfig, TextTransformerConfig, TwoTowersConfig
from tammes.report.evaluation import read_results, record
from tammes.training import Data, FolderCopy, ImagesSummary, Machine, Run, RunFolder, TrainingConfig, train
from tammes.training.command import Command
from tammes.training.early_stop import early_stop
from tammes.training.environment import is_quick_in_bfloat16, is_slow_in_bfloat16
from tammes.training.run_folder import read_config

WIDE = 128
"""Width from which bfloat16 makes a network of words quicker; narrower ones gain little, or lose."""


def _as_before(training: TrainingOptions, folder: RunFolder) -> TrainingOptions:
    """Return the settings with the size of the images that a resumed run has, if none was given."""
    if not (folder.resume and folder.config.exists()):
        return training
    images = read_config(folder.config).data
    if training.size is not None or not isinstance(images, ImagesSummary):
        return training
    return replace(training, size=images.size)


def precision_hint(
    config: TrainingConfig,
    machine: Machine,
    *,
    is_quick: Callable[[], bool] = is_quick_in_bfloat16,
    is_slow: Callable[[], bool] = is_slow_in_bfloat16,
) -> tuple[str, ...]:
    """Return a sentence on bfloat16 if the network would train faster in the other precision.

    Args:
        config: settings of the training.
        machine: where it trains.
        is_quick: tells whether the processor has instructions for bfloat16.
        is_slow: tells whether it takes far longer in bfloat16.
    """
    if machine.device_type != "cpu":
        return ()
    if config.precision == "32-true" and _is_of_large_products(config) and is_quick():
        return ("Precision: this processor multiplies in bfloat16; --precision bf16-mixed is quicker.",)
    if config.precision == "bf16-mixed" and is_slow():
        return (
            "Precision: this processor multiplies several times more slowly in bfloat16; "
            "--precision 32-true is quicker.",
        )
    return ()


def _is_of_large_products(config: TrainingConfig) -> bool:
    """Return whether a network is one of images, or a wide one that reads words in their order."""
    if not config.takes_texts:
        return not config.takes_graphs
    network = config.encoder.tower if isinstance(config.encoder, TwoTowersConfig) else config.encoder
    return isinstance(network, GRUConfig | TextTransformerConfig) and network.width >= WIDE


def _name_of(data: str) -> str:
    """Return the name of a run: that of its data, without what a shell would expand.

    Example:
        >>> _name_of("shards/train-{000..002}.tar")
        'train-000-002.tar'
    """
    name = Path(data.removeprefix(NODES)).resolve().name
    return re.sub(r"\{(.*?)\}", lambda found: found[1].replace("..", "-").replace(",", "-"), name)


def main(choice: Train) -> None:
    """Train, measure, and write the page."""
    machine = Machine(
        accelerator=choice.accelerator,
        workers=choice.workers,
        progress=True,
        compile=choice.compile,
        patience=choice.patience,
    )
    folder = RunFolder(
        path=choice.out or Path("runs") / _name_of(choice.source.data),
        resume=choice.resume,
        overwrite=choice.overwrite,
        checkpoint_every=choice.checkpoint_every,
        command=Command(words=tuple(word for word in choice.words if word != "--resume"), folder=Path.cwd()),
        copy=None if choice.copy_to is None else FolderCopy(choice.copy_to),
    )
    check_text(folder.path.resolve().name)  # of the report, and perhaps the name of the current folder
    if machine.launch.count == 1:  # of several processes the first alone reads the folder
        folder.check_free()  # before the data are read, which may take long
    training = _as_before(choice.training, folder)
    data, held_out = training.load(choice.source)
    check_rows(data)
    config = training.config(data, choice.source.data)
    measure = None if held_out is None else Measure.of(data, held_out, knn_of(choice.source))
    every = choice.measure_every or max(1, config.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    said = advice(choice.source, data, [config])
    if machine.launch.rank == 0:
        print_advice((*positives_of_texts(data, config), *said))
        if not choice.resume:  # a run keeps its precision
            print_advice(precision_hint(config, machine))
    command = shlex.join(["tammes", "train", *choice.words])
    place = objective_place(choice.words)
    name = "objective" if place is None else choice.words[place].replace("_", "-")
    # Several processes lock the folder while they train, once they have met; one also while it reports.
    with folder.locked() if machine.launch.count == 1 else nullcontext():
        run = train(config, data, source=choice.source.data, folder=folder, monitor=monitor, machine=machine)
        if machine.launch.rank == 0:
            try:
                _report(name, run, folder, command, data, held_out, measure, machine, said)
            except KeyboardInterrupt:
                raise KeyboardInterrupt(
                    f"stopped after the training, which {folder.path} holds: the same command with --resume "
                    f"measures it and writes {folder.report}"
                ) from None
            folder.finish_copy()


def _report(
    name: str,
    run: Run,
    folder: RunFolder,
    command: str,
    data: Data,
    held_out: Data | None,
    measure: Measure | None,
    machine: Machine,
    said: tuple[str, ...],
) -> None:
    """Measure a trained run, print its scores and write its page, under the name of its objective."""
    run.model.to(machine.device)
    measured = Measured() if measure is None else measure.of_features(encoded(run.model))
    trial = Trial(name=name, measured=(measured,), runs=(run,))
    baselines = () if measure is None else floors(data, [run], measure, machine.device)
    console = plain_console()
    if measure is not None:
        rows = [(str(folder.path), trial.scores, ())]
        print_table(
            score_table(data, "trained encoder", rows, test_rows=len(measure.test), baselines=baselines)
        )
    console.print(conclusion(trial, baselines))
    if (end := early_stop(run.config.training, run.metrics)) is not None:
        console.print(end)
    shown = write_report(folder.report, command, [trial], baselines, data, held_out, measure, said)
    if read_results(folder.path):  # a page that is written anew shows again what was evaluated before
        record(folder.path, ())
    if not said:
        print_advice(shown)
    if (names := left_out(data, held_out)) is not None:
        console.print(names)
    console.print(f"The run is in {folder.path}; open {folder.report}")
