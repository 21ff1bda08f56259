"""Texts that the command line names: how they are recognized, read, and prepared for a training."""

from __future__ import annotations

import os
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tammes.cli.failures import print_line
from tammes.cli.options.data import Source, Split
from tammes.cli.options.texts import TextFormat
from tammes.data import Texts, texts, triples
from tammes.data.image_files import SUFFIXES
from tammes.data.listing import files_below
from tammes.data.passages import is_wrapped
from tammes.data.stream_files import is_stream
from tammes.data.tables import HUB, is_saved_data_set
from tammes.data.tables import SUFFIXES as TABLES
from tammes.data.tar_files import holds_shards
from tammes.positives import Adjacent

if TYPE_CHECKING:
    from tammes.training import TrainingConfig

Given = TypeVar("Given", bound=Source)

# Suffixes of texts, even of a file that does not exist.
TEXT_SUFFIXES = TABLES | {".txt"}


def load_texts(path: str, format: TextFormat, *, strict: bool, cache: Path | None = None) -> Texts:
    """Load the texts at a path.

    Raises:
        ValueError: for a path without texts, or without the columns.
    """
    if format.anchor_column is not None and cache is not None:
        raise ValueError(
            "--cache keeps sentences of texts, but these are pairs of given columns: leave it out"
        )
    if format.anchor_column is not None and format.positive_column is not None:
        return triples(
            path,
            anchor_column=format.anchor_column,
            positive_column=format.positive_column,
            negative_column=format.negative_column,
            split=format.split,
            encoding=format.encoding or "utf-8",
            strict=strict,
        )
    return texts(
        path,
        text_column=format.text_column,
        label_column=format.label_column,
        split=format.split,
        prose=format.prose,
        files=format.files or "*.txt",
        encoding=format.encoding or "utf-8",
        strict=strict,
        cache=cache,
    )


def trained_whole(source: Split) -> Split:
    """Return texts of which none is held out unless the command says how many."""
    whole = source.test is None and source.held_out is None
    return replace(source, held_out=0.0) if whole else source


def in_sentences(source: Given) -> Given:
    """Return texts for an encoder of adjacent sentences: of plain text, wrapped lines are joined.

    Says so where plain text is taken for running prose.
    """
    if source.format.prose or not is_wrapped(source.data, source.format.files or "*.txt"):
        return source
    print_line(f"lines of {source.data} end within sentences: taking it for running prose, as with --prose")
    return replace(source, format=replace(source.format, prose=True))


def as_in_training(source: Given, config: TrainingConfig) -> Given:
    """Return texts in the form in which a run has read its own: an encoder of adjacent sentences takes prose.

    Args:
        source: data of any kind.
        config: settings of the run.
    """
    return in_sentences(source) if isinstance(config.positives, Adjacent) else source


def of_given_pairs(source: Split) -> Split:
    """Return pairs of given columns, of which none is held out: they have no classes to measure on.

    Raises:
        ValueError: data to measure on.
    """
    if source.format.anchor_column is None:
        return source
    if source.test is not None or source.held_out not in (0.0, None):
        flag = "--held-out" if source.test is None else "--test"
        raise ValueError(
            f"{flag} measures classes, and pairs of given columns have none: leave it out, and measure by "
            "tammes evaluate RUN --tasks FOLDER"
        )
    return replace(source, held_out=0.0)


def is_empty_of_images(path: str) -> bool:
    """Return whether a folder has no image, so that the reader of texts says what it lacks."""
    place = Path(path)
    if not place.is_dir() or holds_shards(path):
        return False
    return not any(os.path.splitext(name)[1].lower() in SUFFIXES for name in files_below(place)[0])


def looks_like_texts(path: str, format: TextFormat) -> bool:
    """Return whether the data at a path are texts.

    A file is, unless its name is that of an image or a tar archive; so is a folder with more plain-text files
    than images.

    Args:
        path: a file, a folder, or the name of a data set.
        format: says which files of a folder are texts.
    """
    place = Path(path)
    if path.startswith(HUB):
        return True
    if is_stream(path) or holds_shards(path):
        return False
    if not place.is_dir():
        suffix = place.suffix.lower()
        return suffix in TEXT_SUFFIXES or (place.is_file() and suffix not in SUFFIXES)
    if is_saved_data_set(place) or format.files is not None:
        return True
    names, _ = files_below(place)
    images = sum(os.path.splitext(name)[1].lower() in SUFFIXES for name in names)
    return sum(fnmatch(name, "*.txt") for name in names) > images
