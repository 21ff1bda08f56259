"""Vectors of words from a file, in the text form of word2vec and fastText."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_file, is_numeral


@dataclass(frozen=True, kw_only=True, eq=False)
class WordVectors:
    """Vectors of those words of a vocabulary that a file holds.

    Attributes:
        rows: `(k,)` ids of the words that were found.
        vectors: `(k, d)` their vectors.
    """

    rows: Int[Tensor, " k"]
    vectors: Float[Tensor, "k d"]


def read_word_vectors(path: str | Path, words: tuple[str, ...], *, dim: int | None = None) -> WordVectors:
    r"""Read the vectors of a vocabulary's words from a file with a word and its numbers in each line.

    Of word2vec and fastText the first line says how many words and numbers there are; GloVe has no such line.
    Lines of other words are skipped, so that memory holds only what is needed, and blank ones too. Words of
    the file may hold blanks, as some of GloVe do. A word that the file does not hold is looked for in lower
    case.

    Args:
        path: the file, in UTF-8.
        words: words of the vocabulary in the order of their ids.
        dim: numbers that each vector must have; None for as many as the first has.

    Raises:
        ValueError: a line with another number of numbers, or with something else (the message names the
            line); a file without any of the words.
        OSError: a file that cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = (Path(root) / "vectors.vec").write_text("2 3\ncat 1 0 0\ndog 0 1 0\n")
        ...     read_word_vectors(Path(root) / "vectors.vec", ("[UNK]", "dog")).vectors.tolist()
        [[0.0, 1.0, 0.0]]
    """
    wanted: dict[str, list[int]] = {}
    for row, each in enumerate(words):
        for spelling in dict.fromkeys((each, each.lower())):
            wanted.setdefault(spelling, []).append(row)
    wide, dim = dim, None
    found: dict[int, np.ndarray] = {}
    exact: set[int] = set()
    with check_file(Path(path)).open("rb") as file:
        for number, line in enumerate(file, 1):
            word, *parts = line.rstrip().split(b" ")
            if number == 1 and len(parts) == 1 and parts[0].isdigit() and word.isdigit():
                dim = _as_wide(int(parts[0]), wide, path)  # the count of words and of numbers
                continue
            if not word and not parts:
                continue  # a blank line
            # Some words of GloVe hold blanks, such as ". . .".
            expected = wide if dim is None else dim
            while expected is not None and len(parts) > expected and not is_numeral(parts[0]):
                word = word + b" " + parts.pop(0)
            dim = _as_wide(len(parts), wide, path) if dim is None else _checked(dim, len(parts), path, number)
            name = word.decode("utf-8", "replace")
            # The first vector counts, and that of a word itself before that of its lower case.
            rows = [
                row for row in wanted.get(name, ()) if row not in (exact if words[row] == name else found)
            ]
            if not rows:
                continue
            vector = _vector(parts, path, number)
            found.update(dict.fromkeys(rows, vector))
            exact.update(row for row in rows if words[row] == name)
    if not found:
        raise ValueError(
            f"expected vectors of the words of the data in {path}, found none of {len(words)}: is it in the "
            "text form of word2vec or fastText, and of the same language?"
        )
    rows = sorted(found)
    return WordVectors(
        rows=torch.tensor(rows), vectors=torch.from_numpy(np.stack([found[row] for row in rows]))
    )


def _vector(parts: Sequence[bytes], path: str | Path, line: int) -> np.ndarray:
    try:
        vector = np.array([float(part) for part in parts], dtype=np.float32)
    except ValueError as error:
        raise ValueError(f"expected numbers behind the word in line {line} of {path}: {error}") from error
    if not np.isfinite(vector).all():
        raise ValueError(f"expected finite numbers behind the word in line {line} of {path}")
    return vector


def _as_wide(dim: int, wide: int | None, path: str | Path) -> int:
    """Return the width of a file's vectors."""
    if wide is not None and dim != wide:
        raise ValueError(
            f"expected vectors of {wide} numbers in {path}, the width of embedded words, got {dim}: set the "
            f"encoder's embedding to {dim}"
        )
    return dim


def _checked(dim: int, got: int, path: str | Path, line: int) -> int:
    if got != dim:
        raise ValueError(f"expected {dim} numbers behind the word in line {line} of {path}, got {got}")
    return got
