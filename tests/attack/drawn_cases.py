"""Hypothesis strategies: any legal objective, on embeddings of any kind, from any source."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st
from torch import Tensor

import tammes
from tammes import Objective, Pairs
from tammes.contrast import BCL, Contrast, Hinge, InfoNCE, Logistic, Sigmoid, Softplus, SupCon, Triplet
from tammes.coupling import Coupling
from tammes.selection import Selection
from tammes.sources import InBatch, Queue

SOURCES = ("two views", "views", "ids", "labels", "pairs", "one-way", "own", "queue")
KINDS = ("random", "learned", "duplicates", "equal", "orthogonal", "opposite", "integers", "uneven")
TYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
EXTREMES = (1e-30, 1e-6, 1e6, 1e30)
SEED = 5  # of the random subsets


@dataclass(frozen=True, kw_only=True)
class Case:
    """An objective, the embeddings of a batch, and how they become its input.

    Args:
        objective: a legal objective.
        leaves: the embeddings, in float64, each a number of type `dtype`.
        dtype: type in which they are given.
        source: one of SOURCES.
        ids: `(rows,)` ids, or None for those of the source.
        labels: `(rows,)` labels, or None.
        own: `(n,)` rows of the candidates that are anchors; for the source "own".
        queue: a filled queue in evaluation mode; for the source "queue".
        learned: a learned temperature, or None.
    """

    objective: Objective
    leaves: tuple[Tensor, ...]
    dtype: torch.dtype
    source: str
    ids: Tensor | None
    labels: Tensor | None
    own: Tensor | None
    queue: Queue | None
    learned: float | None

    @property
    def draws(self) -> bool:
        """Whether a random subset is drawn."""
        return self.objective.selection.subset_size is not None

    def generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(SEED)

    def pairs(self, leaves: tuple[Tensor, ...]) -> Pairs:
        """The pairs that the objective evaluates, in the order of the caller."""
        ids, labels = self.ids, self.labels
        if self.source == "queue":
            assert self.queue is not None
            return self.queue(*leaves, ids=ids, labels=labels)
        if self.source == "one-way":
            assert ids is not None
            split = len(leaves[0])
            return Pairs(
                anchors=leaves[0],
                ids=ids[:split],
                labels=None if labels is None else labels[:split],
                candidates=leaves[1],
                candidate_ids=ids[split:],
                candidate_labels=None if labels is None else labels[split:],
            )
        if self.source == "own":
            assert ids is not None
            assert self.own is not None
            return Pairs(
                anchors=leaves[0][self.own],
                ids=ids[self.own],
                labels=None if labels is None else labels[self.own],
                candidates=leaves[0],
                candidate_ids=ids,
                candidate_labels=labels,
                own=self.own,
            )
        return InBatch()(*leaves, ids=ids, labels=labels)

    def loss(
        self, leaves: tuple[Tensor, ...], *, objective: Objective | None = None, learned: Tensor | None = None
    ) -> Tensor:
        """The loss as a caller asks for it: of views where they are views, else of pairs."""
        given = objective or self.objective
        if isinstance(given.coupling, tammes.Transport):
            # A copy has no warm start, which would make the loss depend on the calls before.
            given = replace(given, coupling=replace(given.coupling))
        if self.source in ("two views", "views", "ids", "labels"):
            return given(
                *leaves, ids=self.ids, labels=self.labels, generator=self.generator(), temperature=learned
            )
        return given(self.pairs(leaves), generator=self.generator(), temperature=learned)

    def __repr__(self) -> str:
        shapes = ", ".join(str(tuple(each.shape)) for each in self.leaves)
        numbers = "; ".join(str(each.tolist()) for each in self.leaves) if self._is_short else "..."
        return (
            f"Case({self.objective!r}, {self.source}, {shapes}, {self.dtype}, learned={self.learned}, "
            f"ids={_listed(self.ids)}, labels={_listed(self.labels)}, own={_listed(self.own)}, "
            f"queue={self.queue}, rows={numbers})"
        )

    @property
    def _is_short(self) -> bool:
        return sum(each.numel() for each in self.leaves) <= 40


def _listed(numbers: Tensor | None) -> list[int] | None:
    return None if numbers is None else numbers.tolist()


def positive_numbers(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers that are even on a logarithmic scale; one in about eight is extreme."""
    even = st.floats(math.log10(low), math.log10(high)).map(lambda power: float(f"{10**power:.3g}"))
    return st.one_of(*[even] * 7, st.sampled_from(EXTREMES))


def _quartic(similarity: Tensor) -> Tensor:
    return (1 - similarity) ** 4


