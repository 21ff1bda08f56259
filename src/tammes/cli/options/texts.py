"""The format of texts on the command line."""

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """Format of texts.

    Args:
        text_column: Column of a table or data set that holds the text (by default "text").
        label_column: Column of a table or data set that names the document, or class, of each row, whose
            sentences are positives of each other (by default each row is a document); of streamed images the
            column of the class (by default label); of shards of images the member that holds the label, such
            as txt, or a field of json (by default cls, or else the field label).
        anchor_column: Column of a table of pairs or triples that holds the anchors, such as premises; each is
            trained to find the positive of its row.
        positive_column: Column of their positives, such as entailments.
        negative_column: Column of their given negatives, such as contradictions (by default none: the
            positives of the other rows alone are negatives).
        split: Part of a Hugging Face data set, such as train.
        files: Pattern of the names of a folder's documents (by default *.txt).
        encoding: Encoding of the files (by default utf-8).
        prose: Take the text for running prose, to be cut into sentences, instead of a sentence a line.
    """

    text_column: str | None = None
    label_column: str | None = None
    anchor_column: str | None = None
    positive_column: str | None = None
    negative_column: str | None = None
    split: str | None = None
    files: str | None = None
    encoding: str | None = None
    prose: bool = False

    def __post_init__(self) -> None:
        if (self.anchor_column is None) != (self.positive_column is None):
            missing, given = (
                ("positive", "anchor") if self.anchor_column is not None else ("anchor", "positive")
            )
            raise ValueError(f"--{given}-column needs --{missing}-column: a pair has both")
        if self.negative_column is not None and self.anchor_column is None:
            raise ValueError("--negative-column needs --anchor-column and --positive-column")
        others = {
            "--text-column": self.text_column,
            "--label-column": self.label_column,
            "--files": self.files,
            "--prose": self.prose or None,
        }
        unused = [flag for flag, value in others.items() if value is not None]
        if self.anchor_column is not None and unused:
            raise ValueError(f"{', '.join(unused)} is not for pairs of given columns: leave it out")

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
