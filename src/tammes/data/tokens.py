"""Tokenized sentences: all ids in one flat tensor, with the offset of each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Tokens:
    """Token ids of n sentences: sentence i is `ids[offsets[i] : offsets[i + 1]]`.

    One flat tensor instead of a padded rectangle: no memory or time goes into padding, and
    `torch.nn.EmbeddingBag` reads this layout.

    Args:
        ids: (total,) token ids, each 0 or more.
        offsets: (n + 1,) offsets from 0 to `total`, never decreasing.

    Raises:
        ValueError: If the type, shape, range or device of the two do not match.

    Example:
        >>> tokens = Tokens(torch.tensor([5, 6, 7, 8]), torch.tensor([0, 3, 4]))
        >>> tokens
        Tokens(2 sentences, 4 tokens)
        >>> tokens.take(torch.tensor([1, 0])).ids
        tensor([8, 5, 6, 7])
    """

    ids: Int64[Tensor, " total"]
    offsets: Int64[Tensor, " n_plus_one"]

    def __post_init__(self) -> None:
        for name, value in (("ids", self.ids), ("offsets", self.offsets)):
            if value.dtype != torch.int64 or value.ndim != 1:
                got = f"{value.dtype} {tuple(value.shape)}"
                raise ValueError(f"expected {name} as int64 in one dimension, got {got}")
        if self.ids.device != self.offsets.device:
            devices = f"{self.ids.device} and {self.offsets.device}"
            raise ValueError(f"expected ids and offsets on one device, got {devices}")
        if len(self.offsets) == 0:
            raise ValueError("expected offsets (n + 1,), starting with 0, got none")
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first != 0 or last != len(self.ids) or bool((self.offsets.diff() < 0).any()):
            raise ValueError(
                f"expected offsets that rise from 0 to the number of ids, {len(self.ids)}; "
                f"got offsets from {first} to {last}"
            )
        if len(self.ids) and int(self.ids.min()) < 0:
            raise ValueError(f"expected ids of 0 or more, got {int(self.ids.min())}")

    @property
    def lengths(self) -> Int64[Tensor, " n"]:
        """Number of tokens in each sentence."""
        return self.offsets.diff()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, rows: Int64[Tensor, " rows"]) -> "Tokens":
        """Return the sentences in these rows, each from 0 to n - 1, in this order."""
        starts = self.offsets[:-1][rows]
        lengths = self.lengths[rows]
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        # A token's place within its sentence is the same before and after, so one shift for each sentence
        # maps its new tokens to its old ones.
        shifts = (starts - offsets[:-1]).repeat_interleave(lengths)
        return Tokens(self.ids[torch.arange(len(shifts), device=rows.device) + shifts], offsets)

    def cut(self, longest: int) -> "Tokens":
        """Return the first `longest` tokens of each sentence.

        Example:
            >>> Tokens(torch.tensor([5, 6, 7, 8]), torch.tensor([0, 3, 4])).cut(2).ids
            tensor([5, 6, 8])
        """
        lengths = self.lengths
        if len(self) == 0 or int(lengths.max()) <= longest:
            return self
        place = torch.arange(len(self.ids), device=lengths.device)
        place -= self.offsets[:-1].repeat_interleave(lengths)
        offsets = torch.nn.functional.pad(lengths.clamp(max=longest).cumsum(0), (1, 0))
        return Tokens(self.ids[place < longest], offsets)

    @staticmethod
    def cat(parts: Sequence["Tokens"]) -> "Tokens":
        """Concatenate the sentences of at least one part."""
        lengths = torch.cat([part.lengths for part in parts])
        offsets = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
        return Tokens(torch.cat([part.ids for part in parts]), offsets)

    def padded(self, padding: int = -1) -> Int64[Tensor, "n longest"]:
        """Return a row for each sentence, filled up with `padding` to the length of the longest.

        Example:
            >>> Tokens(torch.tensor([5, 6, 7]), torch.tensor([0, 2, 3])).padded()
            tensor([[ 5,  6],
                    [ 7, -1]])
        """
        lengths = self.lengths
        longest = int(lengths.max()) if len(self) else 0
        rows = self.ids.new_full((len(self), longest), padding)
        rows[torch.arange(longest, device=rows.device) < lengths[:, None]] = self.ids
        return rows

    @staticmethod
    def of_padded(rows: Int64[Tensor, "n longest"]) -> "Tokens":
        """Return the sentences of such rows, whose padding is negative."""
        is_token = rows >= 0
        return Tokens(rows[is_token], torch.nn.functional.pad(is_token.sum(dim=1).cumsum(0), (1, 0)))

    def to(self, device: torch.device | str) -> "Tokens":
        """Return the same sentences on another device."""
        return Tokens(self.ids.to(device), self.offsets.to(device))

    def __repr__(self) -> str:
        return f"Tokens({len(self)} sentences, {len(self.ids)} tokens)"
