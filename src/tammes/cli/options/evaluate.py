"""Options of `tammes evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from tammes.checks import check_integer, check_seed
from tammes.cli.options.data import RARE, Accelerator, Split
from tammes.cli.options.parsing import Options

Protocol = Literal["linear", "finetune", "few-shot", "robustness"]
"""Protocols of an evaluation by labels."""

SHOTS, DRAWS, CORRUPTED = (10, 25), 10, 1_000
"""Settings that are not given on the command line."""

VOTES = ("neighbors", "neighbor_temperature")
"""Options of a split that measure without choosing data."""

TASKS = "--tasks"
"""Option that chooses tasks of sentences in place of data."""

PROTOCOLS_OF: dict[str, Protocol] = {
    "epochs": "finetune",
    "size": "finetune",
    "shots": "few-shot",
    "draws": "few-shot",
    "corruption": "robustness",
    "corrupted": "robustness",
    "shift": "robustness",
}
"""Protocol that each option belongs to."""


@dataclass(frozen=True, kw_only=True)
class Measured(Split):
    """Data to measure on, by default those of the run.

    Args:
        data: Data of any kind that `tammes train` takes (by default those of the run, with its --test and
            --held-out).
    """

    data: str = ""

    @property
    def chosen(self) -> list[str]:
        """Names of the options of data and split that were chosen, which only named data take."""
        usual = Measured()
        parts: list[tuple[Any, Any]] = [(self, usual), (self.format, usual.format)]
        return [
            field.name
            for ours, theirs in parts
            for field in fields(ours)
            if field.name not in (*VOTES, "format")
            and getattr(ours, field.name) != getattr(theirs, field.name)
        ]


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure a trained encoder on labeled images, texts, graphs or volumes, or on outcomes of their rows.

    tammes evaluate runs/mine --data FOLDER --test FOLDER

    The classifiers learn from the rows of --data and are tested on those of --test, or on the part that is
    held out of --data. A training on the same data with the same --held-out has left out the same rows, so
    that `tammes evaluate runs/mine` measures on what the run has not seen. All graphs of --data are
    classified, each by a classifier that learns from the other folds. So are all rows if --outcome or
    --ordinal names columns of outcomes, which are then measured in place of labels.

    tammes evaluate runs/mine --data FOLDER --test FOLDER --protocol linear finetune few-shot robustness

    adds protocols beside the linear one, keeps all results in evaluation.json of the run, and shows them on
    its page. All settings are fixed before anything is measured; rows of the test decide nothing.

    For the tasks of sentences in a folder see `tammes evaluate --tasks --help`.

    Args:
        run: Folder of the run.
        protocol: What is measured: linear (neighbors and linear probes on frozen features), finetune (the
            encoder trained further with a linear head, images only), few-shot (ridge regression on frozen
            features of a few rows of each class), robustness (a readout of clean images on corrupted images
            and on sets in --shift; with finetune the fine-tuned classifier as well; images only).
        shots: Rows of each class to learn from in few-shot, one or several numbers (by default 10 and 25).
        draws: Draws of the shots, which their interval is over (by default 10).
        epochs: Epochs of finetune (by default such that about 200,000 images are visited, from 3 to 100).
        size: Height and width of the images in finetune, in pixels (by default those of the run; positions of
            a transformer are interpolated to another size).
        corruption: Names of the corruptions of robustness (by default all).
        corrupted: Largest number of test images that robustness corrupts, drawn at random, the same every
            time (by default 1,000).
        shift: Folders of other images for robustness, with a folder for each of some classes of the data, as
            ImageNet-V2, -R, -A and ObjectNet have them.
        seed: Random seed of finetune, of the draws of few-shot and of the corruptions.
        outcome: Columns of real outcomes, such as age, which ridge regression predicts (R^2).
        ordinal: Columns of integer grades, which logistic regression predicts (accuracy and 1-off accuracy).
        outcomes: Table of outcomes (CSV or TSV) with a column id and a row for each row of the data, by its
            name with or without its suffix (by default outcomes.csv in a folder of volumes).
        folds: Folds of the cross-validation of graphs and of outcomes.
        repeats: Repetitions of the cross-validation of graphs, each with other folds; 10 as in the papers
            takes ten times as long, and leaves the interval over the graphs as it is.
        distinct: Leave out graphs that color refinement cannot tell from an earlier one.
        json: Print one JSON object instead of a table.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        trust: Build the network by the code that the run names (encoder:module), which is executed.
        augmentation: Augmentation of images (by default that of the run) of which the protocol rotations asks
            whether it rotates the embeddings, and which fine-tuning takes.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    source: Measured
    protocol: tuple[Protocol, ...] = ("linear",)
    shots: tuple[int, ...] | None = None
    draws: int | None = None
    epochs: int | None = None
    size: int | None = None
    corruption: tuple[str, ...] | None = None
    corrupted: int | None = None
    shift: tuple[Path, ...] | None = None
    seed: int = 0
    outcome: tuple[str, ...] = ()
    ordinal: tuple[str, ...] = ()
    outcomes: Path | None = None
    folds: int = 10
    repeats: int = 1
    distinct: bool = False
    json: bool = False
    accelerator: Accelerator = "auto"
    trust: bool = False
    augmentation: Literal["photographs", "handwriting"] | None = None

    def __post_init__(self) -> None:
        check_integer("--folds", self.folds, minimum=2)
        check_integer("--repeats", self.repeats)
        check_seed("--seed", self.seed)
        self._check_protocols()
        if not self.source.data and self.source.chosen:
            options = ", ".join(f"--{name.replace('_', '-')}" for name in self.source.chosen)
            raise ValueError(f"{options} without --data: name the data too, or measure on those of the run")
        if self.outcomes is not None and not self.outcome and not self.ordinal:
            raise ValueError(
                f"--outcomes {self.outcomes} needs columns: name real ones by --outcome, grades by --ordinal"
            )
        if both := sorted({*self.outcome} & {*self.ordinal}):
            raise ValueError(
                f"{both[0]} is either real or ordinal: leave it out of --outcome or of --ordinal"
            )

    def _check_protocols(self) -> None:
        if not self.protocol or len(set(self.protocol)) < len(self.protocol):
            got = " ".join(self.protocol) or "none"
            raise ValueError(f"--protocol must name one or several different protocols, got {got}")
        for name, protocol in PROTOCOLS_OF.items():
            if getattr(self, name) is not None and protocol not in self.protocol:
                raise ValueError(
                    f"--{name} is for {protocol}, which is not among --protocol {' '.join(self.protocol)}: "
                    f"add {protocol}, or leave --{name} out"
                )
        for shots in self.shots or ():
            check_integer("--shots", shots)
        for name, minimum in (("draws", 1), ("epochs", 0), ("size", 1), ("corrupted", 1)):
            if (value := getattr(self, name)) is not None:
                check_integer(f"--{name}", value, minimum=minimum)
        if self.is_linear_alone:
            return
        if self.outcome or self.ordinal:
            raise ValueError("outcomes have no protocols: leave --protocol out, or --outcome and --ordinal")

    def on(self, source: Split) -> Evaluate:
        """Return the same choice for the data of the run, with paths that hold in every folder."""
        return replace(
            self,
            source=Measured(
                **{field.name: getattr(source, field.name) for field in fields(source)}
                | {name: getattr(self.source, name) for name in VOTES}
            ),
            run=self.run.resolve(),
            outcomes=None if self.outcomes is None else self.outcomes.resolve(),
            shift=None if self.shift is None else tuple(path.resolve() for path in self.shift),
        )

    @property
    def is_linear_alone(self) -> bool:
        """Whether nothing but the linear protocol is measured, which keeps no record."""
        return self.protocol == ("linear",)


@dataclass(frozen=True, kw_only=True)
class EvaluateTasks:
    """Measure a trained encoder of sentences on every task in a folder.

    tammes evaluate runs/mine --tasks FOLDER

    The tasks are found by their files as published: MR, CR, SUBJ, MPQA, TREC and MSRP; tables of pairs with
    scores (sentence1, sentence2, score); and retrieval in the layout of BEIR (corpus.jsonl, queries.jsonl,
    qrels). The untrained encoder, tf-idf with an SVD, and random vectors of words stand beside the encoder.
    The results are kept in evaluation.json of the run, task by task, and shown on its page. A task that
    cannot be measured leaves the others as they are; the last line names it, and the exit code is 2.

    Args:
        run: Folder of the run.
        tasks: Folder of the tasks, which may have a folder for each.
        seed: Random seed of the folds, and of the random vectors of words.
        json: Print one JSON object instead of a table.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        trust: Build the network by the code that the run names (encoder:module), which is executed.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    tasks: Path
    seed: int = 0
    json: bool = False
    accelerator: Accelerator = "auto"
    trust: bool = False

    def __post_init__(self) -> None:
        check_seed("--seed", self.seed, maximum=2**32 - 1)


def parse(words: Sequence[str]) -> Evaluate | EvaluateTasks:
    """Return what the words after `tammes evaluate` choose."""
    if any(word == TASKS or word.startswith(f"{TASKS}=") for word in words):
        # `--tasks --help` asks for help, and names no folder.
        words = [word for word in words if word != TASKS] if {"-h", "--help"} & {*words} else words
        tasks: EvaluateTasks = Options.of(EvaluateTasks).parse("evaluate", words)
        return tasks
    if "--data=" in words or ("--data", "") in pairwise(words):
        raise ValueError("--data is empty: name the data, or leave it out for those of the run")
    choice: Evaluate = Options.of(
        Evaluate,
        RARE
        | {"trust", "augmentation", "folds", "repeats", "distinct", "ordinal", "outcomes"}
        | {"draws", "epochs", "size", "corruption", "corrupted", "seed"},
    ).parse("evaluate", words)
    return choice
