import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.training.order import Order


@given(images=st.integers(2, 60), seed=st.integers(0, 100), epoch=st.integers(0, 100))
def test_an_epoch_visits_every_image_once(images: int, seed: int, epoch: int) -> None:
    order = Order(images, batch_size=2, seed=seed)
    order.set_epoch(epoch)
    assert sorted(order) == list(range(images))
    assert len(order) == images


@given(images=st.integers(2, 60), batch_size=st.integers(1, 20), step=st.integers(0, 200))
def test_a_later_start_sees_what_is_left(images: int, batch_size: int, step: int) -> None:
    batch_size = min(batch_size, images)
    epoch, batches = divmod(step, images // batch_size)
    whole = Order(images, batch_size=batch_size, seed=1)
    whole.set_epoch(epoch)
    rest = Order(images, batch_size=batch_size, seed=1, first_step=step)
    rest.set_epoch(epoch)  # as lightning does, also for the epoch that was begun before
    assert list(rest) == list(whole)[batches * batch_size :]
    rest.set_epoch(epoch + 1)
    whole.set_epoch(epoch + 1)
    assert list(rest) == list(whole)


def test_epochs_and_seeds_differ() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        result = Order(50, batch_size=2, seed=seed)
        result.set_epoch(epoch)
        return list(result)

    assert order(0, 0) == order(0, 0)
    assert order(0, 0) != order(0, 1)
    assert order(0, 0) != order(1, 0)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the batch \(5\) is larger than the data \(4 images\).*at most 4"):
        Order(4, batch_size=5, seed=0)
