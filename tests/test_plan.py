"""What a plan counts, against the products and bytes that a step takes."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from tammes import recipes
from tammes.plan import Plan, Rates


def in_place(into: tuple[int, int], left: tuple[int, int], right: tuple[int, int], **_: object) -> int:
    """Operations of a product that is added in place, which are not counted by default."""
    return 2 * left[0] * left[1] * right[1]


def counted(work: Callable[[], Tensor]) -> float:
    """Operations of products, forward and backward."""
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: in_place}) as counter:
        work().backward()
    return float(counter.get_total_flops())


def test_operations_of_one_device_are_those_of_the_tiles() -> None:
    """Tiles on the diagonal are computed whole: a few more than half of S."""
    views = [torch.randn(4096, 8).requires_grad_() for _ in range(2)]
    operations = counted(lambda: recipes.simclr(temperature=0.5)(*views))
    assert operations / Plan(pairs=4096, dim=8).operations == pytest.approx(1, abs=0.1)


def test_a_share_of_the_anchors_against_all_rows_takes_five_products() -> None:
    n, m, dim = 2048, 8192, 8
    assert Plan(pairs=m // 2, dim=dim, devices=m // n, on_gpu=True).operations == 5 * 2 * n * m * dim


@pytest.mark.parametrize(("devices", "seconds"), [(1, 87), (8, 26), (64, 3.3)])
def test_four_million_pairs_take_what_the_page_on_scale_says(devices: int, seconds: float) -> None:
    plan = Plan(pairs=4_194_304, dim=128, devices=devices, on_gpu=True, kind=torch.bfloat16)
    rate = Rates(operations=4.14e14 if devices == 1 else 4.26e14)
    assert plan.seconds(rate) == pytest.approx(seconds, rel=0.03)


def test_nothing_is_exchanged_by_one_and_never_all_rows() -> None:
    alone = Plan(pairs=100, dim=8)
    assert alone.received == alone.sent == 0
    shared = Plan(pairs=100, dim=8, devices=4, kind=torch.bfloat16)
    assert shared.received == 150 * 8 * 2
    assert shared.sent == 150 * 8 * 4
    assert shared.memory == alone.memory
    assert shared.operations == alone.operations / 4


def test_rates_are_those_of_steps_that_are_timed() -> None:
    rates = Rates.measured(8, torch.device("cpu"), torch.float32)
    assert 0 <= rates.start < 1
    assert math.isfinite(rates.operations)
    assert rates.operations > 1e6


def test_an_epoch_leaves_out_what_fills_no_batch() -> None:
    assert Plan(pairs=10, dim=2).steps(39) == 3
    with pytest.raises(
        ValueError, match="at least as many rows as a batch has pairs, got 9 rows and batches"
    ):
        Plan(pairs=10, dim=2).steps(9)


def test_it_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="at least one pair for every device, got 3 pairs and 4 devices"):
        Plan(pairs=3, dim=2, devices=4)
    with pytest.raises(ValueError, match="dim must be"):
        Plan(pairs=3, dim=0)
    with pytest.raises(ValueError, match="operations must be a finite number above 0"):
        Rates(operations=0.0)
