"""Token ids of cached sentences, written once and mapped into memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data.cache_files import check_room, locked, remove_old, write_whole
from tammes.data.mapped_strings import MappedStrings
from tammes.data.text_cache import TOKENS
from tammes.data.tokens import Tokens

FORMAT = "tammes tokens 1"
"""Name and version of the format: tokens of another one are made anew."""
IDS, ENDS, DESCRIPTION = f"{TOKENS}.bin", f"{TOKENS}.ends", f"{TOKENS}.json"
CHUNK = 8_192
"""Sentences that are tokenized at a time."""


class Tokenizer(Protocol):
    """Vocabulary or pieces of words."""

    def encode(self, sentences: Sequence[str]) -> Tokens:
        """Return the token ids of each sentence."""

    def to_json(self) -> str:
        """Return the tokenizer as JSON."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MappedTokens:
    """Token ids in a file that is mapped into memory, four bytes each.

    Args:
        folder: folder of the cache.
        count: number of sentences in the file.
        rows: numbers of the sentences that these are; None for all of the file.
    """

    folder: Path
    count: int
    rows: np.ndarray | None = None

    @cached_property
    def ends(self) -> np.ndarray:
        """End of each sentence in tokens, int64 (count,)."""
        return np.memmap(self.folder / ENDS, np.int64, "r", shape=(self.count,)).view(np.ndarray)

    @cached_property
    def ids(self) -> np.ndarray:
        """Ids of all tokens of the file, int32."""
        return np.memmap(self.folder / IDS, np.int32, "r", shape=(int(self.ends[-1]),)).view(np.ndarray)

    def __getstate__(self) -> dict[str, Any]:
        # Processes that are sent the tokens map the files themselves.
        return {name: value for name, value in vars(self).items() if name not in ("ends", "ids")}

    def __len__(self) -> int:
        return self.count if self.rows is None else len(self.rows)

    @property
    def lengths(self) -> Int64[Tensor, " n"]:
        """Number of tokens in each sentence."""
        lengths = np.diff(self.ends, prepend=0)
        return torch.from_numpy(lengths if self.rows is None else lengths[self.rows])

    def take(self, rows: Int64[Tensor, " rows"]) -> Tokens:
        """Return the sentences in these rows, in this order, copied from the file."""
        places = rows.numpy() if self.rows is None else self.rows[rows.numpy()]
        ends = self.ends[places]
        starts = np.where(places == 0, 0, self.ends[places - 1])
        parts = [self.ids[start:end] for start, end in zip(starts, ends, strict=True)]
        ids = np.concatenate(parts) if parts else np.zeros(0, np.int32)
        offsets = np.concatenate([[0], np.cumsum(ends - starts)])
        return Tokens(torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(offsets.astype(np.int64)))

    def __repr__(self) -> str:
        return f"MappedTokens({len(self)} sentences)"


def cached_tokens(sentences: MappedStrings, tokenizer: Tokenizer) -> MappedTokens:
    r"""Open the tokens of cached sentences, or make them beside the sentences.

    Tokens of another tokenizer are made anew; a program that has them mapped keeps them.

    Args:
        sentences: sentences of a cache, or some of them: the tokens are those of all.
        tokenizer: vocabulary or pieces of words.

    Raises:
        ValueError: If the disk has less room than the tokens need, by those of the first sentences.
        OSError: If the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> from tammes.data import Vocabulary, texts
        >>> with tempfile.TemporaryDirectory() as root:
        ...     _ = Path(root, "a.txt").write_text("It rains.\nIt is wet.\n")
        ...     found = texts(Path(root, "a.txt"), cache=Path(root, "cache"))
        ...     vocabulary = Vocabulary.of(found.sentences, minimum_count=1)
        ...     cached_tokens(found.sentences, vocabulary).take(torch.tensor([1]))
        Tokens(1 sentences, 4 tokens)
    """
    place, count = sentences.folder, sentences.total
    digest = hashlib.sha256(tokenizer.to_json().encode("utf-8", "surrogatepass")).hexdigest()
    wanted = {"format": FORMAT, "count": count, "tokenizer": digest}
    if not _is_described(place, wanted):
        with locked(place):
            if not _is_described(place, wanted):
                _make(place, MappedStrings(folder=place, name=sentences.name, total=count), tokenizer, wanted)
    tokens = MappedTokens(folder=place, count=count, rows=sentences.rows)
    _ = tokens.ids  # mapped now, the file stays readable even if another process replaces it
    return tokens


def _is_described(place: Path, wanted: dict[str, Any]) -> bool:
    try:
        found = json.loads((place / DESCRIPTION).read_text(encoding="ascii"))
        sizes = found.pop("sizes")
        return bool(found == wanted) and sizes == [(place / name).stat().st_size for name in (IDS, ENDS)]
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return False


def _make(place: Path, sentences: MappedStrings, tokenizer: Tokenizer, wanted: dict[str, Any]) -> None:
    remove_old(place, (DESCRIPTION, IDS, ENDS))  # in this order: what is not described is not used
    first = min(CHUNK, sentences.total)
    share = len(tokenizer.encode(sentences[:first]).ids) / max(1, int(sentences.ends[first - 1]))
    needed = round(4 * share * int(sentences.ends[-1])) + 8 * sentences.total
    check_room(place, needed, what=f"tokens of {sentences.total:,} sentences", instead="do without one")
    lengths: list[np.ndarray] = []

    def ids() -> Iterator[bytes]:
        for start in range(0, sentences.total, CHUNK):
            tokens = tokenizer.encode(sentences[start : start + CHUNK])
            lengths.append(tokens.lengths.numpy())
            yield tokens.ids.numpy().astype("<i4").tobytes()

    write_whole(place / IDS, ids())
    write_whole(place / ENDS, [np.concatenate(lengths).cumsum().astype("<i8").tobytes()])
    sizes = [(place / name).stat().st_size for name in (IDS, ENDS)]
    write_whole(place / DESCRIPTION, [json.dumps({**wanted, "sizes": sizes}).encode("ascii")])
