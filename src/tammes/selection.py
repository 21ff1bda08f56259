"""Selections: who may be a negative at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from tammes.pairs import Pairs


class Selection(ABC):
    """A candidate may be a negative of an anchor where their keys differ; of those, k may be drawn."""

    removes_false_negatives: ClassVar[bool] = False
    """Whether candidates of the anchor's class are left out."""

    @abstractmethod
    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        """The keys of the anchors and of the candidates."""

    @property
    def subset_size(self) -> int | None:
        """How many negatives are drawn for each anchor; None for all."""
        return None


@dataclass(frozen=True, kw_only=True)
class All(Selection):
    """Every candidate but the anchor and its positives.

    Example:
        >>> All()
        All()
    """

    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        """The ids."""
        return pairs.ids, pairs.ids_of_candidates


@dataclass(frozen=True, kw_only=True)
class OtherLabels(Selection):
    """Only candidates whose label differs from the anchor's: the oracle that knows the true negatives.

    Raises:
        ValueError: when used on pairs without labels, or where one id carries two labels.

    Example:
        >>> OtherLabels()
        OtherLabels()
    """

    removes_false_negatives: ClassVar[bool] = True

    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        """The labels."""
        labels = pairs.labels_of_candidates
        if pairs.labels is None or labels is None:
            raise ValueError("OtherLabels needs labels, and none came: pass labels= with the views")
        ids = torch.cat([pairs.ids, pairs.ids_of_candidates])
        both = torch.cat([pairs.labels, labels])
        order = torch.argsort(ids, stable=True)
        ids, both = ids[order], both[order]
        differs = (ids[1:] == ids[:-1]) & (both[1:] != both[:-1])
        if bool(differs.any()):
            at = int(differs.nonzero()[0])
            raise ValueError(
                f"id {int(ids[at])} occurs with the labels {int(both[at])} and {int(both[at + 1])}: "
                "rows that share an id are positives of each other and must share their label"
            )
        return pairs.labels, labels


@dataclass(frozen=True, kw_only=True)
class Subset(Selection):
    """k negatives for each anchor, drawn without replacement, afresh at every call.

    Args:
        k: how many, at least 1. Weights are normalized within them, and N (and Q) is k.
        among: from whom they are drawn: `All()` or `OtherLabels()`.

    Raises:
        ValueError: k below 1, or a subset of a subset; when used, k above what an anchor has.

    Source: Ash et al. (2022), sec. 4.

    Example:
        >>> Subset(k=256)
        Subset(k=256, among=All())
    """

    k: int
    among: All | OtherLabels = field(default_factory=All)

    def __post_init__(self) -> None:
        if not (isinstance(self.k, int) and not isinstance(self.k, bool) and self.k >= 1):
            raise ValueError(f"k must be an integer of at least 1 negative, got {self.k}")
        if not isinstance(self.among, All | OtherLabels):
            raise ValueError(f"a subset is drawn among All() or OtherLabels(), got among={self.among!r}")

    @property
    def removes_false_negatives(self) -> bool:  # type: ignore[override]
        """As the selection it is drawn from."""
        return self.among.removes_false_negatives

    @property
    def subset_size(self) -> int:
        """K."""
        return self.k

    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        """As the selection it is drawn from."""
        return self.among.keys(pairs)
