"""`tammes compare`: several objectives on the same images, seeds and budget."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from tammes.cli.device import Accelerator, device_of
from tammes.cli.encoder import Encoder
from tammes.cli.images import Split, size_and_channels, usual_augmentation
from tammes.cli.measure import Measure, encoded
from tammes.cli.objective import named_recipes
from tammes.cli.outcome import choose_sample, report_outcome, report_sample, report_settings
from tammes.cli.settings import Settings
from tammes.cli.table import score_cells, score_table, spread
from tammes.cli.target import prepare
from tammes.cli.trial import Trial, floors
from tammes.data import Images
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
from tammes.positives.augmentation import Handwriting, Photographs
from tammes.report import Comparison, Scores, write_comparison
from tammes.training import Adam, Machine, TrainingConfig, train

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(named_recipes())]

# The accuracy over epochs is drawn from about so many points.
CURVE_POINTS = 20


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Train several objectives on the same images with the same seed and budget, and compare them.

    tammes compare simclr dcl hcl hcl-ot --data digits

    Args:
        objectives: Which to compare.
        images: What to learn from and to measure on.
        settings: The numbers of the objectives.
        size: Height and width that images are scaled and cropped to, in pixels (a folder's default is 32).
        channels: 3 for color, 1 for gray (a folder's default is 3).
        report: The page to write.
        encoder: The network whose features are compared.
        head: The small network between features and compared embeddings.
        augmentation: How views are made; by default `handwriting` for the digits, else `photographs`.
        batch_size: Images per step; an image's negatives are the others of its batch.
        epochs: How often every image is visited.
        seed: Of the weights, the order of the images and their views: the same for all objectives.
        seeds: How many seeds to try, from --seed on; the table then has means and standard deviations.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        accelerator: What to compute on; auto takes a GPU where there is one.
        workers: Processes that decode images.
    """

    objectives: tyro.conf.Positional[tuple[Name, ...]]
    images: Annotated[Split, tyro.conf.arg(name="")]
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)
    size: int | None = None
    channels: Literal[1, 3] | None = None
    report: Path = Path("report.html")
    encoder: Encoder = field(default_factory=ConvNetConfig)
    head: ProjectionHeadConfig = field(default_factory=ProjectionHeadConfig)
    augmentation: Photographs | Handwriting | None = None
    batch_size: int = 256
    epochs: int = 60
    seed: int = 0
    seeds: int = 1
    learning_rate: float = 1e-3
    weight_decay: float = 1e-6
    accelerator: Accelerator = "auto"
    workers: int = 0

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ValueError("name at least one objective, as in: tammes compare simclr hcl --data digits")
        twice = {name for name in self.objectives if self.objectives.count(name) > 1}
        if twice:
            raise ValueError(f"{', '.join(sorted(twice))} was named twice: name each objective once")
        if self.seeds < 1:
            raise ValueError(f"seeds must be at least 1, got {self.seeds}")

    def config(self, name: str, seed: int) -> TrainingConfig:
        """What one of the trainings is determined by."""
        return TrainingConfig(
            objective=self.settings.objective(name),
            encoder=self.encoder,
            head=self.head,
            augmentation=self.augmentation or usual_augmentation(self.images.data),
            optimizer=Adam(learning_rate=self.learning_rate, weight_decay=self.weight_decay),
            batch_size=self.batch_size,
            epochs=self.epochs,
            seed=seed,
        )


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes compare`."""
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(Compare, prog="tammes compare", args=arguments, config=markers)
    # What can be refused is refused before the first of several trainings, not after it.
    for name in choice.objectives:
        choice.config(name, choice.seed)
    prepare(choice.report)
    size, channels = size_and_channels(choice.images.data, choice.size, choice.channels)
    images, held_out = choice.images.load_split(size=size, channels=channels)
    measure = None if held_out is None else Measure.of(images, held_out)
    console = Console()
    trials = []
    for number, name in enumerate(choice.objectives, start=1):
        console.print(f"{name} ({number} of {len(choice.objectives)})", highlight=False)
        trials.append(_train(choice, name, images, measure))
    beside = () if measure is None else _floors(choice, trials, measure)
    console.print(_table(trials, beside))
    sample, settings = _sample_and_settings(choice, trials, images, held_out)
    page = Comparison(
        data=choice.images.data,
        settings=settings,
        command=shlex.join(["tammes", "compare", *arguments]),
        sample=report_sample(sample),
        outcomes=tuple(report_outcome(trial, sample) for trial in trials),
        floors=tuple(trial.floor for trial in beside),
        test_size=0 if measure is None else len(measure.test),
    )
    write_comparison(choice.report, page)
    console.print(f"open {choice.report}", highlight=False)


def _train(choice: Compare, name: str, images: Images, measure: Measure | None) -> Trial:
    """Train and measure one objective, once for each seed."""
    every = max(1, choice.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
    runs, scores = [], []
    for seed in range(choice.seed, choice.seed + choice.seeds):
        run = train(
            choice.config(name, seed), images, source=choice.images.data, monitor=monitor, machine=machine
        )
        run.model.to(device_of(choice.accelerator))
        runs.append(run)
        scores.append(Scores() if measure is None else measure.scores(encoded(run.model)))
    return Trial(name=name, scores=tuple(scores), runs=tuple(runs))


def _floors(choice: Compare, trials: Sequence[Trial], measure: Measure) -> tuple[Trial, ...]:
    return floors([run.config for run in trials[0].runs], measure, device_of(choice.accelerator))


def _table(trials: Sequence[Trial], beside: Sequence[Trial]) -> Table:
    table = score_table("objective", "seconds")
    for trial in trials:
        seconds = spread([run.seconds for run in trial.runs])
        table.add_row(trial.name, *score_cells(*trial.scores), seconds)
    table.add_section()
    for trial in beside:
        table.add_row(trial.name, *score_cells(*trial.scores), "-")
    return table


def _sample_and_settings(
    choice: Compare, trials: Sequence[Trial], images: Images, held_out: Images | None
) -> tuple[Images, dict[str, str]]:
    sample, is_held_out = choose_sample(images, held_out, choice.batch_size)
    config = trials[0].runs[0].config.training
    settings = report_settings(config, images, measured=held_out is not None, is_held_out=is_held_out)
    if choice.seeds > 1:
        last = choice.seed + choice.seeds - 1
        settings["seed"] = f"{choice.seed} to {last}: scores are means, the figures are of the first"
    return sample, settings
