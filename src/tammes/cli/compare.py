"""`tammes compare`: several objectives on the same data, seeds and budget."""

import shlex
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tammes.cli.advice import advice, positives_of_texts, print_advice
from tammes.cli.conclusion import conclusion
from tammes.cli.console import plain_console
from tammes.cli.exhibit import check_rows
from tammes.cli.floors import floors
from tammes.cli.jobs import Member, Team
from tammes.cli.loading import left_out
from tammes.cli.options.compare import Compare
from tammes.cli.outcome import write_report
from tammes.cli.output import prepare_output
from tammes.cli.scores import CURVE_POINTS, Measure, Measured, Trial, encoded, knn_of, score_table, seconds_of
from tammes.training import Data, Machine, Run, RunFolder, Stopped, TrainingConfig, train


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
        trials = _trials(loaded, configs)
    except Stopped as stop:
        raise Stopped(_how_to_resume(choice), stop.signal_number) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_resume(choice)) from None
    baselines = () if measure is None else floors(data, trials[0].runs, measure, loaded.machine.device)
    rows = [(trial.name, trial.scores, [seconds_of(trial.runs)]) for trial in trials]
    test_rows = 0 if measure is None else len(measure.test)
    console.print(
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


def _trials(loaded: "Loaded", configs: Sequence[TrainingConfig]) -> list[Trial]:
    """Train and measure each objective with each seed."""
    choice = loaded.choice
    with ExitStack() as stack:
        measured: list[Measured | None] = [None] * len(choice.trainings)
        if choice.jobs > 1 and len(choice.trainings) > 1:
            if choice.out is None:
                out = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                loaded = replace(loaded, choice=replace(choice, out=out))
            names = [f"{name}, seed {seed}" for name, seed in choice.trainings]
            with Team(train_some, loaded.choice, jobs=min(choice.jobs, len(names))) as team:
                for number, found in team.round(names):
                    measured[number] = found
        trials = []
        for number, (name, config) in enumerate(zip(choice.objectives, configs, strict=True)):
            of_seeds = measured[number * choice.seeds : (number + 1) * choice.seeds]
            if None in of_seeds:
                plain_console().print(f"{name} ({number + 1} of {len(configs)})")
            trials.append(loaded.trial(name, config, of_seeds))
    return trials


def train_some(choice: Compare, member: Member) -> None:
    """Train some of the objectives and seeds of a comparison into its folder, and measure each.

    Args:
        choice: the comparison, with a folder.
        member: gives out numbers of `choice.trainings`, and takes what was measured.
    """
    loaded = Loaded.of(choice)

    def measured(number: int) -> Measured:
        name, seed = choice.trainings[number]
        return loaded.measured(loaded.train(name, replace(choice.config(name, loaded.data), seed=seed)))

    member.round(measured)


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
        data, held_out = choice.training.load(choice.source)
        measure = None if held_out is None else Measure.of(data, held_out, knn_of(choice.source))
        return cls(choice=choice, data=data, held_out=held_out, measure=measure, machine=machine)

    def trial(self, name: str, config: TrainingConfig, measured: Sequence[Measured | None]) -> Trial:
        """Train one objective, once for each seed, and measure what has not been measured yet."""
        runs, scores = [], []
        for seed, known in enumerate(measured, start=config.seed):
            if known is None and self.choice.seeds > 1:
                plain_console().print(f"{name}, seed {seed}")
            run = self.train(name, replace(config, seed=seed))
            runs.append(run)
            scores.append(self.measured(run) if known is None else known)
        return Trial(name=name, measured=tuple(scores), runs=tuple(runs))

    def measured(self, run: Run) -> Measured:
        """Return the accuracies of a run's encoder."""
        return Measured() if self.measure is None else self.measure.of_features(encoded(run.model))

    def train(self, name: str, config: TrainingConfig) -> Run:
        """Train one objective with one seed, or go on with the run in its folder."""
        every = max(1, config.epochs // CURVE_POINTS)
        monitor = None if self.measure is None else self.measure.monitor(every=every)
        folder = None
        if self.choice.out is not None:
            folder = RunFolder(path=self.choice.out / name / f"seed-{config.seed}")
            folder = replace(folder, resume=folder.config.exists())
        source = self.choice.source.data
        run = train(config, self.data, source=source, folder=folder, monitor=monitor, machine=self.machine)
        run.model.to(self.machine.device)
        return run
