from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.positives import SameInstance
from tammes.training.pairing import Pairing
from tammes.training.sampler import PairSampler, Shard


def order_of(images: int, shard: Shard, *, seed: int, first_step: int = 0) -> PairSampler:
    pairing = Pairing(
        positives=SameInstance(), labels=torch.zeros(images, dtype=torch.long), seed=seed, noun="images"
    )
    return PairSampler(pairing, shard, first_step=first_step)


@given(images=st.integers(2, 60), seed=st.integers(0, 100), epoch=st.integers(0, 100))
def test_an_epoch_visits_every_image_once(images: int, seed: int, epoch: int) -> None:
    order = order_of(images, Shard(batch_size=1), seed=seed)
    order.set_epoch(epoch)
    assert sorted(pair for batch in order for pair in batch) == [[row, row] for row in range(images)]
    assert len(order) == images


@given(images=st.integers(1, 60), batch_size=st.integers(1, 20))
def test_the_last_partial_batch_is_dropped(images: int, batch_size: int) -> None:
    batch_size = min(batch_size, images)
    batches = list(order_of(images, Shard(batch_size=batch_size), seed=0))
    assert [len(batch) for batch in batches] == [batch_size] * (images // batch_size)


@given(images=st.integers(2, 60), batch_size=st.integers(1, 20), step=st.integers(0, 200))
def test_a_later_start_sees_what_is_left(images: int, batch_size: int, step: int) -> None:
    shard = Shard(batch_size=min(batch_size, images))
    whole = order_of(images, shard, seed=1)
    epoch, batches = divmod(step, len(whole))
    whole.set_epoch(epoch)
    rest = order_of(images, shard, seed=1, first_step=step)
    rest.set_epoch(epoch)  # as lightning does, also for the epoch that was begun before
    assert list(rest) == list(whole)[batches:]
    rest.set_epoch(epoch + 1)
    whole.set_epoch(epoch + 1)
    assert list(rest) == list(whole)


@given(images=st.integers(20, 60), batch_size=st.integers(8, 20), processes=st.integers(1, 4))
def test_the_shares_of_all_processes_are_the_batches_of_one(
    images: int, batch_size: int, processes: int
) -> None:
    shards = [Shard(batch_size=batch_size, rank=process, processes=processes) for process in range(processes)]
    orders = [list(order_of(images, shard, seed=3)) for shard in shards]
    whole = list(order_of(images, Shard(batch_size=batch_size), seed=3))
    assert [list(chain(*parts)) for parts in zip(*orders, strict=True)] == whole
    sizes = [len(parts[0]) for parts in orders]
    assert max(sizes) - min(sizes) <= 1
    assert [shard.first_row for shard in shards] == [sum(sizes[:process]) for process in range(processes)]


def test_epochs_and_seeds_differ() -> None:
    def order(seed: int, epoch: int) -> list[list[list[int]]]:
        result = order_of(50, Shard(batch_size=2), seed=seed)
        result.set_epoch(epoch)
        return list(result)

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the batch \(5\) is larger than the data \(4 images\).*at most 4"):
        order_of(4, Shard(batch_size=5), seed=0)


def test_a_single_pair_has_no_negatives() -> None:
    with pytest.raises(ValueError, match=r"at least two images to train on, .*, got one: give more"):
        order_of(1, Shard(batch_size=2), seed=0)


def test_too_many_processes_for_a_batch_are_refused() -> None:
    message = "a batch of 7 pairs is too small for 4 processes.* at most 3.*batch size of at least 8"
    with pytest.raises(ValueError, match=message):
        Shard(batch_size=7, rank=0, processes=4)
