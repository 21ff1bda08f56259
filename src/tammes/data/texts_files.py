"""Plain text: one file, or a folder in which each file is a document."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tammes.data.listing import files_below, listing, printable


@dataclass(frozen=True)
class Passage:
    """A piece of text, to be cut into sentences.

    Args:
        name: where it was found.
        text: what stands there.
        document: the name of the document it belongs to; None where that is not known.
    """

    name: str
    text: str
    document: str | None


def document_files(root: Path, pattern: str) -> tuple[list[str], list[str]]:
    """The files below a folder whose own names fit the pattern, and all others.

    Raises:
        ValueError: If none fits.
    """
    names: list[str] = []
    others: list[str] = []
    for name in files_below(root):
        (names if fnmatch(name.rpartition("/")[2], pattern) else others).append(name)
    if not names:
        found = f"only {listing(others)}" if others else "no files"
        raise ValueError(
            f"expected plain-text files ({pattern}) in {root} or in folders below it, found {found}; "
            "say which files are documents, for example --files '*.md' (files='*.md')"
        )
    return names, others


def folder_passages(root: Path, names: list[str], encoding: str) -> Iterator[Passage]:
    """Each file as a passage and a document, read when it is reached."""
    for name in names:
        printed = printable([name])[0]
        yield Passage(printed, read_text(root / name, encoding), printed)


def read_text(path: Path, encoding: str) -> str:
    r"""The text of a file, with line ends as `\n` and without a byte order mark.

    Raises:
        ValueError: If bytes cannot be decoded, with their line; if there is no such encoding.
        OSError: If the file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = (Path(root) / "menu.txt").write_bytes(b"tea\r\ncaf\xe9")
        ...     read_text(Path(root) / "menu.txt", "latin-1")
        'tea\ncafé'
    """
    data = path.read_bytes()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"expected text in {encoding}, got bytes that are none in line {line} of {path} "
            f"({data[error.start : error.start + 1]!r}: {error.reason}); name its encoding, "
            "for example --encoding latin-1 (encoding='latin-1')"
        ) from error
    except LookupError as error:
        raise ValueError(
            f"expected the name of an encoding, for example 'utf-8', got {encoding!r}"
        ) from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
