"""`tammes compare`: several objectives on the same data, seeds and budget."""

import shlex
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tammes.cli.advice import advice, positives_of_texts, print_advice
from tammes.cli.conclusion import conclusion
from tammes.cli.console import plain_console, print_table
from tammes.cli.exhibit import check_rows
from tammes.cli.floors import floor_features, floor_trials
from tammes.cli.jobs import Member, Team
from tammes.cli.loading import left_out
from tammes.cli.options.compare import Compare
from tammes.cli.outcome import write_report
from tammes.cli.output import prepare_output
from tammes.cli.scores import (
    CURVE_POINTS,
    Featurize,
    Measure,
    Measured,
    Trial,
    encoded,
    knn_of,
    score_table,
    seconds_of,
)
from tammes.training import Data, Machine, Run, RunFolder, Stopped, TrainingConfig, load_run, train


def main(choice: Compare) -> None:
    """Train each objective, print their table, and write the page."""
    prepare_output(choice.report)
    loaded = Loaded.of(choice)
    data, measure = loaded.data, loaded.measure
    check_rows(data)
    # All settings are checked before the first of several trainings.
    configs = [choice.config(name, data) for name in choice.objectives]
    console = plain_console()
    said = advice(choice.source, data, configs)
    print_advice((*positives_of_texts(data, configs[0]), *said))
    try:
        trials, baselines = _measured(loaded, configs)
    except Stopped as stop:
        raise Stopped(_how_to_resume(choice), stop.signal_number) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_resume(choice)) from None
    rows = [(trial.name, trial.scores, [seconds_of(trial.runs)]) for trial in trials]
    test_rows = 0 if measure is None else len(measure.test)
    print_table(
        score_table(data, "objective", rows, test_rows=test_rows, more=["seconds"], baselines=baselines)
    )
    for trial in trials:
        console.print(f"{trial.name}: {conclusion(trial, baselines)}")
    command = shlex.join(["tammes", "compare", *choice.words])
    held_out = loaded.held_out
    shown = write_report(choice.report, command, trials, baselines, data, held_out, measure, said)
    if not said:
        print_advice(shown)
    if (names := left_out(data, held_out)) is not None:
        console.print(names)
    console.print(f"open {choice.report}")


def _how_to_resume(choice: Compare) -> str:
    if choice.out is None:
        return "stopped, and nothing was saved: with --out FOLDER the same command would go on from here"
    return f"stopped: the same command goes on from here, by what {choice.out} holds"


def _measured(loaded: "Loaded", configs: Sequence[TrainingConfig]) -> tuple[list[Trial], tuple[Trial, ...]]:
    """Train and measure each objective with each seed, and return their trials and those of the floors."""
    choice = loaded.choice
    if choice.jobs == 1 or len(choice.trainings) == 1:
        trials = loaded.trials(configs, [None] * len(choice.trainings))
        named = loaded.floors(trials[0].runs)
        return trials, floor_trials([(name, loaded.measured(features)) for name, features in named])
    with ExitStack() as stack:
        if choice.out is None:
            out = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            loaded = replace(loaded, choice=replace(choice, out=out))
        names = [f"{name}, seed {seed}" for name, seed in choice.trainings]
        team = stack.enter_context(Team(train_some, loaded.choice, jobs=min(choice.jobs, len(names))))
        trials = loaded.trials(configs, _in_order(team.round(names)))
        floors = [name for name, _ in loaded.floors(trials[0].runs)]
        found = _in_order(team.round(floors))
        return trials, floor_trials(list(zip(floors, found, strict=True)))


def _in_order(found: Iterable[tuple[int, Measured]]) -> list[Measured]:
    """Return what was measured in the order of its numbers."""
    return [measured for _, measured in sorted(found, key=lambda each: each[0])]


def train_some(choice: Compare, member: Member) -> None:
    """Train some of the objectives and seeds of a comparison into its folder, and measure each.

    Args:
        choice: the comparison, with a folder.
        member: gives out numbers of `choice.trainings`, and takes what was measured.
    """
    loaded = Loaded.of(choice)

    def measured(number: int) -> Measured:
        name, seed = choice.trainings[number]
        run = loaded.train(name, replace(choice.config(name, loaded.data), seed=seed))
        return loaded.measured(encoded(run.model))

    member.round(measured)
    folders = [loaded.folder(name, seed) for name, seed in choice.trainings[: choice.seeds]]
    floors = loaded.floors([load_run(folder, trust=True) for folder in folders])
    member.round(lambda number: loaded.measured(floors[number][1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """A comparison and its data.

    Args:
        choice: what was chosen on the command line.
        data: rows to train on.
        held_out: rows to measure on, or None.
        measure: the measurements; None if no rows are held out.
        machine: where it is computed.
    """

    choice: Compare
    data: Data
    held_out: Data | None
    measure: Measure | None
    machine: Machine

    @classmethod
    def of(cls, choice: Compare) -> "Loaded":
        """Load the data of a comparison."""
        machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
        data, held_out = choice.training.load(choice.source, masks=choice.has_masks)
        measure = None if held_out is None else Measure.of(data, held_out, knn_of(choice.source))
        return cls(choice=choice, data=data, held_out=held_out, measure=measure, machine=machine)

    def trials(self, configs: Sequence[TrainingConfig], measured: Sequence[Measured | None]) -> list[Trial]:
        """Train each objective, once for each seed, and measure what has not been measured yet.

        Args:
            configs: settings of the first training of each objective.
            measured: what is known of each training.
        """
        choice = self.choice
        trials = []
        for number, (name, config) in enumerate(zip(choice.objectives, configs, strict=True)):
            known = measured[number * choice.seeds : (number + 1) * choice.seeds]
            if None in known:
                plain_console().print(f"{name} ({number + 1} of {len(configs)})")
            trials.append(self._trial(name, config, known))
        return trials

    def _trial(self, name: str, config: TrainingConfig, measured: Sequence[Measured | None]) -> Trial:
        runs, scores = [], []
        for seed, known in enumerate(measured, start=config.seed):
            if known is None and self.choice.seeds > 1:
                plain_console().print(f"{name}, seed {seed}")
            run = self.train(name, replace(config, seed=seed))
            runs.append(run)
            scores.append(self.measured(encoded(run.model)) if known is None else known)
        return Trial(name=name, measured=tuple(scores), runs=tuple(runs))

    def floors(self, runs: Sequence[Run]) -> list[tuple[str, Featurize]]:
        """Return the features without training, with their names; none if nothing is measured.

        Args:
            runs: runs of an objective, one for each seed.
        """
        return [] if self.measure is None else floor_features(self.data, runs, self.machine.device)

    def measured(self, features: Featurize) -> Measured:
        """Return the accuracies of features."""
        return Measured() if self.measure is None else self.measure.of_features(features)

    def folder(self, name: str, seed: int) -> Path:
        """Return the folder of a run within the folder of the comparison."""
        assert self.choice.out is not None
        return self.choice.out / name / f"seed-{seed}"

    def train(self, name: str, config: TrainingConfig) -> Run:
        """Train one objective with one seed, or go on with the run in its folder."""
        every = max(1, config.epochs // CURVE_POINTS)
        monitor = None if self.measure is None else self.measure.monitor(every=every)
        folder = None
        if self.choice.out is not None:
            folder = RunFolder(path=self.folder(name, config.seed))
            folder = replace(folder, resume=folder.config.exists())
        source = self.choice.source.data
        run = train(config, self.data, source=source, folder=folder, monitor=monitor, machine=self.machine)
        run.model.to(self.machine.device)
        return run