COSTS = st.one_of(
    st.just(tammes.SquaredEuclidean()),
    st.floats(-3, 3).map(lambda kappa: tammes.ExponentialEuclidean(kappa=kappa)),
    st.sampled_from([-100.0, 100.0]).map(lambda kappa: tammes.ExponentialEuclidean(kappa=kappa)),
    st.just(_quartic),
)
TRANSPORTS = st.builds(
    tammes.Transport,
    epsilon=positive_numbers(0.02, 10),
    cost=COSTS,
    constrained=st.sampled_from([True, True, False]),
    max_iterations=st.sampled_from([1, 40, 40]),
    warm_start=st.booleans(),
)
HARDS = st.builds(
    tammes.Hard,
    beta=st.one_of(st.just(0.0), positive_numbers(0.1, 30)),
    detach=st.booleans(),
    clip=st.one_of(st.none(), st.none(), positive_numbers(0.1, 10), st.just(math.inf)),
)
CONTRASTS: st.SearchStrategy[Contrast] = st.one_of(
    st.builds(
        lambda weight, limit: InfoNCE(weight=None if limit else weight, limit=limit),
        st.one_of(st.none(), positive_numbers(0.1, 100)),
        st.booleans(),
    ),
    st.builds(Logistic, weight=st.one_of(st.none(), positive_numbers(0.1, 100))),
    st.just(BCL()),
    st.just(Softplus()),
    st.builds(
        SupCon,
        average=st.sampled_from(["outside", "inside"]),
        weight=st.one_of(st.none(), positive_numbers(0.1, 100)),
    ),
    st.builds(
        Sigmoid,
        bias=st.one_of(st.floats(-20, 20), st.sampled_from([0.0, 1e4, -1e4])),
        weight=st.one_of(st.none(), positive_numbers(0.1, 100)),
    ),
    st.builds(Triplet, margin=positive_numbers(0.1, 10)),
    st.builds(Hinge, margin=positive_numbers(0.1, 10)),
)
PERTURBATIONS = st.builds(
    tammes.FeatureModification,
    epsilon=st.one_of(st.just(0.0), positive_numbers(0.01, 1)),
    alpha=st.one_of(st.just(0.0), positive_numbers(0.1, 10)),
)


@st.composite
def objectives(draw: st.DrawFn, *, has_labels: bool) -> Objective:
    """Any combination of parts that the constructor accepts."""
    contrast = draw(CONTRASTS)
    coupling: Coupling = tammes.Uniform()
    if contrast.weighs:
        coupling = draw(st.one_of(st.just(coupling), HARDS, TRANSPORTS))
    selection: Selection = tammes.All()
    if has_labels and draw(st.booleans()):
        selection = tammes.OtherLabels()
    removes = selection.removes_false_negatives
    if draw(st.integers(0, 2)) == 0:
        selection = tammes.Subset(k=draw(st.integers(1, 4)), among=selection)
    correction = None
    if contrast.debiasable and not removes and draw(st.booleans()):
        unbounded = [] if contrast.log_domain else [-math.inf]
        correction = tammes.Debias(
            class_prior=draw(st.sampled_from([0.0, 0.1, 0.5, 0.99])),
            least_similarity=draw(st.sampled_from([-1.0, -1.0, -1e3, 0.5, *unbounded])),
        )
    return Objective(
        temperature=draw(positive_numbers(0.02, 5)),
        coupling=coupling,
        selection=selection,
        correction=correction,
        perturbation=draw(st.one_of(st.none(), PERTURBATIONS)) if contrast.falls_with_positives else None,
        contrast=contrast,
        normalize=draw(st.sampled_from([True, True, False])),
    )


