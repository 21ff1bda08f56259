"""The queue: what is compared, what is stored and in which order, and that a resumed one goes on exactly."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import tammes
from tammes.sources import Queue

SIMCLR = tammes.recipes.simclr(temperature=0.5)


def rows(count: int, dim: int = 3, **options: bool) -> Tensor:
    return torch.randn(count, dim, **options)


@pytest.mark.equal_bits
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8), size=st.integers(1, 12))
def test_it_holds_the_last_keys_whatever_the_batches(sizes: list[int], size: int) -> None:
    queue, stored = Queue(size=size, dim=1), torch.zeros(0, 1)
    for count in sizes:
        keys = torch.arange(len(stored), len(stored) + count, dtype=torch.float32)[:, None] + 1
        before = stored[-size:]
        pairs = queue(torch.ones(count, 1), keys)
        assert pairs.candidates is not None
        assert torch.equal(pairs.candidates[:count], keys)
        assert torch.equal(pairs.candidates[count:].sort(dim=0).values, before)
        stored = torch.cat([stored, keys])
    assert queue.held == min(size, len(stored))
    assert torch.equal(queue.embeddings[: queue.held].sort(dim=0).values, stored[-size:])
    assert int(queue.stored) == len(stored)


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6), size=st.integers(1, 12))
def test_without_ids_only_the_own_key_is_a_positive(sizes: list[int], size: int) -> None:
    queue = Queue(size=size, dim=2)
    for count in sizes:
        edges = queue(torch.ones(count, 2), torch.ones(count, 2)).positives()
        assert edges.anchor.tolist() == edges.candidate.tolist() == list(range(count))


def test_the_loss_is_the_formula() -> None:
    """InfoNCE of a query against its key, the other keys and what was stored."""
    queue = Queue(size=8, dim=3)
    stored, queries, keys = rows(5), rows(4), rows(4)
    queue(rows(5), stored)
    loss = SIMCLR(queue(queries, keys))
    queries, candidates = (
        torch.nn.functional.normalize(each) for each in (queries, torch.cat([keys, stored]))
    )
    expected = torch.nn.functional.cross_entropy(queries @ candidates.T / 0.5, torch.arange(4))
    torch.testing.assert_close(loss, expected)


@pytest.mark.equal_bits
def test_a_stored_key_gives_way_to_the_fresh_one_of_its_id() -> None:
    queue = Queue(size=8, dim=3)
    first, second = rows(3), rows(2)
    queue(rows(3), first, ids=torch.tensor([4, 5, 6]))
    pairs = queue(rows(2), second, ids=torch.tensor([5, 7]))
    assert pairs.candidates is not None
    assert torch.equal(pairs.candidates, torch.cat([second, first[[0, 2]]]))
    assert pairs.ids_of_candidates.tolist() == [5, 7, 4, 6]
    assert pairs.positives().count.tolist() == [1, 1]


def test_a_stored_key_is_a_positive_if_asked() -> None:
    queue = Queue(size=8, dim=3, stale_positives=True)
    queue(rows(3), rows(3), ids=torch.tensor([4, 5, 4]))
    pairs = queue(rows(2), rows(2), ids=torch.tensor([4, 7]))
    assert pairs.positives().candidate.tolist() == [0, 2, 4, 1]


def test_ids_may_be_left_out_now_and_then() -> None:
    queue = Queue(size=8, dim=3)
    queue(rows(3), rows(3), ids=torch.tensor([0, 1, 2]))
    assert len(queue(rows(2), rows(2)).ids_of_candidates) == 5
    pairs = queue(rows(2), rows(2), ids=torch.tensor([1, 2]))
    assert pairs.positives().count.tolist() == [1, 1]
    assert len(pairs.ids_of_candidates.unique()) == len(pairs.ids_of_candidates) == 2 + 1 + 2


def test_it_can_wait_until_it_is_full() -> None:
    queue = Queue(size=5, dim=3, wait_until_full=True)
    counts = [len(queue(rows(2), rows(2)).ids_of_candidates) for _ in range(4)]
    assert counts == [2, 2, 2, 7]


@pytest.mark.equal_bits
def test_nothing_is_stored_in_evaluation() -> None:
    queue = Queue(size=6, dim=3)
    queue(rows(4), rows(4))
    before = copy.deepcopy(queue.state_dict())
    queue.eval()
    assert len(queue(rows(4), rows(4)).ids_of_candidates) == 8
    for name, buffer in queue.state_dict().items():
        assert torch.equal(buffer, before[name]), name


def test_gradients_reach_queries_and_what_keys_have_but_nothing_stored() -> None:
    queue = Queue(size=6, dim=3)
    old, queries, keys = (rows(4, requires_grad=True) for _ in range(3))
    queue(queries, old)
    SIMCLR(queue(queries, keys)).backward()
    assert old.grad is None
    assert queries.grad is not None
    assert keys.grad is not None
    assert not queue.embeddings.requires_grad
    queue(rows(4, requires_grad=True), keys.detach())


@pytest.mark.equal_bits
def test_a_resumed_queue_goes_on_exactly() -> None:
    """Through a file that is loaded without trust, in the middle of a turn."""
    labels, selection = torch.arange(4), tammes.Subset(k=3, among=tammes.OtherLabels())
    objective = tammes.recipes.hcl(temperature=0.5, beta=1.0, selection=selection)
    queue = Queue(size=10, dim=3)
    for step in range(4):
        queue(rows(4), rows(4), ids=torch.arange(4) + 3 * step, labels=labels + 3 * step)
    saved = io.BytesIO()
    torch.save(queue.state_dict(), saved)
    saved.seek(0)
    resumed = Queue(size=10, dim=3)
    resumed.load_state_dict(torch.load(saved, weights_only=True))
    for step in range(3):
        batch, ids = (rows(4), rows(4)), torch.arange(4) + 2 * step
        losses = [
            objective(each(*batch, ids=ids, labels=ids), generator=torch.Generator().manual_seed(step))
            for each in (queue, resumed)
        ]
        assert torch.equal(*losses)
    assert resumed.state_dict().keys() == {"embeddings", "ids", "labels", "labeled", "stored"}
    assert all(torch.equal(buffer, queue.state_dict()[name]) for name, buffer in resumed.state_dict().items())


@pytest.mark.parametrize(("size", "dim"), [(9, 3), (8, 4)])
def test_a_checkpoint_of_another_queue_is_refused(size: int, dim: int) -> None:
    model = torch.nn.ModuleDict({"queue": Queue(size=size, dim=dim)})
    expected = (
        f"a queue of 8 keys of dimension 3, this one has {size} of dimension {dim}: make it with size=8"
    )
    with pytest.raises(ValueError, match=expected):
        model.load_state_dict(torch.nn.ModuleDict({"queue": Queue(size=8, dim=3)}).state_dict())


def test_a_copy_is_a_queue_of_its_own() -> None:
    queue = Queue(size=6, dim=3)
    queue(rows(4), rows(4))
    twin = copy.deepcopy(queue)
    queue(rows(4), rows(4))
    assert (twin.held, queue.held) == (4, 6)
    with pytest.raises(ValueError, match="this one has 6 of dimension 3"):
        twin.load_state_dict(Queue(size=7, dim=3).state_dict())
    assert repr(twin).startswith("Queue(size=6, dim=3, gather=None, held=4")


def test_labels_of_stored_keys_say_who_may_be_a_negative() -> None:
    queue = Queue(size=8, dim=3)
    queue(rows(3), rows(3), labels=torch.tensor([0, 1, 2]))
    objective = tammes.Objective(temperature=0.5, selection=tammes.OtherLabels())
    objective(queue(rows(2), rows(2), labels=torch.tensor([0, 1])))
    assert objective.last["negatives"] == 3.0  # one of two keys, two of three stored ones


def test_labels_must_come_at_every_call() -> None:
    queue = Queue(size=8, dim=3)
    queue(rows(3), rows(3))
    with pytest.raises(ValueError, match="labels are given, but 3 of 3 stored keys have none"):
        queue(rows(2), rows(2), labels=torch.tensor([0, 1]))
    assert queue.held == 3
    assert queue(rows(2), rows(2)).labels_of_candidates is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types_may_differ(dtype: torch.dtype) -> None:
    queue = Queue(size=8, dim=3)
    queue(rows(3), rows(3))
    queries = rows(3).to(dtype).requires_grad_()
    loss = SIMCLR(queue(queries, rows(3).to(dtype)))
    loss.backward()
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert queries.grad is not None
    assert queries.grad.dtype == dtype


@pytest.mark.equal_bits
def test_keys_may_be_stored_in_less_precision() -> None:
    queue, keys = Queue(size=8, dim=3, dtype=torch.bfloat16), rows(3)
    queue(rows(3), keys)
    pairs = queue(rows(2), rows(2))
    assert pairs.candidates is not None
    assert torch.equal(pairs.candidates[2:], keys.bfloat16().float())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"size": 0, "dim": 3}, "size must be an integer of at least 1, got 0"),
        ({"size": 8, "dim": 2.5}, "dim must be an integer of at least 1, got 2.5"),
        ({"size": True, "dim": 3}, "size must be an integer of at least 1, got True"),
        ({"size": 8, "dim": 3, "dtype": torch.int64}, "dtype must be a floating-point type, got torch.int64"),
    ],
)
def test_fields_that_make_no_queue_are_refused(fields: dict[str, int], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Queue(**fields)


@pytest.mark.parametrize(
    ("queries", "keys", "ids", "expected"),
    [
        (rows(3), rows(4), None, r"of one shape, got \(3, 3\) and \(4, 3\)"),
        (rows(3, 4), rows(3, 4), None, "holds keys of dimension 3, these have 4"),
        (rows(0), rows(0), None, "the views have no rows"),
        (rows(3), rows(3) / 0, None, "3 of 6 embeddings hold NaN or infinity, first row 0 of view 1"),
        (rows(3), rows(3), torch.arange(3) - 1, "ids given to a queue must be 0 or above, got -1"),
        (rows(3), rows(3), torch.arange(3.0), "ids must be integers"),
        (rows(3), rows(3), torch.arange(4), "one integer for each of the 3 rows"),
        (rows(3), rows(3) * 1e6, None, "keys too large for torch.float16"),
        (rows(3), rows(3) / 1e9, None, "keys too small for torch.float16"),
    ],
)
def test_what_does_not_fit_is_refused_and_not_stored(
    queries: Tensor, keys: Tensor, ids: Tensor | None, expected: str
) -> None:
    queue = Queue(size=8, dim=3, dtype=torch.float16)
    with pytest.raises(ValueError, match=expected):
        queue(queries, keys, ids=ids)
    assert queue.held == 0


def test_a_key_too_long_to_be_compared_is_refused_before_it_spoils_later_batches() -> None:
    queue = Queue(size=8, dim=3)
    with pytest.raises(ValueError, match=r"keys too large for torch\.float32"):
        queue(rows(3), torch.cat([rows(2), torch.full((1, 3), 1e30)]))
    assert bool(torch.isfinite(SIMCLR(queue(rows(3), rows(3)))))


@pytest.mark.parametrize("on_a_gpu", [False, True])
def test_writes_that_torch_does_not_count_are_seen(on_a_gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of an exchange between processes; on a GPU after the queue is loaded."""
    monkeypatch.setattr("tammes.deferred.waits", lambda device: on_a_gpu)
    full, queue = Queue(size=8, dim=3), Queue(size=8, dim=3)
    full(rows(3), rows(3))
    assert queue.held == 0
    for mine, theirs in zip(queue.buffers(), full.buffers(), strict=True):
        mine.data.copy_(theirs)
    if on_a_gpu:
        assert queue.held == 0
        queue.load_state_dict(queue.state_dict())
    assert queue.held == 3
    assert len(queue(rows(2), rows(2)).candidates) == 5


def test_on_the_meta_device_it_prints_without_what_it_holds() -> None:
    with torch.device("meta"):
        assert "held" not in repr(Queue(size=8, dim=3))
    assert "held=0" in repr(Queue(size=8, dim=3))
