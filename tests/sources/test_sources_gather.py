"""Processes together find what one process finds with the whole batch: value, gradient and errors."""

from __future__ import annotations

from pathlib import Path

import failing_cases
import gather_cases
import pytest
import queue_cases
import torch
import torch.distributed as dist
import training_cases
import world
from torch import Tensor

from tammes.sources import Gather

SCRIPT = Path(__file__).with_name("world_of_cases.py")
LOST = Path(__file__).with_name("world_of_a_lost_process.py")


# One test for each number of processes: its world is started once.
@pytest.mark.parametrize("size", [2, 3, 4])
def test_processes_equal_one(size: int, tmp_path: Path) -> None:
    found = world.run(SCRIPT, size, tmp_path)
    for name, (_, expected) in failing_cases.CASES.items():
        assert_all_say(name, expected, [one[name] for one in found])
    for name, case in gather_cases.CASES.items():
        assert_equal_to_one(name, case, [one[name] for one in found])
    for name, queue_case in queue_cases.CASES.items():
        assert_queues_equal_one(name, queue_case, [one[name] for one in found])
    assert_trained_as_one([one["training"] for one in found])
    assert_part_is_a_world_of_its_own([one["part"] for one in found])
    assert_cost_little([one["cost"] for one in found])


def close(ours: object, theirs: object, small: float, what: str) -> None:
    torch.testing.assert_close(ours, theirs, rtol=0, atol=small, msg=lambda message: f"{what}: {message}")


def close_for_type(ours: Tensor, theirs: Tensor, case: gather_cases.Case, what: str) -> None:
    """To 1e-10 in float64, else to a few units in the last place of the largest entry."""
    places = 4 * torch.finfo(case.dtype).eps * float(theirs.abs().max())
    close(ours, theirs, 1e-10 if case.dtype == torch.float64 else places, what)


def assert_all_say(name: str, expected: str, messages: list[str]) -> None:
    last = len(messages) - 1
    for message in messages:
        assert expected.format(last=last, before=last - 1) in message, name
        assert message == messages[0], name


def assert_equal_to_one(name: str, case: gather_cases.Case, found: list[world.Found]) -> None:
    reference, size = gather_cases.alone(case), len(found)
    for rank, each in enumerate(found):
        what, rows = f"{name} on {rank} of {size}", gather_cases.rows_of(rank, size)
        close_for_type(each["loss"], reference["loss"], case, what)
        # Each process has `size` times its part, which the average over processes makes whole.
        close_for_type(each["embeddings"] / size, reference["embeddings"][:, rows], case, what)
        for ours, theirs in zip(each["model"], reference["model"], strict=True):
            close_for_type(ours, theirs, case, what)
        close_for_type(each["weights"], reference["weights"][:, rows], case, what)
        assert each["iterations"] == reference["iterations"], what


def assert_queues_equal_one(name: str, case: queue_cases.QueueCase, found: list[world.Found]) -> None:
    reference, size = queue_cases.alone(case), len(found)
    for rank, each in enumerate(found):
        what, rows = f"{name} on {rank} of {size}", gather_cases.rows_of(rank, size)
        close(each["losses"], reference["losses"], 1e-10, what)
        ours = [gradient / size for gradient in each["gradients"]]
        close(ours, [gradient[rows] for gradient in reference["gradients"]], 1e-10, what)
        close(dict(each["queue"]), dict(reference["queue"]), 0.0, what)


def assert_trained_as_one(found: list[world.Found]) -> None:
    reference = training_cases.alone()
    for rank, each in enumerate(found):
        close(each["trained"], reference["trained"], 1e-10, f"training on {rank} of {len(found)}")
        close(each["two passes"], reference["two passes"], 1e-10, f"two passes on {rank} of {len(found)}")


def assert_part_is_a_world_of_its_own(messages: list[str]) -> None:
    assert messages[0] == "this process, rank 0, is not in the process group given"
    assert all(
        message.startswith(f"rank {len(messages) - 1}: 6 of 6 embeddings hold NaN")
        for message in messages[1:]
    )


def assert_cost_little(found: list[world.Found]) -> None:
    """What docs/sources.md says of exchanges and memory."""
    for each in found:
        assert each["simclr"] == {"all_gather": 2, "reduce_scatter": 1, "sum": 1, "largest": 2}
        assert each["simclr with ids"] == each["simclr"] | {"all_gather": 3}
        iterations = each["iterations"]
        assert each["hcl_ot"] == each["simclr"] | {"sum": 3 + iterations}
        # Together two products, as one process alone, and half a product more for each tile on the diagonal.
        assert all(products * len(found) < 2.3 for products in each["products"].values())
        assert each["bytes"] < 2.2 * each["bytes of half"]


def test_a_lost_process_is_named_in_words(tmp_path: Path) -> None:
    found = world.run(LOST, 3, tmp_path)
    for rank, what in ((0, "gradients of shape"), (1, "rows of shape")):
        message = found[rank]["message"]
        assert message.startswith(f"rank {rank} has lost another process while they exchanged {what}")
        assert "gloo" not in message
    assert found[2]["message"] == ""


def test_without_processes_it_says_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"torchrun and call\s+torch.distributed.init_process_group"):
        Gather()(torch.randn(4, 3), torch.randn(4, 3))


@pytest.fixture
def _one_process() -> object:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def leaves(found: world.Found) -> list[Tensor]:
    return [found["loss"], found["embeddings"], found["weights"], *found["model"]]


@pytest.mark.usefixtures("_one_process")
@pytest.mark.parametrize("name", gather_cases.CASES)
def test_a_world_of_one_equals_the_batch(name: str) -> None:
    case = gather_cases.CASES[name]
    rows = slice(0, gather_cases.ROWS)
    found = gather_cases.solve(case, gather_cases.Model(case), case.source(Gather()), rows)
    reference = gather_cases.alone(case)
    for ours, theirs in zip(leaves(found), leaves(reference), strict=True):
        close_for_type(ours, theirs, case, name)


@pytest.mark.usefixtures("_one_process")
def test_one_pair_has_no_negative() -> None:
    with pytest.raises(ValueError, match="at least two pairs on all processes together, got 1"):
        Gather()(torch.randn(1, 3), torch.randn(1, 3))
