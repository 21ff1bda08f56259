"""Selections: which candidates may be negatives at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.pairs import Pairs
from tammes.positive_pairs import PositivePairs
from tammes.reduce import Guide, KeyRanges
from tammes.reduce.positives import pair_similarity


class Selection(ABC):
    """Rule for the negatives: candidates whose key differs from the anchor's, or k of them at random."""

    removes_false_negatives: ClassVar[bool] = False
    """Whether candidates of the anchor's class are left out."""
    keys_are_ids: ClassVar[bool] = False
    """Whether the keys are the ids, so that the layout of plain views is known."""

    @abstractmethod
    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        """Return the keys of the anchors and of the candidates."""

    @property
    def subset_size(self) -> int | None:
        """Number of negatives drawn for each anchor; None for all."""
        return None

    @property
    def guide_columns(self) -> int:
        """Number of columns at the end of each embedding that belong to a guide."""
        return 0

    def guided(
        self,
        anchors: Float[Tensor, "n e"],
        candidates: Float[Tensor, "m e"] | None,
        positives: PositivePairs,
        ranges: KeyRanges,
    ) -> Guide | None:
        """Return which candidates are no negatives by a similarity; None where the keys alone decide.

        Args:
            anchors: `(n, e)` the guide's embeddings of the anchors, or the anchors' own; without a graph.
            candidates: `(m, e)` likewise of the candidates; None where the candidates are the anchors.
            positives: the positive pairs.
            ranges: who may be a negative by the keys.
        """
        return None

    def seed(self, generator: torch.Generator | None) -> int:
        """Return a seed for the random subset, drawn from `generator`; 0 without a subset.

        Raises:
            ValueError: something other than a torch.Generator or None.
        """
        if not isinstance(generator, torch.Generator | None):
            raise ValueError(f"generator must be a torch.Generator or None, got {generator!r}")
        if self.subset_size is None:
            return 0
        device = None if generator is None else generator.device
        return int(torch.randint(2**62, (), generator=generator, device=device))


@dataclass(frozen=True, kw_only=True)
class All(Selection):
    """Every candidate but the anchor and its positives.

    Example:
        >>> All()
        All()
    """

    keys_are_ids: ClassVar[bool] = True

    @override
    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
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

    @override
    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
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
class NotAbove(Selection):
    """Candidates whose similarity to the anchor is clearly below that of the anchor's positive.

        j is a negative of i  where  g_ij <= g_i+ - margin |g_i+| ,

    with the cosines g of a guide, usually a trained model: candidates above are likely false negatives. Of
    several positives the most similar one counts. An anchor that would lose all its negatives keeps the
    least similar one. The mask has no gradient.

    Args:
        margin: share of the positive's similarity by which a negative must lie below it; from 0 to below 1.
        guide: number of columns at the end of each embedding that are the guide's, and not compared by the
            loss: `objective(torch.cat([z, g], dim=1), ...)`. With 0 the embeddings are their own guide, by
            the similarity that the loss compares.

    Raises:
        ValueError: a margin outside [0, 1), a negative number of columns; when used, more columns than the
            embeddings have.

    Source: Solatorio (2024), for a margin of zero; Moreira et al. (2024), where 1 - margin is the percentage
    of the positive's score.

    Example:
        >>> NotAbove(margin=0.05)
        NotAbove(margin=0.05, guide=0)
    """

    margin: float = 0.0
    guide: int = 0
    removes_false_negatives: ClassVar[bool] = True
    keys_are_ids: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("margin", self.margin, minimum=0, below=1)
        check_integer("guide", self.guide, minimum=0)

    @property
    @override
    def guide_columns(self) -> int:
        return self.guide

    @override
    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        return pairs.ids, pairs.ids_of_candidates

    @override
    def guided(
        self,
        anchors: Float[Tensor, "n e"],
        candidates: Float[Tensor, "m e"] | None,
        positives: PositivePairs,
        ranges: KeyRanges,
    ) -> Guide:
        with torch.no_grad():
            similarity = pair_similarity(anchors, candidates, positives.anchor, positives.candidate)
            nearest = similarity.new_full((len(anchors),), -torch.inf)
            nearest = nearest.scatter_reduce(0, positives.anchor, similarity, "amax")
            limit = nearest - self.margin * nearest.abs()
        return Guide.of(anchors, candidates, limit, ranges)


@dataclass(frozen=True, kw_only=True)
class Subset(Selection):
    """k negatives for each anchor, drawn without replacement, afresh at every call.

    Weights are normalized within the subset, and N (and Q) is k.

    Args:
        k: number of negatives, at least 1.
        among: the selection from which they are drawn: `All()` or `OtherLabels()`.

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
        check_integer("k", self.k)
        if not isinstance(self.among, All | OtherLabels):
            raise ValueError(f"a subset is drawn among All() or OtherLabels(), got among={self.among!r}")

    @property
    def removes_false_negatives(self) -> bool:  # type: ignore[override]
        """Whether the selection it is drawn from leaves out the anchor's class."""
        return self.among.removes_false_negatives

    @property
    def keys_are_ids(self) -> bool:  # type: ignore[override]
        """Whether the selection it is drawn from goes by ids."""
        return self.among.keys_are_ids

    @property
    @override
    def subset_size(self) -> int:
        return self.k

    @override
    def keys(self, pairs: Pairs) -> tuple[Int[Tensor, " n"], Int[Tensor, " m"]]:
        return self.among.keys(pairs)
