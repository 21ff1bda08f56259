"""Texts on the command line: their format, and how they differ from images."""

import dataclasses
import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tammes.data import Texts, texts
from tammes.data.image_files import SUFFIXES
from tammes.data.listing import files_below
from tammes.data.tables import HUB, is_saved_data_set
from tammes.data.tables import SUFFIXES as TABLES

# Suffixes of texts, even of a file that does not exist.
TEXT_SUFFIXES = TABLES | {".txt"}


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """Format of texts.

    Args:
        text_column: The column of a table or data set that holds the text (by default, "text").
        label_column: The column that tells the document, or class, of each row.
        split: The part of a Hugging Face data set, such as train.
        files: What the names of a folder's documents look like (by default, *.txt).
        encoding: Of the files (by default, utf-8).
        prose: Take the text for running prose, to be cut into sentences, instead of a sentence a line.
    """

    text_column: str | None = None
    label_column: str | None = None
    split: str | None = None
    files: str | None = None
    encoding: str | None = None
    prose: bool = False

    def load(self, path: str, *, strict: bool) -> Texts:
        """Load the texts at a path.

        Raises:
            ValueError: for a path without texts, or without the columns.
        """
        return texts(
            path,
            text_column=self.text_column,
            label_column=self.label_column,
            split=self.split,
            prose=self.prose,
            files=self.files or "*.txt",
            encoding=self.encoding or "utf-8",
            strict=strict,
        )

    def check_unused(self, reason: str) -> None:
        """Refuse options that would have no effect.

        Raises:
            ValueError: naming the flags.
        """
        given = [
            f"--{field.name.replace('_', '-')}"
            for field in dataclasses.fields(self)
            if vars(self)[field.name] != field.default
        ]
        if given:
            raise ValueError(f"{', '.join(given)} is for texts, but {reason}: leave it out")


def looks_like_texts(path: str, format: TextFormat) -> bool:
    """Return whether the data at a path are texts.

    A file is, unless its name is an image's; so is a folder with more plain-text files than images.

    Args:
        path: a file, a folder, or the name of a data set.
        format: says which files of a folder are texts.
    """
    place = Path(path)
    if path.startswith(HUB):
        return True
    if not place.is_dir():
        suffix = place.suffix.lower()
        return suffix in TEXT_SUFFIXES or (place.is_file() and suffix not in SUFFIXES)
    if is_saved_data_set(place) or format.files is not None:
        return True
    names, _ = files_below(place)
    images = sum(os.path.splitext(name)[1].lower() in SUFFIXES for name in names)
    return sum(fnmatch(name, "*.txt") for name in names) > images
