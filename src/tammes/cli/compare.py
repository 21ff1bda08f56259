"""`tammes compare`: several objectives on the same data, seeds and budget."""

import shlex
from dataclasses import replace

from tammes.cli.advice import advice, positives_of_texts, print_advice
from tammes.cli.conclusion import conclusion
from tammes.cli.console import plain_console
from tammes.cli.exhibit import check_rows
from tammes.cli.floors import floors
from tammes.cli.loading import left_out
from tammes.cli.options.compare import Compare
from tammes.cli.outcome import write_report
from tammes.cli.output import prepare_output
from tammes.cli.scores import CURVE_POINTS, Measure, Measured, Trial, encoded, knn_of, score_table, seconds_of
from tammes.training import Data, Machine, RunFolder, Stopped, TrainingConfig, train


def main(choice: Compare) -> None:
    """Train each objective, print their table, and write the page."""
    prepare_output(choice.report)
    machine = Machine(accelerator=choice.accelerator, workers=choice.workers, progress=True)
    data, held_out = choice.training.load(choice.source)
    check_rows(data)
    # All settings are checked before the first of several trainings.
    configs = [choice.config(name, data) for name in choice.objectives]
    measure = None if held_out is None else Measure.of(data, held_out, knn_of(choice.source))
    console = plain_console()
    said = advice(choice.source, data, configs)
    print_advice((*positives_of_texts(data, configs[0]), *said))
    trials = []
    for number, (name, config) in enumerate(zip(choice.objectives, configs, strict=True), start=1):
        console.print(f"{name} ({number} of {len(configs)})")
        try:
            trials.append(_train(choice, name, config, data, measure, machine))
        except Stopped as stop:
            raise Stopped(_how_to_resume(choice), stop.signal_number) from None
    baselines = () if measure is None else floors(data, trials[0].runs, measure, machine.device)
    rows = [(trial.name, trial.scores, [seconds_of(trial.runs)]) for trial in trials]
    test_rows = 0 if measure is None else len(measure.test)
    console.print(
        score_table(data, "objective", rows, test_rows=test_rows, more=["seconds"], baselines=baselines)
    )
    for trial in trials:
        console.print(f"{trial.name}: {conclusion(trial, baselines)}")
    command = shlex.join(["tammes", "compare", *choice.words])
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


def _train(
    choice: Compare, name: str, config: TrainingConfig, data: Data, measure: Measure | None, machine: Machine
) -> Trial:
    """Train and measure one objective, once for each seed."""
    every = max(1, config.epochs // CURVE_POINTS)
    monitor = None if measure is None else measure.monitor(every=every)
    runs, measured = [], []
    for seed in range(config.seed, config.seed + choice.seeds):
        seeded = replace(config, seed=seed)
        if choice.seeds > 1:
            plain_console().print(f"{name}, seed {seed}")
        folder = None
        if choice.out is not None:
            folder = RunFolder(path=choice.out / name / f"seed-{seed}")
            folder = replace(folder, resume=folder.config.exists())
        run = train(seeded, data, source=choice.source.data, folder=folder, monitor=monitor, machine=machine)
        run.model.to(machine.device)
        runs.append(run)
        measured.append(Measured() if measure is None else measure.of_features(encoded(run.model)))
    return Trial(name=name, measured=tuple(measured), runs=tuple(runs))
