"""Processes without processes: threads that share a batch, so that the laws can be tried many times."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tammes import ExponentialEuclidean, Objective, Pairs, Subset, Transport, recipes
from tammes.group import Group, Single

T = TypeVar("T")


@dataclass(frozen=True)
class Threads(Group):
    """Threads of one process, of which this is one."""

    place: int
    shared: list[Tensor | str | None]
    barrier: threading.Barrier = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.shared)

    @property
    def rank(self) -> int:
        return self.place

    def every(self, value: Tensor | str) -> list[Tensor | str | None]:
        self.shared[self.place] = value
        self.barrier.wait()
        seen = list(self.shared)
        self.barrier.wait()
        return seen

    def sum(self, values: Tensor) -> Tensor:
        return torch.stack(self.every(values.detach())).sum(dim=0)

    def largest(self, values: Tensor) -> Tensor:
        return torch.stack(self.every(values.detach())).amax(dim=0)

    @contextmanager
    def failing_together(self, caller: object = "") -> Iterator[None]:
        failure = ""
        try:
            yield
        except ValueError as error:
            failure = str(error)
        messages = [f"{place}: {each}" for place, each in enumerate(self.every(failure)) if each]
        if messages:
            raise ValueError("; ".join(messages))


def in_threads(size: int, work: Callable[[Threads], T]) -> list[T]:
    """What each of `size` threads returns."""
    shared: list[Tensor | str | None] = [None] * size
    barrier = threading.Barrier(size, timeout=20)
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(lambda place: work(Threads(place, shared, barrier)), range(size)))


@st.composite
def shares(draw: st.DrawFn, most: int = 4) -> list[int]:
    """How many rows each of some processes has."""
    return draw(st.lists(st.integers(1, 5), min_size=2, max_size=most))


def splits(counts: list[int]) -> list[slice]:
    ends = torch.tensor(counts).cumsum(0).tolist()
    return [slice(end - count, end) for count, end in zip(counts, ends, strict=True)]


def part(whole: Pairs, rows: Tensor, group: Group) -> Pairs:
    """Some anchors of a batch against all of it."""
    return Pairs(
        anchors=whole.anchors[rows],
        ids=whole.ids[rows],
        candidates=whole.anchors,
        candidate_ids=whole.ids,
        labels=None if whole.labels is None else whole.labels[rows],
        candidate_labels=whole.labels,
        own=rows,
        candidates_are_anchors=True,
        group=group,
    )


def batch(count: int, seed: int) -> Pairs:
    """Two views of `count` rows, some of which share an id."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2 * count, 4, dtype=torch.float64, generator=generator).requires_grad_()
    ids = torch.randint(2 * count, (count,), generator=generator)
    ids[0], ids[-1] = 2 * count, 2 * count + 1  # at least two things
    return Pairs(anchors=z, ids=ids.repeat(2), labels=ids.repeat(2) % 3)


@pytest.mark.equal_bits
def test_one_process_is_its_own_group() -> None:
    group, values = Single(), torch.tensor([1.0, 3.0])
    assert group.size == 1
    assert torch.equal(group.sum(values), values)
    assert torch.equal(group.largest(values), values)
    assert torch.equal(group.log_sum_exp(values), values)
    with pytest.raises(ValueError, match="as it was"), group.failing_together():
        raise ValueError("as it was")


