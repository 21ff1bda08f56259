"""The tokenizer of a pretrained model, as one file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tammes.checks import check_integer
from tammes.data.tokens import Tokens
from tammes.data.vocabulary import import_tokenizers, tokenize

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True, repr=False)
class ModelTokenizer:
    """Tokenizer that belongs to a model: it has its ids, and adds the special tokens that the model expects.

    Args:
        file: content of tokenizer.json, the format of the package tokenizers.
        padding: id of the token that fills up the shorter sentences of a batch.
        max_length: tokens of the longest sentence, special tokens included; the rest is cut off.

    Raises:
        ValueError: If the file is no tokenizer, the id is none of its tokens, or there is no room for a word.
        ImportError: If `tokenizers` is not installed.

    Example:
        >>> from tammes.data import Vocabulary
        >>> words = Vocabulary(words=("[UNK]", "a", "cat", "sat"))
        >>> tokenizer = ModelTokenizer(file=words.tokenizer.to_str(), padding=0, max_length=2)
        >>> tokenizer.encode(["a cat sat", "sat"])
        Tokens(2 sentences, 3 tokens)
    """

    file: str
    padding: int
    max_length: int

    def __post_init__(self) -> None:
        check_integer("padding", self.padding, minimum=0)
        check_integer("max_length", self.max_length)
        special = self.tokenizer.num_special_tokens_to_add(False)
        if self.max_length <= special:
            raise ValueError(
                f"max_length must leave room for words beside the {special} special tokens of a sentence, "
                f"got {self.max_length}"
            )
        if self.padding > self.largest_id:
            raise ValueError(f"padding must be one of the ids up to {self.largest_id}, got {self.padding}")

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The `tokenizers.Tokenizer`, which cuts long sentences off and pads none."""
        tokenizers = import_tokenizers()
        try:
            tokenizer: Tokenizer = tokenizers.Tokenizer.from_str(self.file)
        except Exception as error:  # the package raises nothing more particular
            raise ValueError(f"expected a tokenizer as JSON: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_length)
        return tokenizer

    @property
    def largest_id(self) -> int:
        """Largest id of a token; ids may have gaps."""
        return max(self.tokenizer.get_vocab().values(), default=-1)

    def encode(self, sentences: Sequence[str]) -> Tokens:
        """Return the token ids of each sentence.

        Raises:
            ValueError: If a sentence has no token, that is, if it is blank.
        """
        return tokenize(self.tokenizer, sentences, special_tokens=True)

    def count_cut(self, sentences: Sequence[str], tokens: Tokens) -> int:
        """Return how many of the sentences are longer than `max_length`.

        Args:
            sentences: the sentences.
            tokens: what `encode` made of them.
        """
        lengths = tokens.lengths.tolist()
        full = [each for each, length in zip(sentences, lengths, strict=True) if length == self.max_length]
        return sum(bool(encoding.overflowing) for encoding in self.tokenizer.encode_batch_fast(full))

    def to_plain(self) -> dict[str, str | int]:
        """Return the fields, for JSON."""
        return {"file": self.file, "padding": self.padding, "max_length": self.max_length}

    @staticmethod
    def of_plain(fields: Any) -> ModelTokenizer:
        """Return the tokenizer with these fields.

        Raises:
            ValueError: If they are something else.
        """
        if not isinstance(fields, dict) or set(fields) != {"file", "padding", "max_length"}:
            raise ValueError("expected a tokenizer with file, padding and max_length")
        if not isinstance(fields["file"], str):
            raise ValueError("expected the file of a tokenizer as a string")
        return ModelTokenizer(**fields)

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    def __repr__(self) -> str:
        return f"ModelTokenizer({len(self)} tokens, sentences of at most {self.max_length})"
