"""`tammes compare`: several objectives on the same images, seeds and budget."""

import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from tammes.cli.device import Accelerator, device_of
from tammes.cli.encoder import Encoder
from tammes.cli.images import DIGITS, Split, size_and_channels
from tammes.cli.measure import Measure, at_most, encoded, raw_pixels
from tammes.cli.objective import named_recipes
from tammes.cli.outcome import choose_sample, report_outcome, report_sample
from tammes.cli.settings import Settings
from tammes.cli.table import score_cells, score_table, spread
from tammes.data import Images
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
from tammes.positives.augmentation import Handwriting, Photographs
from tammes.report import Comparison, Floor, Scores, write_comparison
from tammes.training import (
    Adam,
    ImagesSummary,
    Machine,
    Monitor,
    Run,
    RunConfig,
    TrainingConfig,
    build_model,
    train,
)

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(named_recipes())]

# The accuracy over epochs is drawn from about so many points.
CURVE_POINTS = 20
MOST_WATCHED = 2_000
MOST_MEASURED = 5_000


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
        usual = Handwriting() if self.images.data == DIGITS else Photographs()
        return TrainingConfig(
            objective=self.settings.objective(name),
            encoder=self.encoder,
            head=self.head,
            augmentation=self.augmentation or usual,
            optimizer=Adam(learning_rate=self.learning_rate, weight_decay=self.weight_decay),
            batch_size=self.batch_size,
            epochs=self.epochs,
            seed=seed,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """One objective, or a floor: its scores, one for each seed, and the runs behind them."""

    name: str
    scores: tuple[Scores, ...]
    runs: tuple[Run, ...] = ()

    @property
    def mean(self) -> Scores:
        """The mean over the seeds."""

        def mean(values: list[float | None]) -> float | None:
            known = [value for value in values if value is not None]
            return statistics.mean(known) if known else None

        return Scores(
            knn=mean([score.knn for score in self.scores]),
            probe=mean([score.probe for score in self.scores]),
            probe_10_percent=mean([score.probe_10_percent for score in self.scores]),
            probe_1_percent=mean([score.probe_1_percent for score in self.scores]),
        )


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes compare`."""
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(Compare, prog="tammes compare", args=arguments, config=markers)
    size, channels = size_and_channels(choice.images.data, choice.size, choice.channels)
    images, held_out = choice.images.load_split(size=size, channels=channels)
    console = Console()
    trials = []
    for number, name in enumerate(choice.objectives, start=1):
        console.print(f"{name} ({number} of {len(choice.objectives)})", highlight=False)
        trials.append(_train(choice, name, images, held_out))
    floors = () if held_out is None else _floors(choice, images, held_out)
    console.print(_table(trials, floors))
    _write_report(choice, ["tammes", "compare", *arguments], trials, floors, images, held_out)
    console.print(f"open {choice.report}", highlight=False)


def _measure(images: Images, held_out: Images) -> Measure:
    return Measure(train=at_most(images, MOST_MEASURED), test=at_most(held_out, MOST_MEASURED))


def _train(choice: Compare, name: str, images: Images, held_out: Images | None) -> Trial:
    """Train and measure one objective, once for each seed."""
    monitor = None
    if held_out is not None:
        monitor = Monitor(
            bank=at_most(images, MOST_WATCHED),
            held_out=at_most(held_out, MOST_WATCHED),
            every=max(1, choice.epochs // CURVE_POINTS),
        )
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
    runs, scores = [], []
    for seed in range(choice.seed, choice.seed + choice.seeds):
        run = train(
            choice.config(name, seed), images, source=choice.images.data, monitor=monitor, machine=machine
        )
        run.model.to(device_of(choice.accelerator))
        runs.append(run)
        scores.append(Scores() if held_out is None else _measure(images, held_out).scores(encoded(run.model)))
    return Trial(name=name, scores=tuple(scores), runs=tuple(runs))


def _floors(choice: Compare, images: Images, held_out: Images) -> tuple[Trial, ...]:
    """What costs no training: the encoder as it is made, and no encoder at all."""
    measure = _measure(images, held_out)
    untrained = []
    for seed in range(choice.seed, choice.seed + choice.seeds):
        config = choice.config(choice.objectives[0], seed)
        whole = RunConfig(training=config, images=ImagesSummary.of(images, choice.images.data))
        model = build_model(whole).to(device_of(choice.accelerator))
        untrained.append(measure.scores(encoded(model)))
    return (
        Trial(name="untrained encoder", scores=tuple(untrained)),
        Trial(name="raw pixels", scores=(measure.scores(raw_pixels),)),
    )


def _table(trials: Sequence[Trial], floors: Sequence[Trial]) -> Table:
    table = score_table("objective", "seconds")
    for trial in trials:
        seconds = spread([run.seconds for run in trial.runs])
        table.add_row(trial.name, *score_cells(*trial.scores), seconds)
    table.add_section()
    for trial in floors:
        table.add_row(trial.name, *score_cells(*trial.scores), "-")
    return table


def _write_report(
    choice: Compare,
    command: Sequence[str],
    trials: Sequence[Trial],
    floors: Sequence[Trial],
    images: Images,
    held_out: Images | None,
) -> None:
    sample, is_held_out = choose_sample(images, held_out, choice.batch_size)
    outcomes = [
        report_outcome(
            trial.name,
            trial.runs[0],
            sample,
            trial.mean,
            statistics.mean(run.seconds or 0.0 for run in trial.runs),
        )
        for trial in trials
    ]
    page = Comparison(
        data=choice.images.data,
        settings=_settings(choice, images, is_held_out),
        command=shlex.join(command),
        sample=report_sample(sample),
        outcomes=tuple(outcomes),
        floors=tuple(Floor(name=trial.name, scores=trial.mean) for trial in floors),
        test_size=0 if held_out is None else min(len(held_out), MOST_MEASURED),
    )
    choice.report.parent.mkdir(parents=True, exist_ok=True)
    write_comparison(choice.report, page)


def _settings(choice: Compare, images: Images, is_held_out: bool) -> dict[str, str]:
    config = choice.config(choice.objectives[0], choice.seed)
    seeds = str(choice.seed)
    if choice.seeds > 1:
        last = choice.seed + choice.seeds - 1
        seeds = f"{choice.seed} to {last}: scores are means, the figures are of the first"
    return {
        "encoder": repr(config.encoder),
        "views": repr(config.augmentation),
        "images": f"{len(images)}, {images.channels}x{images.size}x{images.size}",
        "batch size": str(config.batch_size),
        "epochs": str(config.epochs),
        "optimizer": repr(config.optimizer),
        "seed": seeds,
        "pictures below": "held out of training" if is_held_out else "from the training images",
    }
