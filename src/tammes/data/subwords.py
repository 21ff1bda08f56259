"""Subwords: the pieces of words that an algorithm finds in the training sentences, and their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tammes.checks import check_integer
from tammes.data.sealed import read_sealed, seal, unseal
from tammes.data.tokens import Tokens
from tammes.data.vocabulary import UNKNOWN, Vocabulary, import_tokenizers, tokenize

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FORMAT = "tammes subwords 1"


@dataclass(frozen=True, kw_only=True, repr=False)
class Subwords:
    """Tokenizer that cuts words into pieces, so that rare words keep the meaning of their parts.

    Args:
        file: content of tokenizer.json, the format of the package tokenizers.

    Raises:
        ValueError: If the file is no tokenizer.
        ImportError: If `tokenizers` is not installed.

    Example:
        >>> pieces = BytePairs(size=12).of(["low lower lowest", "new newer newest"])
        >>> len(pieces), pieces.encode(["lower"])
        (12, Tokens(1 sentences, 4 tokens))
    """

    file: str

    def __post_init__(self) -> None:
        _ = self.tokenizer

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The `tokenizers.Tokenizer`."""
        tokenizers = import_tokenizers()
        try:
            tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(self.file)
        except Exception as error:  # the package raises nothing more particular
            raise ValueError(f"expected a tokenizer as JSON: {error}") from error
        return tokenizer

    @property
    def words(self) -> tuple[str, ...]:
        """The pieces in the order of their ids; a piece that begins a word begins with a low line."""
        ids = self.tokenizer.get_vocab()
        return tuple(sorted(ids, key=ids.__getitem__))

    def encode(self, sentences: Sequence[str]) -> Tokens:
        """Return the token ids of each sentence.

        Raises:
            ValueError: If a sentence has no token, that is, if it is blank.
        """
        return tokenize(self.tokenizer, sentences)

    def to_json(self) -> str:
        """Return the tokenizer as JSON, with a checksum."""
        return seal({"file": self.file}, format=FORMAT)

    @staticmethod
    def load(path: str | Path) -> Subwords:
        """Read what `to_json` returned from a file.

        Raises:
            ValueError: If the file holds something else, or was changed since it was saved.
            OSError: If the file cannot be read.
        """
        path = Path(path)
        return Subwords.from_json(read_sealed(path, noun="subword tokenizer"), str(path))

    @staticmethod
    def from_json(text: str, path: str) -> Subwords:
        """Read what `to_json` returned.

        Args:
            text: the JSON.
            path: where it was found, for the error message.

        Raises:
            ValueError: If it is something else, or was changed since it was saved.
        """
        content = unseal(text, format=FORMAT, noun="subword tokenizer", path=path)
        if not isinstance(content.get("file"), str):
            raise ValueError(f"expected the file of a tokenizer in {path}")
        return Subwords(file=content["file"])

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def __repr__(self) -> str:
        return f"Subwords({len(self)} pieces)"


@dataclass(frozen=True, kw_only=True)
class Words:
    """Whole words that occur often enough in the training sentences; all others share one id.

    Args:
        minimum_count: Smallest number of occurrences in the training sentences.
        lowercase: Whether to convert text to lower case.

    Raises:
        ValueError: a count below 1.

    Example:
        >>> Words(minimum_count=2).of(["the cat sat", "the dog sat"])
        Vocabulary(3 words, lower case)
    """

    minimum_count: int = 5
    lowercase: bool = True

    def __post_init__(self) -> None:
        check_integer("minimum_count", self.minimum_count)

    def of(self, sentences: Sequence[str]) -> Vocabulary:
        """Build the vocabulary of training sentences."""
        return Vocabulary.of(sentences, minimum_count=self.minimum_count, lowercase=self.lowercase)


@dataclass(frozen=True, kw_only=True)
class BytePairs:
    """Pieces of words by byte-pair encoding: the most frequent pair of pieces is joined, again and again.

    Args:
        size: Number of pieces, single characters included.
        lowercase: Whether to convert text to lower case.

    Raises:
        ValueError: a size below 2.

    Source: Sennrich et al., Neural Machine Translation of Rare Words with Subword Units, 2016.

    Example:
        >>> BytePairs(size=10).of(["aa ab", "ab ab"])
        Subwords(7 pieces)
    """

    size: int = 8_000
    lowercase: bool = True

    def __post_init__(self) -> None:
        check_integer("size", self.size, minimum=2)

    def of(self, sentences: Sequence[str]) -> Subwords:
        """Find the pieces in training sentences."""
        tokenizers = import_tokenizers()
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=self.size, special_tokens=[UNKNOWN], show_progress=False
        )
        return _trained(tokenizers.models.BPE(unk_token=UNKNOWN), trainer, sentences, self.lowercase)


@dataclass(frozen=True, kw_only=True)
class Unigrams:
    """Pieces of words by a unigram model: of many pieces, those that make the sentences most likely stay.

    Of pieces of equal value the package keeps others each time; a resumed run has those of its beginning.

    Args:
        size: Largest number of pieces, single characters included.
        lowercase: Whether to convert text to lower case.

    Raises:
        ValueError: a size below 2; when used, one below the number of characters.

    Source: Kudo, Subword Regularization, 2018.

    Example:
        >>> len(Unigrams(size=20).of(["low lower lowest", "new newer newest"])) <= 20
        True
    """

    size: int = 8_000
    lowercase: bool = True

    def __post_init__(self) -> None:
        check_integer("size", self.size, minimum=2)

    def of(self, sentences: Sequence[str]) -> Subwords:
        """Find the pieces in training sentences."""
        tokenizers = import_tokenizers()
        trainer = tokenizers.trainers.UnigramTrainer(
            vocab_size=self.size, special_tokens=[UNKNOWN], unk_token=UNKNOWN, show_progress=False
        )
        return _trained(tokenizers.models.Unigram(), trainer, sentences, self.lowercase)


Tokenization = Words | BytePairs | Unigrams
"""How text becomes tokens."""


def _trained(model: object, trainer: object, sentences: Sequence[str], lowercase: bool) -> Subwords:
    tokenizers = import_tokenizers()
    tokenizer = tokenizers.Tokenizer(model)
    normalizers = tokenizers.normalizers
    steps = [normalizers.NFC(), normalizers.Lowercase()] if lowercase else [normalizers.NFC()]
    tokenizer.normalizer = normalizers.Sequence(steps)
    # Marks the beginning of a word, so that "an" in "an" and in "man" are two pieces.
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    try:
        tokenizer.train_from_iterator(sentences, trainer)
    except Exception as error:  # the package raises nothing more particular
        raise ValueError(f"the pieces of these sentences cannot be found: {error}") from error
    return Subwords(file=tokenizer.to_str())
