"""The words an encoder knows: sentences become token ids, and all rare words share one id."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tammes.checks import check_integer
from tammes.data.sealed import read_sealed, seal, unseal
from tammes.data.tokens import Tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# No word is spelled like this, because a bracket is always a separate token.
UNKNOWN = "[UNK]"
FORMAT = "tammes vocabulary 1"
# A number with its inner points and commas; a word with its inner apostrophes; else one character.
TOKEN = r"\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}\p{M}\p{N}_]+)*|[^\s\p{L}\p{M}\p{N}_]"
# Sentences tokenized at a time: each takes some kilobytes as an object until its ids are copied.
CHUNK = 10_000


@dataclass(frozen=True, kw_only=True, repr=False)
class Vocabulary:
    """Words and their ids; id 0 is `[UNK]`, which stands for every other word.

    Text is normalized to Unicode's composed form (NFC) and cut into tokens: a number with its inner points
    and commas (`3.50`), a word with its inner apostrophes (`don't`), and any other character but space.
    Punctuation marks count as words.

    Args:
        words: words in the order of their ids, `[UNK]` first.
        lowercase: whether text is converted to lower case first.

    Raises:
        ValueError: If `[UNK]` is not first, no other word follows, or a word is repeated.

    Example:
        >>> vocabulary = Vocabulary.of(["the cat sat", "the dog sat"], minimum_count=2)
        >>> vocabulary, vocabulary.words
        (Vocabulary(3 words), ('[UNK]', 'sat', 'the'))
        >>> vocabulary.encode(["the dog", "sat"]).ids
        tensor([2, 0, 1])
    """

    words: tuple[str, ...]
    lowercase: bool = False

    def __post_init__(self) -> None:
        if not self.words or self.words[0] != UNKNOWN:
            raise ValueError(f"expected {UNKNOWN} as the first word, got {self.words[:1]}")
        if len(self.words) == 1:
            raise ValueError(f"expected words beside {UNKNOWN}, got none")
        if not all(isinstance(word, str) for word in self.words):
            raise ValueError("expected strings as words, got something else among them")
        word, times = Counter(self.words).most_common(1)[0]
        if times > 1:
            raise ValueError(f"expected every word once, got {word!r} {times} times")

    @staticmethod
    def of(sentences: Sequence[str], *, minimum_count: int, lowercase: bool = False) -> "Vocabulary":
        """Build a vocabulary of the words that occur often enough, the most frequent first.

        Args:
            sentences: training sentences; words that occur only elsewhere stay unknown.
            minimum_count: least number of times that a word must occur in all sentences together, at least 1.
            lowercase: whether text is converted to lower case first.

        Raises:
            ValueError: If `minimum_count` is below 1, no word occurs that often, or a sentence is no string
                or has half a character.
            ImportError: If `tokenizers` is not installed.
        """
        check_integer("minimum_count", minimum_count)
        tokenizers = import_tokenizers()
        tokenizer = _tokenizer({}, lowercase)
        trainer = tokenizers.trainers.WordLevelTrainer(
            vocab_size=2**31 - 1, min_frequency=minimum_count, special_tokens=[], show_progress=False
        )
        try:
            tokenizer.train_from_iterator(sentences, trainer)
        except (TypeError, UnicodeEncodeError):
            _check_sentences(sentences)
            raise
        ids = tokenizer.get_vocab(with_added_tokens=False)
        if not ids:
            raise ValueError(_emptied(tokenizer, sentences, minimum_count))
        return Vocabulary(words=(UNKNOWN, *sorted(ids, key=ids.__getitem__)), lowercase=lowercase)

    @cached_property
    def tokenizer(self) -> "Tokenizer":
        """Word-level `tokenizers.Tokenizer` of this vocabulary; unknown words become `[UNK]`."""
        return _tokenizer({word: place for place, word in enumerate(self.words)}, self.lowercase)

    def encode(self, sentences: Sequence[str]) -> Tokens:
        """Return the token ids of each sentence.

        Raises:
            ValueError: If a sentence has no token, that is, if it is blank.
            ImportError: If `tokenizers` is not installed.
        """
        return tokenize(self.tokenizer, sentences)

    def to_json(self) -> str:
        """Return the vocabulary as JSON, with a checksum of its words and settings."""
        return seal({"lowercase": self.lowercase, "words": list(self.words)}, format=FORMAT)

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @staticmethod
    def load(path: str | Path) -> "Vocabulary":
        """Read a vocabulary that `save` wrote.

        Raises:
            ValueError: If the file is not a vocabulary, or was changed since it was saved.
            OSError: If the file cannot be read.
        """
        path = Path(path)
        return Vocabulary.from_json(read_sealed(path, noun="vocabulary"), str(path))

    @staticmethod
    def from_json(text: str, path: str) -> "Vocabulary":
        """Read what `to_json` returned.

        Args:
            text: the JSON.
            path: where it was found, for the error message.

        Raises:
            ValueError: If it is not a vocabulary, or was changed since it was saved.
        """
        content = unseal(text, format=FORMAT, noun="vocabulary", path=path)
        words, lowercase = content.get("words"), content.get("lowercase")
        if not (isinstance(words, list) and isinstance(lowercase, bool)):
            raise ValueError(f"expected a list of words in {path}, and whether they are in lower case")
        return Vocabulary(words=tuple(words), lowercase=lowercase)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words{', lower case' if self.lowercase else ''})"


def tokenize(tokenizer: "Tokenizer", sentences: Sequence[str], *, special_tokens: bool = False) -> Tokens:
    """Return the token ids of each sentence by a `tokenizers.Tokenizer`.

    Args:
        tokenizer: the tokenizer.
        sentences: the sentences.
        special_tokens: whether to add tokens that stand for no word, such as `[CLS]`.

    Raises:
        ValueError: If a sentence has no token but these, is no string, or has half a character.
    """
    parts: list[np.ndarray] = []
    lengths = np.zeros(len(sentences) + 1, dtype=np.int64)
    row = 0
    for start in range(0, len(sentences), CHUNK):
        chunk = list(sentences[start : start + CHUNK])
        try:
            encodings = tokenizer.encode_batch_fast(chunk, add_special_tokens=special_tokens)
        except (TypeError, UnicodeEncodeError):
            _check_sentences(sentences)
            raise
        for encoding in encodings:
            ids = np.array(encoding.ids, dtype=np.int64)
            if len(ids) == sum(encoding.special_tokens_mask):
                raise ValueError(
                    f"expected words in every sentence, got none in sentence {row}: {sentences[row]!r}; "
                    "leave empty sentences out"
                )
            row += 1
            parts.append(ids)
            lengths[row] = len(ids)
    ids = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return Tokens(torch.from_numpy(ids), torch.from_numpy(lengths.cumsum()))


def _check_sentences(sentences: Sequence[str]) -> None:
    """Raise ValueError for what the package tokenizers refuses: no string, or half a character."""
    for row, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise ValueError(f"expected strings as sentences, got {sentence!r} as sentence {row}")
        try:
            sentence.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"expected whole characters in every sentence, got half of one in sentence {row}: "
                f"{sentence!r}; read its file in the encoding that it has"
            ) from error


def import_tokenizers() -> Any:
    """Return the package tokenizers.

    Raises:
        ImportError: If it is not installed.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError('text needs the package tokenizers: pip install "tammes[text]"') from error
    return tokenizers


def _tokenizer(ids: dict[str, int], lowercase: bool) -> "Tokenizer":
    tokenizers = import_tokenizers()
    normalizers = tokenizers.normalizers
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token=UNKNOWN))
    steps = [normalizers.NFC(), normalizers.Lowercase()] if lowercase else [normalizers.NFC()]
    tokenizer.normalizer = normalizers.Sequence(steps)
    # "invert": a match is a token; the rest, which is space, is removed.
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split(
        tokenizers.Regex(TOKEN), behavior="removed", invert=True
    )
    return tokenizer


def _emptied(tokenizer: "Tokenizer", sentences: Sequence[str], minimum_count: int) -> str:
    counts: Counter[str] = Counter()
    for sentence in sentences:
        text = tokenizer.normalizer.normalize_str(sentence)
        counts.update(token for token, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))
    if not counts:
        return f"expected sentences with words, got {len(sentences)} sentences without any"
    word, times = counts.most_common(1)[0]
    return (
        f"expected words that occur at least {minimum_count} times, but none does in {len(sentences)} "
        f"sentences (the most frequent, {word!r}, occurs {times} times); choose a minimum_count of at most "
        f"{times}"
    )
