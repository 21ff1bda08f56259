"""Options of `tammes train`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Annotated, Any

import tyro

from tammes.checks import check_integer
from tammes.cli.options import training
from tammes.cli.options.data import RARE, Accelerator, Split
from tammes.cli.options.objective import (
    QUICK_THOUGHTS,
    can,
    care,
    mae,
    makers,
    named_recipes,
    objective_type,
)
from tammes.cli.options.parsing import (
    NO_DEFAULT,
    Option,
    Options,
    check_word,
    fields_of,
    made,
    text_of,
    words_of,
)
from tammes.cli.options.parts import check_parts, of_part, options_of, summary_of
from tammes.cli.options.training import TrainingOptions, made_training, training_options
from tammes.objective import Objective
from tammes.training import Care, Masked
from tammes.training.command import Command
from tammes.training.quick_thoughts import VISITED


@dataclass(frozen=True, kw_only=True)
class Train:
    """Train an encoder on your own images, texts, graphs or volumes: name an objective, then settings.

    `tammes train OBJECTIVE --help` shows what an objective must be given.

    tammes train hcl --data FOLDER --temperature 0.2 --beta 1

    tammes train --resume runs/FOLDER

    tammes train --resume s3://BUCKET/FOLDER

    Args:
        out: Folder of the run: config.yaml, model.safetensors, checkpoints, metrics.csv, environment.yaml,
            report.html, and for texts vocabulary.json (by default runs/ and the name of the data).
        copy_to: Address such as s3://BUCKET/FOLDER that gets a copy of the run, brought up to date after
            each checkpoint (any that fsspec has; s3:// needs the package s3fs, gs:// gcsfs).
        resume: Resume the run in that folder, or at the address of its copy; it ends as if it had never
            stopped.
        overwrite: Replace the run in that folder.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        workers: Processes that decode images, for each process that trains.
        compile: Compile the network, of images or volumes, by torch.compile: worth its minute in a long
            training, above all on a GPU.
        patience: Seconds to wait for another of several processes that train together (see torchrun).
        checkpoint_every: Steps between checkpoints within an epoch.
        measure_every: Epochs between measurements of the nearest-neighbor accuracy (by default, so that
            there are about 20).
    """

    training: TrainingOptions
    source: Split
    out: Path | None = None
    copy_to: str | None = None
    resume: bool = False
    overwrite: bool = False
    accelerator: Accelerator = "auto"
    workers: int = 0
    compile: bool = False
    patience: float = 600.0
    checkpoint_every: int = 500
    measure_every: int | None = None
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.measure_every is not None:
            check_integer("--measure-every", self.measure_every)


OF_QUICK_THOUGHTS = {
    "held_out": "Without --test, the part of each document's sentences that is kept for measuring and not "
    "trained on (by default 0: all are trained on, and nothing is measured).",
    "batch_size": "Contiguous sentences per step, over all processes (by default 256, and fewer for less "
    "than 1,024 sentences; at most 64 for a model of transformers).",
    "epochs": f"Number of times that every sentence is visited (by default so that about {VISITED:,} are "
    "visited, and at most 100; 1 to 10 for a pretrained model).",
    "learning_rate": "Step size of Adam (by default 1e-3; 3e-5 for a pretrained model, 3e-4 for an untrained "
    "one of transformers).",
    "encoder": "Network whose features are wanted (by default two-towers).",
    "positives": "Sentences that are positives of each other (by default adjacent).",
}
"""Explanations of options whose defaults quick-thoughts changes."""

FEW_NEED = frozenset({"overwrite", "compile", "patience", "checkpoint_every", "measure_every"})


def parse(words: Sequence[str]) -> Train:
    """Return what the words after `tammes train` choose."""
    words = resumed(words)
    place = objective_place(words)
    if place is not None and words[place] == QUICK_THOUGHTS:  # it decides more, wherever it stands
        words = [QUICK_THOUGHTS, *words[:place], *words[place + 1 :]]
    if words and not words[0].startswith("-"):
        name = words[0].replace("_", "-")
        check_word("objective", name, makers())
        of_objective = options(makers()[name])
        _check_owner(name, words[1:], of_objective)
        check_parts(of_objective.options, words[1:])
        choice: Train = of_objective.parse(f"train {name}", words[1:])
    else:  # the objective comes later, or nothing but help is wanted
        of_any = options()
        check_parts(of_any.options, words)
        choice = of_any.parse("train", words)
    return replace(choice, words=tuple(words))


def _check_owner(name: str, words: Sequence[str], known: Options) -> None:
    """Refuse an option that other objectives have and this one has not, which would only be unrecognized."""
    for word in words:
        option = word.removeprefix("--").partition("=")[0].replace("-", "_")
        if not word.startswith("--") or option in known.options:
            continue
        having = [each for each, maker in makers().items() if option in signature(maker).parameters]
        if having:
            raise ValueError(
                f"{name} has no {word.partition('=')[0]}, which is an option of {', '.join(having)}: "
                "leave it out, or choose one of these"
            )


def objective_place(words: Sequence[str]) -> int | None:
    """Return the place of the word that names the objective; None if no word does.

    The value of an option, such as a folder, may be the same word.

    Example:
        >>> objective_place(["--out", "dcl", "simclr", "--data", "digits"])
        2
    """
    named = [place for place, word in enumerate(words) if word.replace("_", "-") in makers()]
    before = {place: words[place - 1] if place else "" for place in named}
    free = [place for place in named if not before[place].startswith("--") or "=" in before[place]]
    return next(iter([*free, *named]), None)


def options(maker: Callable[..., Objective] | None = None) -> Options:
    """Return the options: what data, how they are trained on, and where the run goes.

    Args:
        maker: function whose parameters are options too, and which makes the objective of them; None for an
            option that chooses one.
    """
    of_training, text = training_options(), text_of(Train)
    if maker is care:
        of_training["equivariance"] = of_part(Care())
    if maker in (can, mae):
        of_training["masked"] = of_part(Masked() if maker is can else Masked.mae())
    if maker is None:
        kind: Any = Annotated[objective_type(), tyro.conf.arg(name="", help="Objective to minimize.")]
        of_objective = {"objective": (kind, NO_DEFAULT)}
    else:
        of_objective, text = options_of(maker), summary_of(maker)

    def make(**given: Any) -> Train:
        settings = {name: given.pop(name) for name in of_training}
        chosen = {name: given.pop(name) for name in of_objective}
        objective = chosen["objective"] if maker is None else maker(**chosen)
        settings["adjacent"] = maker is makers()[QUICK_THOUGHTS]
        return made(Train, {**given, "training": made_training(objective=objective, **settings)})

    folded = {*named_recipes().values(), care, can, mae}
    of_all: dict[str, Option] = {
        **fields_of(Split),
        **of_objective,
        **of_training,
        **fields_of(Train, without=("training", "source")),
    }
    if maker is makers()[QUICK_THOUGHTS]:
        for name, explained in OF_QUICK_THOUGHTS.items():
            kind, default = of_all[name]
            of_all[name] = Annotated[kind, tyro.conf.arg(help=explained)], default
    parts = {name for name, (annotation, _) in of_objective.items() if words_of(annotation)}
    return Options(
        make=make,
        options=of_all,
        text=text,
        rare=RARE | training.RARE | FEW_NEED | (parts if maker in folded else set()),
    )


def changed(words: Sequence[str], added: Sequence[str], dropped: Sequence[str] = ()) -> list[str]:
    """Return the words of a command with further options, which take the place of those of their name.

    Raises:
        ValueError: a part in the place of another, whose settings would be left over.

    Example:
        >>> changed(["simclr", "--epochs", "5", "encoder:convnet"], ["--epochs", "9", "--resume"])
        ['simclr', 'encoder:convnet', '--epochs', '9', '--resume']
        >>> changed(["simclr", "--batch_size=8", "encoder:convnet"], ["--batch-size", "9"])
        ['simclr', 'encoder:convnet', '--batch-size', '9']
        >>> changed(["simclr", "--batch-size", "8", "encoder:convnet"], ["--batch_size", "9"])
        ['simclr', 'encoder:convnet', '--batch_size', '9']
        >>> changed(["simclr", "--epochs", "5", "encoder:convnet"], ["--epochs", "9", "encoder:convnet"])
        ['simclr', 'encoder:convnet', '--epochs', '9']
    """
    result = [word for word in words if word not in dropped]
    parts = _names_of_parts(words)
    chosen = {name: word for word in result if (name := _part_of(word, parts))}
    for word in added:
        before = chosen.get(_part_of(word, parts), word)
        if word != before:
            raise ValueError(
                f"the run was started with {before}, got {word}: leave it out, or start a new run"
            )
    added = [word for word in added if _part_of(word, parts) not in chosen]
    for at, flag in enumerate(added):
        if not flag.startswith("--"):
            continue
        values = takewhile(lambda word: word[:2] != "--" and not _part_of(word, parts), added[at + 1 :])
        number = len(list(values))
        names = [word.partition("=")[0].replace("_", "-") for word in result]
        for place in reversed([place for place, name in enumerate(names) if name == flag.replace("_", "-")]):
            del result[place : place + 1 + (0 if "=" in result[place] else number)]
    return [*result, *added]


def _names_of_parts(words: Sequence[str]) -> frozenset[str]:
    """Return the names of the options that a word such as encoder:convnet chooses."""
    place = objective_place(words)
    maker = None if place is None else makers()[words[place].replace("_", "-")]
    known = options(maker).options.items()
    return frozenset(name for name, (annotation, _) in known if words_of(annotation))


def _part_of(word: str, parts: frozenset[str]) -> str:
    """Return the name of the option that a word such as encoder:convnet chooses; empty for other words."""
    name, found, _ = word.partition(":")
    return name if found and name.partition(".")[0] in parts else ""


def resumed(arguments: Sequence[str]) -> list[str]:
    """Return the words that resume a run: for `--resume FOLDER` those that started it, and any that follow.

    Their paths are relative to the folder where the run was started, so this becomes the current one. A run
    at an address is first copied into `--out`, by default runs/ and its name; its paths are relative to the
    current folder, since that of the other machine may not exist.

    Raises:
        ValueError: a folder or an address without a run, or without the command of one.
    """
    if arguments and arguments[0].startswith("--resume="):
        arguments = ["--resume", arguments[0].removeprefix("--resume="), *arguments[1:]]
    if len(arguments) < 2 or arguments[0] != "--resume" or arguments[1].startswith("-"):
        return list(arguments)
    from tammes.training import RunFolder  # with lightning, which is needed by now

    # Name and value of an option as two words, which may also be given as --name=value.
    given = [part for word in arguments[2:] for part in (word.split("=", 1) if word[:2] == "--" else [word])]
    if "://" in arguments[1]:
        path = _fetched(arguments[1], given)
        command = Command.load(RunFolder(path=path).command_file)
        return changed(command.words, [*given, "--resume", "--out", str(path)], ("--overwrite",))
    path = Path(arguments[1]).resolve()
    if not RunFolder(path=path).config.exists():
        raise ValueError(f"there is no run to resume in {arguments[1]} (no config.yaml)")
    command = Command.load(RunFolder(path=path).command_file)
    try:
        os.chdir(command.folder)
    except OSError as error:
        raise ValueError(
            f"the run was started in {command.folder}, which its paths are relative to, and which cannot be "
            f"entered ({error.strerror}): repeat the command that started the run and add --resume"
        ) from error
    return changed(command.words, [*given, "--resume", "--out", str(path)], ("--overwrite",))


def _fetched(address: str, words: Sequence[str]) -> Path:
    """Copy the run at an address into the folder that the words name, and return it."""
    from tammes.training import FolderCopy

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError(
            f"expected one process to copy a run from an address, got {os.environ['WORLD_SIZE']}: copy "
            f"{address} into a folder first, then resume that folder"
        )
    copy = FolderCopy(address)
    given = dict(pairwise(words)).get("--out")
    path = Path(given or Path("runs") / address.rstrip("/").rpartition("/")[2]).resolve()
    copy.fetch(path)
    return path
