"""`tammes train`: one objective on the user's own images or texts, kept in a folder."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console

from tammes.cli.data import Split
from tammes.cli.device import Accelerator, device_of
from tammes.cli.failures import is_first_on_machine
from tammes.cli.measure import Measure, encoded
from tammes.cli.objective import objective_type
from tammes.cli.outcome import choose_sample, report_outcome, report_settings
from tammes.cli.setup import Setup
from tammes.cli.table import columns_of, score_cells, score_table
from tammes.cli.trial import Trial, floors
from tammes.encoders import ResNetConfig
from tammes.objective import Objective
from tammes.report import Comparison, Scores, write_comparison
from tammes.sources import InBatch
from tammes.training import (
    Adam,
    Constant,
    Cosine,
    Data,
    Falling,
    Machine,
    QueueConfig,
    Rising,
    RunFolder,
    TrainingConfig,
    train,
)

if TYPE_CHECKING:
    ObjectiveChoice = Objective
else:
    ObjectiveChoice = objective_type()

Negatives = (
    Annotated[InBatch, tyro.conf.subcommand("in-batch", default=InBatch(), description="The batch alone.")]
    | Annotated[QueueConfig, tyro.conf.subcommand("queue", default=QueueConfig())]
)


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an encoder on your own images or texts: name an objective, then settings in any order.

    tammes train hcl --data FOLDER --temperature 0.5 --beta 1 --class-prior 0.1

    Args:
        objective: What is minimized: a named method, or `objective` with every part spelled out.
        source: What to learn from.
        setup: What is trained on which pairs.
        out: The run's folder: config.yaml, model.safetensors, checkpoints, metrics.csv, report.html, and of
            texts vocabulary.json (by default runs/ and the name of the data).
        resume: Go on with the run in that folder; it ends as if it had never stopped.
        overwrite: Replace the run in that folder.
        batch_size: Pairs per step, over all processes; the negatives of one are the others of its batch.
        epochs: How often every image is visited, or every sentence paired.
        seed: Of the weights, the pairs, their order and their views.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        clip_norm: Greatest length of the gradient; by default it is left as it is.
        schedule: The learning rate over the steps.
        precision: Of the network's arithmetic; bf16-mixed is faster on recent GPUs.
        chunk: Views that go through the network at a time, for a batch that would not fit into memory; takes
            one more forward pass. The residual networks' BatchNorm then sees a chunk instead of the batch.
        annealing: Let the beta of hard negatives fall to 0, or rise from 0, over the epochs.
        learn_temperature: Learn the temperature with the network; --temperature is where it starts.
        negatives: Where negatives come from: the batch, or a queue of earlier batches besides.
        accelerator: What to compute on; auto takes a GPU where there is one.
        workers: Processes that decode images, for each process that trains.
        patience: Seconds to wait for another of several processes that train together (see torchrun).
        checkpoint_every: Steps between checkpoints within an epoch.
        measure_every: Epochs between measurements of the nearest-neighbor accuracy.
    """

    objective: Annotated[ObjectiveChoice, tyro.conf.arg(name="")]
    source: Annotated[Split, tyro.conf.arg(name="")]
    setup: Annotated[Setup, tyro.conf.arg(name="")] = field(default_factory=Setup)
    out: Path | None = None
    resume: bool = False
    overwrite: bool = False
    batch_size: int = 256
    epochs: int = 100
    seed: int = 0
    learning_rate: float = 1e-3
    weight_decay: float = 1e-6
    clip_norm: float | None = None
    schedule: Constant | Cosine = field(default_factory=Constant)
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    chunk: int | None = None
    annealing: Falling | Rising | None = None
    learn_temperature: bool = False
    negatives: Negatives = field(default_factory=InBatch)
    accelerator: Accelerator = "auto"
    workers: int = 0
    patience: float = 600.0
    checkpoint_every: int = 500
    measure_every: int = 1

    def config(self, data: Data) -> TrainingConfig:
        """What determines the weights of a run on these data."""
        return TrainingConfig(
            objective=self.objective,
            encoder=self.setup.encoder_for(data, usual=ResNetConfig()),
            head=self.setup.used_head,
            augmentation=self.setup.augmentation_for(data, self.source.data),
            positives=self.setup.positives_for(data),
            optimizer=Adam(
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
                schedule=self.schedule,
                clip_norm=self.clip_norm,
            ),
            batch_size=self.batch_size,
            epochs=self.epochs,
            seed=self.seed,
            precision=self.precision,
            chunk=self.chunk,
            annealing=self.annealing,
            learn_temperature=self.learn_temperature,
            negatives=self.negatives,
        )

    def folder(self) -> RunFolder:
        """Where the run is kept."""
        path = self.out or Path("runs") / Path(self.source.data).resolve().name
        return RunFolder(
            path=path,
            resume=self.resume,
            overwrite=self.overwrite,
            checkpoint_every=self.checkpoint_every,
        )


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes train`."""
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(
        Train, prog="tammes train", args=arguments, config=markers, console_outputs=is_first_on_machine()
    )
    data, held_out = choice.setup.load(choice.source)
    config, folder = choice.config(data), choice.folder()
    measure = None if held_out is None else Measure.of(data, held_out)
    monitor = None if measure is None else measure.monitor(every=choice.measure_every)
    machine = Machine(
        accelerator=choice.accelerator, workers=choice.workers, progress=True, patience=choice.patience
    )
    run = train(config, data, source=choice.source.data, folder=folder, monitor=monitor, machine=machine)
    if machine.launch.rank > 0:
        return  # the first of several processes measures and reports
    run.model.to(device_of(choice.accelerator))
    scores = Scores() if measure is None else measure.scores(encoded(run.model))
    trial = Trial(name=folder.path.resolve().name, scores=(scores,), runs=(run,))
    beside = () if measure is None else floors([run], measure, device_of(choice.accelerator))
    console = Console(markup=False)
    if measure is not None:
        columns = columns_of(data)
        table = score_table("trained encoder", columns=columns)
        table.add_row(str(folder.path), *score_cells(scores, columns=columns))
        table.add_section()
        for each in beside:
            table.add_row(each.name, *score_cells(*each.scores, columns=columns))
        console.print(table)
    exhibit = choose_sample(data, held_out, config)
    page = Comparison(
        data=choice.source.data,
        settings=report_settings(config, data, exhibit, measured=measure is not None),
        command=shlex.join(["tammes", "train", *arguments]),
        sample=exhibit.sample,
        outcomes=(report_outcome(trial, exhibit),),
        floors=tuple(each.floor for each in beside),
        test_size=0 if measure is None else len(measure.test),
    )
    write_comparison(folder.report, page)
    console.print(f"The run is in {folder.path}; open {folder.report}", highlight=False)