@st.composite
def rows_of(draw: st.DrawFn, count: int, dim: int) -> Tensor:
    """A float64 matrix (count, dim) of one of KINDS, of any scale."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    rows = torch.randn(count, dim, generator=generator, dtype=torch.float64)
    kind = draw(st.sampled_from(KINDS))
    half = count // 2
    if kind == "learned":
        rows[half:] = rows[: count - half] + 0.05 * rows[half:]
    elif kind == "duplicates":
        rows = rows[torch.randint(0, max(1, half), (count,), generator=generator)]
    elif kind == "equal":
        rows[:] = rows[0].clone()
    elif kind == "orthogonal":
        rows = torch.eye(dim, dtype=torch.float64)[torch.arange(count) % dim]
    elif kind == "opposite":
        rows[half:] = -rows[: count - half]
    elif kind == "integers":
        rows = torch.randint(-1, 2, (count, dim), generator=generator).double()
        rows[:, 0] += (rows == 0).all(dim=1)
    elif kind == "uneven":
        rows *= 10 ** (6 * torch.rand(count, 1, generator=generator, dtype=torch.float64) - 3)
    return rows * draw(st.sampled_from([1.0, 1.0, 1.0, 1e-3, 1e3, 1e-8, 1e-14]))


@st.composite
def cases(draw: st.DrawFn, *, types: tuple[torch.dtype, ...] = TYPES) -> Case:
    """Any legal case; most of them small."""
    source, dtype = draw(st.sampled_from(SOURCES)), draw(st.sampled_from(types))
    dim = draw(st.integers(1, 6))
    batch = draw(st.one_of(st.integers(2, 9), st.integers(2, 9), st.integers(10, 24)))
    has_labels = source == "labels" or (source not in ("two views", "views", "ids") and draw(st.booleans()))
    sizes = _sizes(draw, source, batch)
    ids, labels, own = _numbers(draw, source, batch, sizes, has_labels)
    given = draw(rows_of(sum(sizes), dim)).to(dtype)
    leaves = given.double().split(sizes)
    queue = None
    if source == "queue":
        queue = _queue(draw, dim, dtype, has_ids=ids is not None, has_labels=has_labels)
    objective = draw(objectives(has_labels=has_labels))
    learned = objective.temperature if draw(st.integers(0, 3)) == 0 else None
    return Case(
        objective=objective,
        leaves=leaves,
        dtype=dtype,
        source=source,
        ids=ids,
        labels=labels,
        own=own,
        queue=queue,
        learned=learned,
    )


def _sizes(draw: st.DrawFn, source: str, batch: int) -> list[int]:
    """The number of rows of each leaf."""
    if source == "views":
        return [batch] * draw(st.integers(3, 4))
    if source == "pairs":
        return [2 * batch]
    if source == "one-way":
        return [batch, batch + draw(st.integers(0, 4))]
    if source == "own":
        return [2 * batch]
    return [batch, batch]


def _numbers(
    draw: st.DrawFn, source: str, batch: int, sizes: list[int], has_labels: bool
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Ids, labels and own columns; every anchor has a positive, and nearly always a negative."""
    shuffle: Callable[[list[int]], list[int]] = lambda numbers: draw(st.permutations(numbers))  # noqa: E731
    few = max(2, draw(st.integers(2, batch)))  # different ids
    each = [i % few for i in range(batch)]
    ids: list[int] | None = None
    if source in ("ids", "pairs", "own") or (source in ("labels", "queue") and draw(st.booleans())):
        ids = shuffle(each) if draw(st.booleans()) else shuffle(list(range(batch)))
    if source in ("pairs", "own"):
        assert ids is not None
        ids = [*ids, *shuffle(ids)]
    if source == "one-way":
        ids = list(range(batch)) if draw(st.booleans()) else shuffle(each)
        ids = [*ids, *ids, *[draw(st.integers(0, batch)) for _ in range(sizes[1] - batch)]]
    labels = None
    if has_labels:
        # The label is a function of the id, so that rows that share one share the other.
        per_row = ids or list(range(batch))
        labels = torch.tensor([number % 2 for number in per_row])
    own = None
    if source == "own":
        own = torch.tensor(shuffle(list(range(2 * batch)))[: draw(st.integers(1, 2 * batch))])
    return None if ids is None else torch.tensor(ids), labels, own


def _queue(draw: st.DrawFn, dim: int, dtype: torch.dtype, *, has_ids: bool, has_labels: bool) -> Queue:
    """A queue that has seen up to two batches."""
    queue = Queue(
        size=draw(st.integers(1, 6)),
        dim=dim,
        dtype=dtype,
        wait_until_full=draw(st.booleans()),
        stale_positives=draw(st.booleans()),
    )
    for first in range(0, 4 * draw(st.integers(0, 2)), 4):
        keys = draw(rows_of(4, dim))
        # Of length one, since keys too small for their type are refused.
        keys = (keys / torch.linalg.vector_norm(keys, dim=1, keepdim=True)).to(dtype)
        ids = torch.arange(first, first + 4)
        queue(keys, keys, ids=ids if has_ids else None, labels=ids % 2 if has_labels else None)
    return queue.eval()


def permuted(case: Case, draw_order: Callable[[int], Tensor]) -> tuple[Case, Tensor]:
    """The case with the rows of its batch in another order and, where ids are free, under other ids.

    Returns:
        The case, and for each row of all its leaves the row that it was before.
    """
    ids, labels, own = case.ids, case.labels, case.own
    sizes = [len(leaf) for leaf in case.leaves]
    if case.source == "one-way":
        orders = [draw_order(size) for size in sizes]
        order = torch.cat([orders[0], sizes[0] + orders[1]])  # of ids and labels, both sides in turn
    else:
        order = draw_order(sizes[0])
        orders = [order] * len(sizes)
    if case.source != "queue":  # stored keys have ids of their own
        names = torch.arange(sum(sizes)) if ids is None else ids
        names = draw_order(int(names.max()) + 1)[names]
        ids = names[: sizes[0]] if ids is None else names
    if own is not None:
        own = torch.argsort(order)[own][draw_order(len(own))]
    moved = replace(
        case,
        leaves=tuple(leaf[each] for leaf, each in zip(case.leaves, orders, strict=True)),
        ids=None if ids is None else ids[order],
        labels=None if labels is None else labels[order],
        own=own,
    )
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return moved, torch.cat([start + each for start, each in zip(starts, orders, strict=True)])
