"""`tammes train`: one objective on the user's own images, kept in a folder."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console

from tammes.cli.device import Accelerator, device_of
from tammes.cli.encoder import Encoder
from tammes.cli.images import Split, size_and_channels, usual_augmentation
from tammes.cli.launched import is_first_here
from tammes.cli.measure import Measure, encoded
from tammes.cli.objective import objective_type
from tammes.cli.outcome import choose_sample, report_outcome, report_sample, report_settings
from tammes.cli.table import score_cells, score_table
from tammes.cli.trial import Trial, floors
from tammes.encoders import ProjectionHeadConfig, ResNetConfig
from tammes.objective import Objective
from tammes.positives.augmentation import Handwriting, Photographs
from tammes.report import Comparison, Scores, write_comparison
from tammes.sources import InBatch
from tammes.training import (
    Adam,
    Constant,
    Cosine,
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
    """Train an encoder on your own images: name an objective, then settings in any order.

    tammes train hcl --data FOLDER --temperature 0.5 --beta 1 --class-prior 0.1

    Args:
        objective: What is minimized: a named method, or `objective` with every part spelled out.
        images: What to learn from.
        size: Height and width that images are scaled and cropped to, in pixels (a folder's default is 32).
        channels: 3 for color, 1 for gray (a folder's default is 3).
        out: The run's folder: config.yaml, model.safetensors, checkpoints, metrics.csv, report.html
            (by default runs/ and the name of the data).
        resume: Go on with the run in that folder; it ends as if it had never stopped.
        overwrite: Replace the run in that folder.
        encoder: The network whose features are wanted.
        head: The small network between features and compared embeddings.
        augmentation: How views are made; by default `handwriting` for the digits, else `photographs`.
        batch_size: Images per step, over all processes; an image's negatives are the others of its batch.
        epochs: How often every image is visited.
        seed: Of the weights, the order of the images and their views.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
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
    images: Annotated[Split, tyro.conf.arg(name="")]
    size: int | None = None
    channels: Literal[1, 3] | None = None
    out: Path | None = None
    resume: bool = False
    overwrite: bool = False
    encoder: Encoder = field(default_factory=ResNetConfig)
    head: ProjectionHeadConfig = field(default_factory=ProjectionHeadConfig)
    augmentation: Photographs | Handwriting | None = None
    batch_size: int = 256
    epochs: int = 100
    seed: int = 0
    learning_rate: float = 1e-3
    weight_decay: float = 1e-6
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

    def config(self) -> TrainingConfig:
        """What determines the weights."""
        return TrainingConfig(
            objective=self.objective,
            encoder=self.encoder,
            head=self.head,
            augmentation=self.augmentation or usual_augmentation(self.images.data),
            optimizer=Adam(
                learning_rate=self.learning_rate, weight_decay=self.weight_decay, schedule=self.schedule
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
        path = self.out or Path("runs") / Path(self.images.data).resolve().name
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
        Train, prog="tammes train", args=arguments, config=markers, console_outputs=is_first_here()
    )
    size, channels = size_and_channels(choice.images.data, choice.size, choice.channels)
    images, held_out = choice.images.load_split(size=size, channels=channels)
    config, folder = choice.config(), choice.folder()
    measure = None if held_out is None else Measure.of(images, held_out)
    monitor = None if measure is None else measure.monitor(every=choice.measure_every)
    machine = Machine(
        accelerator=choice.accelerator, workers=choice.workers, progress=True, patience=choice.patience
    )
    run = train(config, images, source=choice.images.data, folder=folder, monitor=monitor, machine=machine)
    if machine.launch.rank > 0:
        return  # the first of several processes measures and reports
    run.model.to(device_of(choice.accelerator))
    scores = Scores() if measure is None else measure.scores(encoded(run.model))
    trial = Trial(name=folder.path.resolve().name, scores=(scores,), runs=(run,))
    beside = () if measure is None else floors([run.config], measure, device_of(choice.accelerator))
    console = Console()
    if measure is not None:
        table = score_table("trained encoder")
        table.add_row(str(folder.path), *score_cells(scores))
        table.add_section()
        for each in beside:
            table.add_row(each.name, *score_cells(*each.scores))
        console.print(table)
    sample, is_held_out = choose_sample(images, held_out, config.batch_size)
    page = Comparison(
        data=choice.images.data,
        settings=report_settings(config, images, measured=measure is not None, is_held_out=is_held_out),
        command=shlex.join(["tammes", "train", *arguments]),
        sample=report_sample(sample),
        outcomes=(report_outcome(trial, sample),),
        floors=tuple(each.floor for each in beside),
        test_size=0 if measure is None else len(measure.test),
    )
    write_comparison(folder.report, page)
    console.print(f"The run is in {folder.path}; open {folder.report}", highlight=False)
