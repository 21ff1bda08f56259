"""`tammes compare`: several objectives on the same data, seeds and budget."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from tammes.cli.data import Split
from tammes.cli.device import Accelerator, device_of
from tammes.cli.measure import Measure, encoded
from tammes.cli.objective import named_recipes
from tammes.cli.outcome import Exhibit, choose_sample, report_outcome, report_settings
from tammes.cli.settings import Settings
from tammes.cli.setup import Setup
from tammes.cli.table import Columns, columns_of, score_cells, score_table, spread
from tammes.cli.target import prepare
from tammes.cli.trial import Trial, floors
from tammes.encoders import ConvNetConfig
from tammes.report import Comparison, Scores, write_comparison
from tammes.training import Adam, Data, Machine, TrainingConfig, train

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(named_recipes())]

# The accuracy over epochs is drawn from about so many points.
CURVE_POINTS = 20


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Train several objectives on the same data with the same seed and budget, and compare them.

    tammes compare simclr dcl hcl hcl-ot --data digits

    Args:
        objectives: Which to compare.
        source: What to learn from and to measure on.
        setup: What is trained on which pairs.
        settings: The numbers of the objectives.
        report: The page to write.
        batch_size: Pairs per step; the negatives of one are the others of its batch.
        epochs: How often every image is visited, or every sentence paired.
        seed: Of the weights, the pairs, their order and their views: the same for all objectives.
        seeds: How many seeds to try, from --seed on; the table then has means and standard deviations.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        clip_norm: Greatest length of the gradient; by default it is left as it is.
        accelerator: What to compute on; auto takes a GPU where there is one.
        workers: Processes that decode images.
    """

    objectives: tyro.conf.Positional[tuple[Name, ...]]
    source: Annotated[Split, tyro.conf.arg(name="")]
    setup: Annotated[Setup, tyro.conf.arg(name="")] = field(default_factory=Setup)
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)
    report: Path = Path("report.html")
    batch_size: int = 256
    epochs: int = 60
    seed: int = 0
    seeds: int = 1
    learning_rate: float = 1e-3
    weight_decay: float = 1e-6
    clip_norm: float | None = None
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

    def config(self, name: str, seed: int, data: Data) -> TrainingConfig:
        """What one of the trainings is determined by."""
        return TrainingConfig(
            objective=self.settings.objective(name),
            encoder=self.setup.encoder_for(data, usual=ConvNetConfig()),
            head=self.setup.used_head,
            augmentation=self.setup.augmentation_for(data, self.source.data),
            positives=self.setup.positives_for(data),
            optimizer=Adam(
                learning_rate=self.learning_rate, weight_decay=self.weight_decay, clip_norm=self.clip_norm
            ),
            batch_size=self.batch_size,
            epochs=self.epochs,
            seed=seed,
        )


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes compare`."""
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(Compare, prog="tammes compare", args=arguments, config=markers)
    prepare(choice.report)
    data, held_out = choice.setup.load(choice.source)
    # What can be refused is refused before the first of several trainings, not after it.
    configs = [choice.config(name, choice.seed, data) for name in choice.objectives]
    measure = None if held_out is None else Measure.of(data, held_out)
    console = Console(markup=False)
    trials = []
    for number, name in enumerate(choice.objectives, start=1):
        console.print(f"{name} ({number} of {len(choice.objectives)})", highlight=False)
        trials.append(_train(choice, name, data, measure))
    beside = () if measure is None else _floors(choice, trials, measure)
    console.print(_table(trials, beside, columns_of(data)))
    exhibit = choose_sample(data, held_out, configs[0])
    page = Comparison(
        data=choice.source.data,
        settings=_settings(choice, configs[0], data, exhibit, measured=measure is not None),
        command=shlex.join(["tammes", "compare", *arguments]),
        sample=exhibit.sample,
        outcomes=tuple(report_outcome(trial, exhibit) for trial in trials),
        floors=tuple(trial.floor for trial in beside),
        test_size=0 if measure is None else len(measure.test),
    )
    write_comparison(choice.report, page)
    console.print(f"open {choice.report}", highlight=False)


def _train(choice: Compare, name: str, data: Data, measure: Measure | None) -> Trial:
    """Train and measure one objective, once for each seed."""
    every = max(1, choice.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
    runs, scores = [], []
    for seed in range(choice.seed, choice.seed + choice.seeds):
        run = train(
            choice.config(name, seed, data), data, source=choice.source.data, monitor=monitor, machine=machine
        )
        run.model.to(device_of(choice.accelerator))
        runs.append(run)
        scores.append(Scores() if measure is None else measure.scores(encoded(run.model)))
    return Trial(name=name, scores=tuple(scores), runs=tuple(runs))


def _floors(choice: Compare, trials: Sequence[Trial], measure: Measure) -> tuple[Trial, ...]:
    return floors(trials[0].runs, measure, device_of(choice.accelerator))


def _table(trials: Sequence[Trial], beside: Sequence[Trial], columns: Columns) -> Table:
    table = score_table("objective", "seconds", columns=columns)
    for trial in trials:
        seconds = spread([run.seconds for run in trial.runs])
        table.add_row(trial.name, *score_cells(*trial.scores, columns=columns), seconds)
    table.add_section()
    for trial in beside:
        table.add_row(trial.name, *score_cells(*trial.scores, columns=columns), "-")
    return table


def _settings(
    choice: Compare, config: TrainingConfig, data: Data, exhibit: Exhibit, *, measured: bool
) -> dict[str, str]:
    settings = report_settings(config, data, exhibit, measured=measured)
    if choice.seeds > 1:
        last = choice.seed + choice.seeds - 1
        settings["seed"] = f"{choice.seed} to {last}: scores are means, the figures are of the first"
    return settings
