"""Pairs: which rows are compared with which. Sources make them, objectives evaluate them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from tammes.group import Group, Single
from tammes.positive_pairs import PairCounts, PositivePairs, Runs, remedy, without_positive
from tammes.traced import is_traced


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Anchors that remain of a larger number.

    Attributes:
        rows: `(n,)` row that each had before.
        total: number of anchors before.
    """

    rows: Int[Tensor, " n"]
    total: int


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Anchors, the candidates they are compared with, and the ids that identify positives.

    Candidate j is a positive of anchor i where their ids are equal, or differ by at most `window`: ids that
    number sentences in reading order make the sentences around an anchor its positives. Where the
    anchors are themselves the candidates (`candidates=None`, the usual batch of several views), or stand
    among them (`own`), an anchor is neither its own positive nor its own negative.

    Args:
        anchors: `(n, d)` embeddings, floating point.
        ids: `(n,)` integers; rows that show the same thing share an id (two views of one image).
        candidates: `(m, d)` embeddings, or None where the anchors are the candidates.
        candidate_ids: `(m,)` integers; required with `candidates`, and only then.
        labels: `(n,)` integer classes for selections that need them, or None.
        candidate_labels: `(m,)` integer classes of the candidates.
        own: `(n,)` column of each anchor among the candidates, no two in the same place; None where the
            anchors are the candidates, or no anchor is one.
        group: the processes whose losses are averaged, each with its own anchors.
        first: number of anchors that other processes have before these, where `own` does not tell.
        views: number of views that were stacked to make the anchors; used to name a row in an error.
        kept: the anchors' rows before those without a positive were left out; None for all.
        candidates_are_anchors: whether every candidate is an anchor of some process, which checks it.
        reverse: pairs in the other direction (documents as anchors); an objective takes the mean of both
            losses.
        window: largest difference of the ids of an anchor and its positive, 0 or more.
        counts: numbers of positive pairs, where the source has read them already.

    Attributes:
        is_aligned: whether candidate i is known to be the only positive of anchor i; see `aligned`.

    Raises:
        ValueError: shapes or types that do not fit together.

    Example:
        >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([0, 1, 0, 1]))
        >>> pairs.positives().candidate.tolist()
        [2, 3, 0, 1]
    """

    anchors: Float[Tensor, "n d"]
    ids: Integer[Tensor, " n"]
    candidates: Float[Tensor, "m d"] | None = None
    candidate_ids: Integer[Tensor, " m"] | None = None
    labels: Integer[Tensor, " n"] | None = None
    candidate_labels: Integer[Tensor, " m"] | None = None
    own: Int[Tensor, " n"] | None = None
    group: Group = field(default_factory=Single)
    first: int = 0
    views: int = 1
    kept: Kept | None = None
    candidates_are_anchors: bool = False
    reverse: Pairs | None = None
    window: int = 0
    counts: PairCounts | None = None
    is_aligned: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _check_rows("anchors", self.anchors, self.ids, self.labels)
        if self.candidates is not None and self.candidate_ids is not None:
            _check_rows("candidates", self.candidates, self.candidate_ids, self.candidate_labels)
        for name in ("ids", "candidate_ids", "labels", "candidate_labels"):
            numbers = vars(self)[name]
            if isinstance(numbers, Tensor) and not numbers.is_floating_point():
                object.__setattr__(self, name, numbers.long())  # narrower types lack operations
        if self.candidates is None:
            if any(each is not None for each in (self.candidate_ids, self.candidate_labels, self.own)):
                raise ValueError("candidate_ids, candidate_labels or own came without candidates")
            return
        if self.candidate_ids is None:
            raise ValueError("candidates came without candidate_ids, which say whose positives they are")
        if (self.labels is None) != (self.candidate_labels is None):
            raise ValueError("labels must be given for the anchors and the candidates, or for neither")
        if self.anchors.shape[1] != self.candidates.shape[1]:
            raise ValueError(
                f"anchors have dimension {self.anchors.shape[1]}, candidates {self.candidates.shape[1]}: "
                "both must come from the same space"
            )
        if (self.anchors.dtype == torch.float64) != (self.candidates.dtype == torch.float64):
            raise ValueError(
                f"anchors are {self.anchors.dtype}, candidates {self.candidates.dtype}: expected "
                "torch.float64 on both sides, or on neither"
            )
        if self.own is not None:
            _check_own(self.own, self.ids, self.candidate_ids)

    @classmethod
    def aligned(
        cls,
        anchors: Float[Tensor, "n d"],
        candidates: Float[Tensor, "m d"],
        *,
        labels: Integer[Tensor, " n"] | None = None,
        candidate_labels: Integer[Tensor, " m"] | None = None,
        reverse: Pairs | None = None,
    ) -> Pairs:
        """Return pairs in which candidate i is the only positive of anchor i.

        Nothing has to be read from ids then, so that a compiled step can hold the loss; so do not write to
        the ids of these pairs.

        Args:
            anchors: `(n, d)` embeddings, floating point.
            candidates: `(m, d)` embeddings, m at least n; those after the n-th are negatives of all.
            labels: `(n,)` integer classes of the anchors, or None.
            candidate_labels: `(m,)` integer classes of the candidates, or None.
            reverse: pairs in the other direction, or None.

        Raises:
            ValueError: no anchors, fewer candidates than anchors, or shapes or types that do not fit
                together.

        Example:
            >>> queries, documents = torch.eye(4), torch.eye(4)
            >>> Pairs.aligned(queries, documents).positives().candidate.tolist()
            [0, 1, 2, 3]
        """
        if len(anchors) == 0:
            raise ValueError("expected at least one anchor, got 0")
        if len(candidates) < len(anchors):
            raise ValueError(
                f"expected a candidate for each of the {len(anchors)} anchors, got {len(candidates)}"
            )
        ids = torch.arange(len(candidates), device=anchors.device)
        pairs = cls(
            anchors=anchors,
            ids=ids[: len(anchors)],
            candidates=candidates,
            candidate_ids=ids,
            labels=labels,
            candidate_labels=candidate_labels,
            group=Single(),  # given, since torch's compiler cannot trace the default
            reverse=reverse,
        )
        object.__setattr__(pairs, "is_aligned", True)
        return pairs

    @property
    def ids_of_candidates(self) -> Int[Tensor, " m"]:
        """`(m,)` ids in the order of the candidates."""
        return self.ids if self.candidate_ids is None else self.candidate_ids

    @property
    def labels_of_candidates(self) -> Int[Tensor, " m"] | None:
        """`(m,)` labels in the order of the candidates, or None."""
        return self.labels if self.candidates is None else self.candidate_labels

    @property
    def numbers(self) -> Int[Tensor, " n"]:
        """`(n,)` numbers of the anchors, unique over all processes: each seeds its own random subset."""
        if self.own is not None:
            return self.own
        if self.kept is not None:
            return self.first + self.kept.rows
        return torch.arange(self.first, self.first + len(self.ids), device=self.ids.device)

    def row_name(self, row: int) -> str:
        """Return the name of anchor `row` for an error message: its row in its view.

        Example:
            >>> Pairs(anchors=torch.eye(4), ids=torch.tensor([0, 1, 0, 1]), views=2).row_name(3)
            'row 1 of view 1'
        """
        return self.row_names(row)

    @property
    def row_names(self) -> Callable[[int], str]:
        """`row_name` as a function that holds no embeddings."""
        kept, views = self.kept, self.views
        per_view = (len(self.anchors) if kept is None else kept.total) // views

        def name(row: int) -> str:
            row = row if kept is None else int(kept.rows[row])
            return f"row {row}" if views == 1 else f"row {row % per_view} of view {row // per_view}"

        return name

    def positives(self) -> PositivePairs:
        """Return all pairs of equal id, or of ids within the window, except a row with itself.

        Raises:
            ValueError: an anchor has no positive.
        """
        runs = Runs.of(self.ids, self.ids_of_candidates, self._places, window=self.window)
        counts = PairCounts.read(runs)
        if counts.fewest < 1:
            raise without_positive(
                runs.positives,
                self.ids,
                self.row_name,
                labeled=self.labels is not None,
                window=self.window,
            )
        return runs.listed(counts.total)

    def with_positives(self) -> Pairs:
        """Return these pairs without the anchors that have no positive; they remain candidates.

        Raises:
            ValueError: no anchor has a positive.

        Example:
            >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([0, 1, 0, 2])).with_positives()
            >>> pairs.ids.tolist(), pairs.ids_of_candidates.tolist()
            ([0, 0], [0, 1, 0, 2])
        """
        runs = Runs.of(self.ids, self.ids_of_candidates, self._places, window=self.window)
        has_positive = runs.positives > 0
        number = int(has_positive.sum())
        if number == len(self.ids):
            return self
        if number == 0:
            leaves = "there is" if self.window else "without_positive='skip' leaves"
            raise ValueError(
                f"none of the {len(self.ids)} anchors has a positive, so {leaves} nothing to learn from: "
                f"{remedy(labeled=self.labels is not None, window=self.window)}"
            )
        rows = torch.sort(has_positive.logical_not(), stable=True).indices[:number]
        return replace(
            self,
            anchors=self.anchors[rows],
            ids=self.ids[rows],
            labels=None if self.labels is None else self.labels[rows],
            candidates=self.anchors if self.candidates is None else self.candidates,
            candidate_ids=self.ids_of_candidates,
            candidate_labels=self.labels_of_candidates,
            own=None if self._places is None else self._places[rows],
            kept=Kept(rows=rows, total=len(self.ids)),
            candidates_are_anchors=False,
            counts=None,
        )

    def with_rows(self, change: Callable[[Tensor], Tensor]) -> Pairs:
        """Return the same pairs of other embeddings, in both directions.

        Args:
            change: function from embeddings, of anchors or candidates, to those in their place.

        Example:
            >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([0, 1, 0, 1]))
            >>> pairs.with_rows(lambda rows: rows[:, :2]).anchors.shape
            torch.Size([4, 2])
        """
        changed = replace(
            self,
            anchors=change(self.anchors),
            candidates=None if self.candidates is None else change(self.candidates),
            reverse=None if self.reverse is None else self.reverse.with_rows(change),
        )
        object.__setattr__(changed, "is_aligned", self.is_aligned)
        return changed

    def with_candidates(self) -> Pairs:
        """Return the same pairs with the anchors as explicit candidates, if they have no others.

        Raises:
            ValueError: pairs in both directions, whose anchors differ.

        Example:
            >>> pairs = Pairs(anchors=torch.eye(4), ids=torch.tensor([0, 1, 0, 1])).with_candidates()
            >>> pairs.positives().candidate.tolist()
            [2, 3, 0, 1]
        """
        if self.reverse is not None:
            raise ValueError(
                "a temperature for each anchor came with pairs in both directions, whose anchors differ: "
                "make the pairs of each direction by themselves, and average the two losses"
            )
        if self.candidates is not None:
            return self
        return replace(
            self,
            candidates=self.anchors,
            candidate_ids=self.ids,
            candidate_labels=self.labels,
            own=self._places,
            candidates_are_anchors=True,
        )

    @property
    def _places(self) -> Int[Tensor, " n"] | None:
        """`(n,)` column of each anchor itself; None where no anchor is a candidate."""
        return torch.arange(len(self.ids), device=self.ids.device) if self.candidates is None else self.own


def _check_own(own: Tensor, ids: Tensor, candidate_ids: Tensor) -> None:
    """Refuse places that are not those of the anchors; what they hold is read on a CPU alone."""
    wrong = f"{own.dtype} of shape {tuple(own.shape)}"
    if own.shape == ids.shape and own.dtype == torch.int64:
        if own.device.type != "cpu" or not len(own) or is_traced():
            return
        places = own.unique()
        if len(places) == len(own) and 0 <= int(places[0]) <= int(places[-1]) < len(candidate_ids):
            if torch.equal(candidate_ids[own], ids):
                return
            wrong = f"that of another id for anchor {int((candidate_ids[own] != ids).nonzero()[0])}"
        else:
            wrong = f"a place twice, or beyond {len(candidate_ids)} candidates"
    raise ValueError(f"own must name the place of each of {len(ids)} anchors in the candidates: got {wrong}")


def _check_rows(name: str, rows: Tensor, ids: Tensor, labels: Tensor | None) -> None:
    for what, given in ((name, rows), ("ids", ids), ("labels", labels)):
        if not isinstance(given, Tensor) and not (given is None and what == "labels"):
            raise ValueError(f"{what} must be a tensor, got {type(given).__name__}")
    if rows.is_meta or rows.layout != torch.strided:
        raise ValueError(f"{name} must be dense and hold numbers, got {rows.layout} on {rows.device}")
    if rows.ndim != 2 or rows.shape[1] == 0 or not rows.is_floating_point():
        raise ValueError(
            f"{name} must be a floating-point matrix (rows, dimension) of at least one dimension; "
            f"got shape {tuple(rows.shape)} of {rows.dtype}"
        )
    for what, numbers in (("ids", ids), ("labels", labels)):
        if numbers is None:
            continue
        if numbers.shape != rows.shape[:1]:
            raise ValueError(
                f"{what} must name each of the {len(rows)} {name} once: got shape {tuple(numbers.shape)}"
            )
        if numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool:
            raise ValueError(f"{what} must be integers, got {numbers.dtype}")
