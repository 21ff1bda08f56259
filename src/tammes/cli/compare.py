"""`tammes compare`: several objectives on the same data, seeds and budget."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console
from rich.table import Table

from tammes.cli.options.data import Split
from tammes.cli.options.device import Accelerator, device_of
from tammes.cli.options.objective import RecipeSettings, named_recipes
from tammes.cli.options.output_path import prepare_output
from tammes.cli.options.training import CompareOptions
from tammes.cli.outcome import choose_sample, report_outcome, report_settings
from tammes.cli.scores import (
    Columns,
    Measure,
    Trial,
    columns_of,
    encoded,
    floors,
    score_cells,
    score_table,
    spread,
)
from tammes.encoders import ConvNetConfig
from tammes.report import Comparison, Scores, write_comparison
from tammes.training import Data, Machine, TrainingConfig, train

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(named_recipes())]

# The accuracy over epochs is drawn from about this number of points.
CURVE_POINTS = 20


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Train several objectives on the same data with the same seed and budget, and compare them.

    tammes compare simclr dcl hcl hcl-ot --data digits

    Args:
        objectives: Objectives to compare.
        training: Settings of each training, the same for all objectives.
        source: Data to train on and to measure on.
        settings: Parameters of the objectives.
        report: Page to write.
        seeds: Number of seeds, from --seed on; the table then has means and standard deviations.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        workers: Processes that decode images.
    """

    objectives: tyro.conf.Positional[tuple[Name, ...]]
    training: CompareOptions
    source: Annotated[Split, tyro.conf.arg(name="")]
    settings: Annotated[RecipeSettings, tyro.conf.arg(name="")] = field(default_factory=RecipeSettings)
    report: Path = Path("report.html")
    seeds: int = 1
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

    def config(self, name: str, data: Data) -> TrainingConfig:
        """Return the settings of the first training of an objective."""
        objective = self.settings.objective(name)
        return self.training.config(data, self.source.data, encoder=ConvNetConfig(), objective=objective)


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes compare`."""
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(Compare, prog="tammes compare", args=arguments, config=markers)
    prepare_output(choice.report)
    data, held_out = choice.training.load(choice.source)
    # All settings are checked before the first of several trainings.
    configs = [choice.config(name, data) for name in choice.objectives]
    measure = None if held_out is None else Measure.of(data, held_out)
    console = Console(markup=False)
    trials = []
    for number, (name, config) in enumerate(zip(choice.objectives, configs, strict=True), start=1):
        console.print(f"{name} ({number} of {len(configs)})", highlight=False)
        trials.append(_train(choice, name, config, data, measure))
    device = device_of(choice.accelerator)
    baselines = () if measure is None else floors(trials[0].runs, measure, device)
    console.print(_table(trials, baselines, columns_of(data)))
    exhibit = choose_sample(data, held_out, configs[0])
    settings = report_settings(configs[0], data, exhibit, measured=measure is not None)
    if choice.seeds > 1:
        first, last = configs[0].seed, configs[0].seed + choice.seeds - 1
        settings["seed"] = f"{first} to {last}: scores are means, the figures are of the first"
    page = Comparison(
        data=choice.source.data,
        settings=settings,
        command=shlex.join(["tammes", "compare", *arguments]),
        sample=exhibit.sample,
        outcomes=tuple(report_outcome(trial, exhibit) for trial in trials),
        floors=tuple(trial.floor for trial in baselines),
        test_size=0 if measure is None else len(measure.test),
    )
    write_comparison(choice.report, page)
    console.print(f"open {choice.report}", highlight=False)


def _train(choice: Compare, name: str, config: TrainingConfig, data: Data, measure: Measure | None) -> Trial:
    """Train and measure one objective, once for each seed."""
    every = max(1, config.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
    runs, scores = [], []
    for seed in range(config.seed, config.seed + choice.seeds):
        seeded = replace(config, seed=seed)
        run = train(seeded, data, source=choice.source.data, monitor=monitor, machine=machine)
        run.model.to(device_of(choice.accelerator))
        runs.append(run)
        scores.append(Scores() if measure is None else measure.scores(encoded(run.model)))
    return Trial(name=name, scores=tuple(scores), runs=tuple(runs))


def _table(trials: Sequence[Trial], baselines: Sequence[Trial], columns: Columns) -> Table:
    table = score_table("objective", "seconds", columns=columns)
    for trial in trials:
        seconds = spread([run.seconds for run in trial.runs])
        table.add_row(trial.name, *score_cells(*trial.scores, columns=columns), seconds)
    table.add_section()
    for trial in baselines:
        table.add_row(trial.name, *score_cells(*trial.scores, columns=columns), "-")
    return table
