"""`tammes compare`: several objectives on the same data, seeds and budget."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from rich.console import Console

from tammes.checks import check_seeds
from tammes.cli.conclusion import conclusion
from tammes.cli.options.data import Split
from tammes.cli.options.objective import RecipeSettings, named_recipes
from tammes.cli.options.training import CompareOptions
from tammes.cli.outcome import write_report
from tammes.cli.output import prepare_output
from tammes.cli.scores import CURVE_POINTS, Measure, Trial, encoded, floors, score_table, seconds_of
from tammes.report import Scores
from tammes.training import Data, Machine, RunFolder, TrainingConfig, train
from tammes.training.machine import Accelerator

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(named_recipes())]


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
        seeds: Number of seeds, from --seed on; with one, no objective is called best.
        out: Folder in which each training is kept as a run, NAME/seed-0 and so on. After a stop the same
            command goes on there, and repeats nothing that has finished (by default nothing is kept).
        accelerator: Device to compute on; auto takes a GPU if there is one.
        workers: Processes that decode images.
    """

    objectives: tyro.conf.Positional[tuple[Name, ...]]
    training: CompareOptions
    source: Annotated[Split, tyro.conf.arg(name="")]
    settings: Annotated[RecipeSettings, tyro.conf.arg(name="")] = field(default_factory=RecipeSettings)
    report: Path = Path("report.html")
    seeds: int = 1
    out: Path | None = None
    accelerator: Accelerator = "auto"
    workers: int = 0

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ValueError("name at least one objective, as in: tammes compare simclr hcl --data digits")
        twice = {name for name in self.objectives if self.objectives.count(name) > 1}
        if twice:
            raise ValueError(f"{', '.join(sorted(twice))} was named twice: name each objective once")
        check_seeds(self.training.settings["seed"], self.seeds)

    def config(self, name: str, data: Data) -> TrainingConfig:
        """Return the settings of the first training of an objective."""
        objective = self.settings.objective(name)
        return self.training.config(data, self.source.data, objective=objective)


def main(arguments: Sequence[str]) -> None:
    """Run the command with the words after `tammes compare`."""
    markers = (tyro.conf.CascadeSubcommandArgs, tyro.conf.FlagCreatePairsOff)
    choice = tyro.cli(Compare, prog="tammes compare", args=arguments, config=markers)
    prepare_output(choice.report)
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
    data, held_out = choice.training.load(choice.source)
    # All settings are checked before the first of several trainings.
    configs = [choice.config(name, data) for name in choice.objectives]
    measure = None if held_out is None else Measure.of(data, held_out)
    console = Console(markup=False)
    trials = []
    for number, (name, config) in enumerate(zip(choice.objectives, configs, strict=True), start=1):
        console.print(f"{name} ({number} of {len(configs)})", highlight=False)
        trials.append(_train(choice, name, config, data, measure, machine))
    baselines = () if measure is None else floors(data, trials[0].runs, measure, machine.device)
    rows = [(trial.name, trial.scores, [seconds_of(trial.runs)]) for trial in trials]
    test_rows = 0 if measure is None else len(measure.test)
    console.print(
        score_table(data, "objective", rows, test_rows=test_rows, more=["seconds"], baselines=baselines)
    )
    for trial in trials:
        console.print(f"{trial.name}: {conclusion(trial, baselines, test_rows)}", highlight=False)
    command = shlex.join(["tammes", "compare", *arguments])
    write_report(choice.report, command, trials, baselines, data, held_out, measure)
    console.print(f"open {choice.report}", highlight=False)


def _train(
    choice: Compare, name: str, config: TrainingConfig, data: Data, measure: Measure | None, machine: Machine
) -> Trial:
    """Train and measure one objective, once for each seed."""
    every = max(1, config.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    runs, scores, labels = [], [], []
    for seed in range(config.seed, config.seed + choice.seeds):
        seeded = replace(config, seed=seed)
        folder = None
        if choice.out is not None:
            folder = RunFolder(path=choice.out / name / f"seed-{seed}")
            folder = replace(folder, resume=folder.config.exists())
        run = train(seeded, data, source=choice.source.data, folder=folder, monitor=monitor, machine=machine)
        run.model.to(machine.device)
        runs.append(run)
        if measure is None:
            scores.append(Scores())
            continue
        measured, found = measure.scores_and_labels(encoded(run.model))
        scores.append(measured)
        labels.append(found)
    return Trial(name=name, scores=tuple(scores), runs=tuple(runs), labels=tuple(labels))
