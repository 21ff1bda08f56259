"""Options of `tammes compare`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from tammes.checks import check_integer, check_seeds
from tammes.cli.options import training
from tammes.cli.options.data import RARE, Accelerator, Split
from tammes.cli.options.objective import CAN, MAE, QUICK_THOUGHTS, RecipeSettings, compared
from tammes.cli.options.parsing import Option, Options, check_word, fields_of, made, text_of
from tammes.cli.options.parts import check_parts
from tammes.cli.options.training import TrainingOptions, made_training, training_options
from tammes.training import Data, Masked, TrainingConfig

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[compared()]


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Train several objectives on the same data with the same seed and budget, and compare them.

    tammes compare simclr dcl hcl hcl-ot --data digits

    Args:
        objectives: Objectives to compare, of those that `tammes train --help` explains.
        report: Page to write.
        seeds: Number of seeds, from --seed on; with one, no objective is called best.
        out: Folder in which each training is kept as a run, NAME/seed-0 and so on. After a stop the same
            command goes on there, and repeats nothing that has finished (by default nothing is kept).
        jobs: Trainings at a time, each in a process.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        workers: Processes that decode images.
    """

    objectives: Annotated[
        tuple[Name, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="OBJECTIVES", help_behavior_hint="(required)"),
    ]
    training: TrainingOptions
    source: Split
    settings: RecipeSettings
    report: Path = Path("report.html")
    seeds: int = 1
    out: Path | None = None
    jobs: int = 1
    accelerator: Accelerator = "auto"
    workers: int = 0
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ValueError("name at least one objective, as in: tammes compare simclr hcl --data digits")
        twice = {name for name in self.objectives if self.objectives.count(name) > 1}
        if twice:
            raise ValueError(f"{', '.join(sorted(twice))} was named twice: name each objective once")
        if self.has_masks and self.training.settings.get("masked") is not None:
            raise ValueError("can and mae bring their own masks: leave masked:can out")
        check_seeds(self.training.settings["seed"], self.seeds)
        check_integer("jobs", self.jobs)

    def config(self, name: str, data: Data) -> TrainingConfig:
        """Return the settings of the first training of an objective."""
        objective = self.settings.objective(name)
        parts: dict[str, Any] = {"equivariance": self.settings.terms(name)}
        if self.has_masks:
            # Beside CAN and MAE, the others are trained with their optimizer and head, on whole images.
            parts["masked"] = self.settings.masked(name) or Masked.contrast_alone()
        return self.training.config(data, self.source.data, objective=objective, **parts)

    @property
    def trainings(self) -> list[tuple[str, int]]:
        """Objective and seed of each training, in order."""
        first = self.training.settings["seed"]
        return [(name, first + number) for name in self.objectives for number in range(self.seeds)]

    @property
    def has_masks(self) -> bool:
        """Whether CAN or MAE is compared, on a network that all others share."""
        return any(name in (CAN, MAE) for name in self.objectives)


def parse(words: Sequence[str]) -> Compare:
    """Return what the words after `tammes compare` choose."""
    for word in takewhile(lambda word: not word.startswith("-") and ":" not in word, words):
        if word.replace("_", "-") == QUICK_THOUGHTS:
            raise ValueError(
                f"compare trains objectives on the same pairs, of {', '.join(compared())}, and "
                f"{QUICK_THOUGHTS} brings its own: train each setting by tammes train "
                f"{QUICK_THOUGHTS}, and lay the runs over each other by tammes report RUN RUN"
            )
        check_word("objective", word, compared())
    known = options()
    check_parts(known.options, words)
    choice: Compare = known.parse("compare", words)
    return replace(choice, words=tuple(words))


def options() -> Options:
    """Return the options: which objectives, on what data, and how they are trained."""
    return Options(
        make=_made,
        options={
            **fields_of(Split),
            **fields_of(RecipeSettings),
            **_training_options(),
            **fields_of(Compare, without=("training", "source", "settings")),
        },
        text=text_of(Compare),
        rare=RARE
        | training.RARE
        | {"epsilon", "margin", "radius", "alpha", "equivariance_weight", "groups", "workers"},
    )


def _training_options() -> dict[str, Option]:
    """Return the options of a training; whether it has an equivariance loss follows from the objective."""
    options = training_options()
    del options["equivariance"]
    return options


def _made(**given: Any) -> Compare:
    settings = {name: given.pop(name) for name in _training_options()}
    return made(Compare, {**given, "training": made_training(**settings)})
