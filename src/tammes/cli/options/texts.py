"""The format of texts on the command line."""

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """Format of texts.

    Args:
        text_column: Column of a table or data set that holds the text (by default "text").
        label_column: Column of a table or data set that names the document, or class, of each row (by
            default each row is a document); of streamed images the column of the class (by default label); of
            shards of images the member that holds the label, such as txt, or a field of json (by default cls,
            or else the field label).
        split: Part of a Hugging Face data set, such as train.
        files: Pattern of the names of a folder's documents (by default *.txt).
        encoding: Encoding of the files (by default utf-8).
        prose: Take the text for running prose, to be cut into sentences, instead of a sentence a line.
    """

    text_column: str | None = None
    label_column: str | None = None
    split: str | None = None
    files: str | None = None
    encoding: str | None = None
    prose: bool = False

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
