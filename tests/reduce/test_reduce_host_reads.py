"""How often a step makes the host wait for the device, and that what is not waited for is still refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from host_reads import HostReads, as_on_a_device
from launches import Launches
from steps import (
    DIM,
    HCL,
    ROWS,
    Step,
    embeddings,
    learned,
    on_kernels,
    one_way,
    queued,
    views,
    with_ids,
)  # fmt: skip

import tammes
from tammes import recipes
from tammes.pairs import Pairs

pytest.importorskip("triton", reason="triton exists for Linux only")
pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="counts what the interpreter runs, on a CPU"
)


@pytest.fixture(autouse=True)
def _on_a_device() -> Iterator[None]:
    with as_on_a_device():
        yield


def reads_of(objective: tammes.Objective, step: Step) -> HostReads:
    """The reads of the third step: what depends on shapes alone is known by then."""
    for _ in range(2):
        step(objective).backward()
    with HostReads() as counted:
        step(objective).backward()
    return counted


@pytest.mark.parametrize(
    ("objective", "step", "most"),
    [
        (recipes.simclr(temperature=0.5), views, 0),
        (HCL, views, 0),
        (recipes.jsd(beta=1.0), views, 1),  # the range of raw products
        (recipes.triplet(margin=0.5), views, 0),
        (recipes.simclr(temperature=0.5), with_ids, 1),
        (HCL, with_ids, 1),
        (recipes.simclr(temperature=0.5), one_way, 1),
        (recipes.simclr(temperature=0.5), learned, 1),
        (recipes.simclr(temperature=0.5), queued(known=False), 1),
        (recipes.simclr(temperature=0.5), queued(known=True), 1),
    ],
    ids=["views", "hcl", "jsd", "triplet", "ids", "hcl, ids", "one way", "learned", "queue", "queue, ids"],
)
def test_reads_of_a_step(objective: tammes.Objective, step: Step, most: int) -> None:
    counted = reads_of(on_kernels(objective), step)
    assert sum(counted.lines.values()) == most, str(counted)


def test_transport_reads_once_an_update() -> None:
    objective = on_kernels(recipes.hcl_ot(temperature=0.5, epsilon=0.3))
    counted = reads_of(objective, views)
    updates = objective.last["sinkhorn_iterations"] + 1
    assert sum(counted.lines.values()) <= updates + 1, str(counted)


def test_what_was_not_waited_for_is_refused_by_the_next_call() -> None:
    objective = on_kernels(recipes.simclr(temperature=0.5))
    bad = embeddings().detach()
    bad[3, 2] = torch.nan
    assert objective(bad, embeddings()).isnan()
    with pytest.raises(
        ValueError, match=r"the call before this one: 1 of 40 embeddings hold NaN.*row 3 of view 0"
    ):
        objective(embeddings(), embeddings())
    assert objective(embeddings(), embeddings()).isfinite(), "an error is raised once"


@pytest.mark.filterwarnings("ignore:All-NaN slice:RuntimeWarning")  # of the interpreter
@pytest.mark.parametrize("one_sided", [False, True])
def test_a_number_of_the_last_call_is_refused_with_it(one_sided: bool) -> None:
    objective = on_kernels(recipes.simclr(temperature=0.5))
    bad, ids = torch.zeros(ROWS, DIM), torch.arange(ROWS)
    if one_sided:
        objective(Pairs(anchors=embeddings(), ids=ids, candidates=bad, candidate_ids=ids))
    else:
        objective(embeddings(), bad)
    with pytest.raises(ValueError, match=r"20 of .* embeddings have length zero"):
        _ = objective.last["loss"]


def test_ids_are_refused_at_once() -> None:
    objective = on_kernels(recipes.simclr(temperature=0.5))
    pairs = Pairs(anchors=embeddings(), ids=torch.arange(ROWS))
    with pytest.raises(ValueError, match=r"20 of 20 anchors have no positive, first row 0 \(id 0\)"):
        objective(pairs)
    with pytest.raises(ValueError, match="has no negative"):
        objective(embeddings(), embeddings(), ids=torch.zeros(ROWS, dtype=torch.long))
    subset = on_kernels(recipes.simclr(temperature=0.5, selection=tammes.Subset(k=37)))
    with pytest.raises(ValueError, match="has only 36"):
        subset(embeddings(), embeddings(), ids=torch.arange(ROWS) // 2)


def test_rows_of_a_queue_are_refused_at_once() -> None:
    queue = tammes.Queue(size=8, dim=DIM)
    bad = embeddings().detach()
    bad[5] = torch.inf
    with pytest.raises(ValueError, match="1 of 40 embeddings hold NaN or infinity, first row 5 of view 1"):
        queue(embeddings(), bad)
    with pytest.raises(ValueError, match="must be 0 or above, got -3"):
        queue(embeddings(), embeddings(), ids=torch.arange(ROWS) - 3)
    assert queue.held == 0


def test_loss_and_gradient_are_those_of_checks_made_at_once() -> None:
    ids = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9] * 2) // 2
    found = []
    for waits in (True, False):
        torch.manual_seed(3)
        a, b = embeddings(), embeddings()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tammes.deferred.waits", lambda device, waits=waits: waits)
            with Launches() as counted:
                loss = on_kernels(HCL)(a, b, ids=ids)
                found.append((loss, *torch.autograd.grad(loss, (a, b))))
        # With several positives, a GPU would add by atomics, in an order that changes. What is left is the
        # gradient through the order of the rows, which adds to each row once.
        repeated = counted.operations["index_add_"], counted.operations["index_add"] - 1
        assert (repeated == (0, 0)) == waits, str(counted.operations)
    for deferred, immediate in zip(*found, strict=True):
        torch.testing.assert_close(deferred, immediate)