@pytest.mark.equal_bits
@given(counts=shares(), seed=st.integers(0, 99))
def test_the_average_of_the_gradients_is_the_gradient_of_the_mean(counts: list[int], seed: int) -> None:
    values = torch.randn(sum(counts), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    values.requires_grad_()

    def mean(group: Threads) -> tuple[Tensor, Tensor]:
        own = values[splits(counts)[group.place]]
        found = group.mean(own)
        return found, torch.autograd.grad(found, values)[0]

    found, gradients = zip(*in_threads(len(counts), mean), strict=True)
    assert all(torch.equal(each, found[0]) for each in found)
    torch.testing.assert_close(found[0], values.mean())
    average = torch.stack(gradients).mean(dim=0)
    torch.testing.assert_close(average, torch.full_like(average, 1 / len(average)))


def test_the_mean_keeps_the_type_and_counts_in_more_than_float32() -> None:
    found = in_threads(2, lambda group: group.mean(torch.ones(2**23 + group.place, dtype=torch.float32)))
    assert [each.dtype for each in found] == [torch.float32] * 2
    assert [each.item() for each in found] == [1.0, 1.0]


@given(st.lists(st.floats(-800, 800) | st.just(-float("inf")), min_size=2, max_size=5))
def test_log_sum_exp_over_processes(values: list[float]) -> None:
    everyone = torch.tensor(values, dtype=torch.float64)
    found = in_threads(len(values), lambda group: group.log_sum_exp(everyone[group.place, None]))
    for each in found:
        torch.testing.assert_close(each[0], torch.logsumexp(everyone, 0))


@given(count=st.integers(2, 7), seed=st.integers(0, 99))
def test_an_anchor_among_other_candidates_is_neither_its_positive_nor_its_negative(
    count: int, seed: int
) -> None:
    """Wherever it stands: what a permutation of the candidates changes is their order."""
    whole, objective = batch(count, seed), recipes.hcl(temperature=0.5, beta=1.0)
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(2 * count, generator=generator)[: count + 1]
    order = torch.randperm(2 * count, generator=generator)
    place = torch.argsort(order)
    pairs = Pairs(
        anchors=whole.anchors[rows],
        ids=whole.ids[rows],
        candidates=whole.anchors[order],
        candidate_ids=whole.ids[order],
        own=place[rows],
    )
    edges, every = pairs.positives(), whole.positives()
    assert not bool((edges.candidate == place[rows][edges.anchor]).any())
    found = set(zip(rows[edges.anchor].tolist(), order[edges.candidate].tolist(), strict=True))
    expected = zip(every.anchor.tolist(), every.candidate.tolist(), strict=True)
    assert found == {(anchor, candidate) for anchor, candidate in expected if anchor in rows.tolist()}
    weights = objective.weights(pairs)
    assert not bool(weights[torch.arange(len(rows)), place[rows]].any())
    torch.testing.assert_close(weights[:, place], objective.weights(whole)[rows])


OBJECTIVES = [
    recipes.hcl_ot(temperature=0.5, epsilon=0.4, class_prior=0.1),
    recipes.simclr(temperature=0.3, selection=Subset(k=1)),
    recipes.jsd(beta=1.0),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=["transport", "subset", "jsd"])
@given(counts=shares().filter(lambda counts: sum(counts) > 2), seed=st.integers(0, 99))
def test_processes_that_share_a_batch_find_its_loss_and_gradient(
    objective: Objective, counts: list[int], seed: int
) -> None:
    whole = batch(sum(counts), seed)
    # No transport plan exists where an id has more than half of the rows.
    whole = dataclasses.replace(whole, ids=torch.arange(sum(counts)).repeat(2))

    def solve(pairs: Pairs) -> tuple[Tensor, Tensor]:
        loss = objective(pairs, generator=torch.Generator().manual_seed(seed))
        return loss.detach(), torch.autograd.grad(loss, whole.anchors)[0]

    def own(group: Threads) -> tuple[Tensor, Tensor]:
        rows = torch.arange(sum(counts))[splits(counts)[group.place]]
        return solve(part(whole, torch.cat([rows, rows + sum(counts)]), group))

    loss, gradient = solve(whole)
    losses, gradients = zip(*in_threads(len(counts), own), strict=True)
    for each in losses:
        torch.testing.assert_close(each, loss, rtol=0, atol=1e-10)
    torch.testing.assert_close(torch.stack(gradients).mean(dim=0), gradient, rtol=0, atol=1e-10)


def test_an_error_on_one_process_is_raised_on_all() -> None:
    whole = batch(4, seed=0)
    with torch.no_grad():
        whole.anchors[1] = 0.0

    def own(group: Threads) -> str:
        rows = torch.arange(8)[group.place :: 2]
        try:
            recipes.simclr(temperature=0.5)(part(whole, rows, group))
        except ValueError as error:
            return str(error)
        return ""

    first, second = in_threads(2, own)
    assert first == second
    assert first.startswith("1: 1 of 4 embeddings have length zero")


def test_processes_with_embeddings_of_other_lengths_find_the_plan_of_one() -> None:
    """Each knows another bound of its own rows; whether logarithms are needed is up to all of them."""
    whole = dataclasses.replace(batch(6, seed=0), ids=torch.arange(6).repeat(2))
    with torch.no_grad():
        whole.anchors.div_(whole.anchors.norm(dim=1, keepdim=True))
        whole.anchors[1::2] *= 0.3
    cost = ExponentialEuclidean(kappa=1.0)
    for epsilon in (1.0, 0.29):  # the exponents of the long rows alone are 60 apart in the second
        transport = Transport(epsilon=epsilon, cost=cost)
        objective = Objective(temperature=0.5, coupling=transport, normalize=False)

        def own(group: Threads, objective: Objective = objective) -> Tensor:
            rows = torch.arange(12)[1 - group.place :: 2]
            return objective(part(whole, rows, group)).detach()

        for each in in_threads(2, own):
            torch.testing.assert_close(each, objective(whole).detach(), rtol=0, atol=1e-5)
