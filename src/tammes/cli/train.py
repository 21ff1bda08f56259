"""`tammes train`: one objective on the user's own images or texts, kept in a folder."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from tammes.cli.failures import is_first_on_machine
from tammes.cli.options.data import Split
from tammes.cli.options.device import Accelerator, device_of
from tammes.cli.options.training import TrainOptions
from tammes.cli.outcome import choose_sample, report_outcome, report_settings
from tammes.cli.scores import Measure, Trial, columns_of, encoded, floors, score_cells, score_table
from tammes.encoders import ResNetConfig
from tammes.report import Comparison, Scores, write_comparison
from tammes.training import Machine, RunFolder, train


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an encoder on your own images or texts: name an objective, then settings in any order.

    tammes train hcl --data FOLDER --temperature 0.5 --beta 1 --class-prior 0.1

    Args:
        training: Settings of the training.
        source: Data to train on.
        out: Folder of the run: config.yaml, model.safetensors, checkpoints, metrics.csv, report.html, and for
            texts vocabulary.json (by default runs/ and the name of the data).
        resume: Resume the run in that folder; it ends as if it had never stopped.
        overwrite: Replace the run in that folder.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        workers: Processes that decode images, for each process that trains.
        patience: Seconds to wait for another of several processes that train together (see torchrun).
        checkpoint_every: Steps between checkpoints within an epoch.
        measure_every: Epochs between measurements of the nearest-neighbor accuracy.
    """

    training: TrainOptions
    source: Annotated[Split, tyro.conf.arg(name="")]
    out: Path | None = None
    resume: bool = False
    overwrite: bool = False
    accelerator: Accelerator = "auto"
    workers: int = 0
    patience: float = 600.0
    checkpoint_every: int = 500
    measure_every: int = 1

    def folder(self) -> RunFolder:
        """Return the folder of the run."""
        return RunFolder(
            path=self.out or Path("runs") / Path(self.source.data).resolve().name,
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
    data, held_out = choice.training.load(choice.source)
    config = choice.training.config(data, choice.source.data, encoder=ResNetConfig())
    folder = choice.folder()
    measure = None if held_out is None else Measure.of(data, held_out)
    monitor = None if measure is None else measure.monitor(every=choice.measure_every)
    machine = Machine(
        accelerator=choice.accelerator, workers=choice.workers, progress=True, patience=choice.patience
    )
    run = train(config, data, source=choice.source.data, folder=folder, monitor=monitor, machine=machine)
    if machine.launch.rank > 0:
        return  # process 0 measures and reports
    device = device_of(choice.accelerator)
    run.model.to(device)
    scores = Scores() if measure is None else measure.scores(encoded(run.model))
    trial = Trial(name=folder.path.resolve().name, scores=(scores,), runs=(run,))
    baselines = () if measure is None else floors([run], measure, device)
    console = Console(markup=False)
    if measure is not None:
        columns = columns_of(data)
        table = score_table("trained encoder", columns=columns)
        table.add_row(str(folder.path), *score_cells(scores, columns=columns))
        table.add_section()
        for each in baselines:
            table.add_row(each.name, *score_cells(*each.scores, columns=columns))
        console.print(table)
    exhibit = choose_sample(data, held_out, config)
    page = Comparison(
        data=choice.source.data,
        settings=report_settings(config, data, exhibit, measured=measure is not None),
        command=shlex.join(["tammes", "train", *arguments]),
        sample=exhibit.sample,
        outcomes=(report_outcome(trial, exhibit),),
        floors=tuple(each.floor for each in baselines),
        test_size=0 if measure is None else len(measure.test),
    )
    write_comparison(folder.report, page)
    console.print(f"The run is in {folder.path}; open {folder.report}", highlight=False)
