"""Passages of plain text: files, a folder in which each file is a document, and prose cut into sentences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path

from tammes.checks import check_file
from tammes.data.listing import files_below, listing, printable

# A point after one of these, before a name or number, does not end a sentence.
ABBREVIATIONS = frozenset(
    """
    Mr Mrs Ms Mme Mlle Messrs Dr Prof Rev Hon St Gen Col Capt Lt Maj Sgt Gov Sen Rep Pres
    No Nos Vol Vols Fig Figs Eq Sec Ch pp p vs viz cf e.g i.e
    """.split()  # noqa: SIM905
)
OPENING = "\"'“‘„«([{_*-—–"
# A point, or several marks, then closing quotes and brackets, then space.
# No run is tried from its middle or given back in part ("+" after a count), which takes quadratic time.
MARK = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]}_*]*+\s++""")
BEGINNING = 100_000
"""Characters of a file by which its form is judged."""
PARAGRAPH = re.compile(r"\n[^\S\n]*\n")


@dataclass(frozen=True)
class Passage:
    """Piece of text, to be cut into sentences.

    Args:
        name: where the text was found.
        text: the text itself.
        document: name of the document that the text belongs to; None if it is not known.
    """

    name: str
    text: str
    document: str | None


def document_files(root: Path, pattern: str) -> tuple[list[str], list[str]]:
    """Return the files below a folder whose names match the pattern, and all that cannot be used.

    Raises:
        ValueError: If no name matches.
    """
    names: list[str] = []
    files, others = files_below(root)
    for name in files:
        (names if fnmatch(name.rpartition("/")[2], pattern) else others).append(name)
    if not names:
        found = f"only {listing(others)}" if others else "no files"
        raise ValueError(
            f"expected plain-text files ({pattern}) in {root} or in folders below it, found {found}; "
            "give the pattern of the documents' names, for example files='*.md'"
        )
    return names, others


def folder_passages(root: Path, names: list[str], encoding: str) -> Iterator[Passage]:
    """Yield each file as one passage and one document; a file is read when it is reached."""
    for name in names:
        printed = printable([name])[0]
        yield Passage(printed, read_text(root / name, encoding), printed)


def read_text(path: Path, encoding: str) -> str:
    r"""Return the text of a file, with `\n` as line ends and without a byte order mark.

    Raises:
        ValueError: If bytes cannot be decoded (the message names their line), the encoding is not known, or
            there is something else than a file, for example a named pipe.
        OSError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = (Path(root) / "menu.txt").write_bytes(b"tea\r\ncaf\xe9")
        ...     read_text(Path(root) / "menu.txt", "latin-1")
        'tea\ncafé'
    """
    data = check_file(path).read_bytes()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"expected text in {encoding}, got bytes that cannot be decoded in line {line} of {path} "
            f"({data[error.start : error.start + 1]!r}: {error.reason}); name the encoding of the file, "
            "for example encoding='latin-1'"
        ) from error
    except LookupError as error:
        raise ValueError(f"expected the name of an encoding, such as 'utf-8', got {encoding!r}") from error
    return with_plain_line_ends(text.removeprefix("\ufeff"))


def is_wrapped(path: str | Path, pattern: str = "*.txt") -> bool:
    r"""Return whether the lines of plain text end within sentences, as those of printed books do.

    Judged by the beginning of the first file: of the lines that are followed by another one without an empty
    line between, most end with a letter or a comma, and sentences end within lines. Lines without any
    punctuation are taken for sentences.

    Args:
        path: a file or a folder.
        pattern: pattern of the names of a folder's documents.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = (Path(root) / "a.txt").write_text("It rained. We\nwent in, and it\ngot dark.\n")
        ...     is_wrapped(root)
        True
    """
    place = Path(path)
    if place.is_dir():
        names = [name for name in files_below(place)[0] if fnmatch(name.rpartition("/")[2], pattern)]
        if not names:
            return False
        place = place / names[0]
    elif place.suffix.lower() != ".txt":
        return False
    try:
        with check_file(place).open(encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file.read(BEGINNING).split("\n")][:-1]
    except (OSError, ValueError):
        return False  # the reader of the sentences says what is wrong
    inner = [line for line, following in pairwise(lines) if line and following]
    goes_on = sum(line[-1].isalnum() or line[-1] in ",;" for line in inner) > len(inner) / 2
    return goes_on and any(f"{end} " in line for line in inner for end in ".!?")


def with_plain_line_ends(text: str) -> str:
    r"""Return the text with `\n` as line ends.

    Example:
        >>> with_plain_line_ends("a\r\nb\rc")
        'a\nb\nc'
    """
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split_prose(text: str) -> list[str]:
    r"""Cut running prose into sentences, for English and languages written like it.

    A sentence ends at an empty line. It also ends after `.`, `!`, `?` or `…` and any closing quotes and
    brackets, if a space follows and then a capital letter or a digit, which may stand behind opening quotes
    and brackets. It does not end after a single capital letter (`J. R. Smith`), nor after abbreviations that
    precede names and numbers (`Mr.`, `No.`, `e.g.`). Single line breaks count as spaces.

    A rule makes mistakes where only the meaning decides: this one cuts inside speech that is quoted in the
    middle of a sentence, and does not cut after `etc.` before a small letter. It is predictable and needs no
    model, and the sentences of a document share its topic wherever they are cut.

    Example:
        >>> split_prose('Mr. J. Smith paid $3.50. "Too\nmuch!" He left.')
        ['Mr. J. Smith paid $3.50.', '"Too much!"', 'He left.']
    """
    sentences = []
    for paragraph in PARAGRAPH.split(with_plain_line_ends(text)):
        start = 0
        for mark in MARK.finditer(paragraph):
            if _ends(paragraph, mark.start(), mark.end()):
                sentences.append(paragraph[start : mark.end()])
                start = mark.end()
        sentences.append(paragraph[start:])
    return [" ".join(sentence.split()) for sentence in sentences if not sentence.isspace() and sentence]


def _ends(paragraph: str, mark: int, following: int) -> bool:
    """Return whether a sentence ends with the mark at `mark`, and another begins at `following`."""
    while following < len(paragraph) and paragraph[following] in OPENING:
        following += 1
    if following < len(paragraph) and not (paragraph[following].isupper() or paragraph[following].isdigit()):
        return False
    if paragraph[mark : mark + 2].strip() != ".":
        return True
    start = mark
    while start > 0 and not paragraph[start - 1].isspace() and paragraph[start - 1] not in OPENING:
        start -= 1
    word = paragraph[start:mark]
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return not is_initial and word not in ABBREVIATIONS
