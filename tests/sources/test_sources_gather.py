"""Processes together find what one process finds with the whole batch: value, gradient and averages."""

from __future__ import annotations

from pathlib import Path

import gather_cases
import pytest
import torch
import world

SCRIPT = Path(gather_cases.__file__)
SMALL = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 1e-2}


@pytest.fixture(scope="module", params=[2, 4])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[world.Found]:
    return world.run(SCRIPT, request.param, tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", gather_cases.CASES)
def test_processes_equal_one(name: str, found: list[world.Found]) -> None:
    case, size = gather_cases.CASES[name], len(found)
    reference = gather_cases.alone(case)
    small = SMALL[case.dtype]
    for rank, each in enumerate(one[name] for one in found):
        rows = gather_cases.rows_of(rank, size)
        torch.testing.assert_close(each["loss"], reference["loss"], rtol=0, atol=small)
        # The average over processes is that of one process: each has `size` times its part.
        torch.testing.assert_close(
            each["embeddings"] / size, reference["embeddings"][:, rows], rtol=0, atol=small
        )
        for ours, theirs in zip(each["model"], reference["model"], strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=small)
        assert each["iterations"] == reference["iterations"]
