"""What the kernels can number, and which fields of their engine and launches are refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import tammes
from tammes.reduce import Exponent, KeyRanges, Negatives, Product, Triton
from tammes.reduce.terms import Linear
from tammes.reduce.triton import operands
from tammes.reduce.triton.kernels.tiles import first_step
from tammes.reduce.triton.launch import Launch, launch_for
from tammes.reduce.triton.operands import MOST, MOST_FEATURES, check_sizes

triton = pytest.importorskip("triton", reason="triton exists for Linux only")

HAS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
SMALL = Launch(rows=32, columns=16, depth=16, width=32, warps=4, stages=1, programs=4)


@pytest.mark.parametrize("columns", [600_000_000, MOST])
@pytest.mark.parametrize("splits", [3, 264, 65_535])
def test_splits_share_the_columns_without_an_overflow(columns: int, splits: int) -> None:
    """Each begins where the one before it ends, and together they take all: `split * steps` has 35 bits."""
    if HAS_GPU:
        pytest.skip("the interpreter computes in the kernels' types")
    steps = -(-columns // 16)
    given = torch.tensor([0, 1, splits // 2, splits - 1, splits], dtype=torch.int32)
    found = torch.empty(len(given), dtype=torch.int32)
    write_first_steps[(len(given),)](given, found, steps, splits)
    assert found.tolist() == [split * steps // splits for split in given.tolist()]


@triton.jit
def write_first_steps(given, found, steps, splits):  # type: ignore[no-untyped-def]
    here = triton.language.program_id(0)
    split = triton.language.load(given + here)
    triton.language.store(found + here, first_step(split, steps, splits))


def test_the_most_rows_leave_room_for_the_numbers_of_three_exponents() -> None:
    """Kernels read row i of exponent r at r * n + i, r up to 2, and look at rows beyond the last tile."""
    last = np.int32(2) * np.int32(MOST) + np.int32(launch_for(128, Product.FULL, DEVICE, gathers=False).rows)
    assert last == 2 * MOST + 128
    with np.errstate(over="ignore"):
        assert np.int32(2) * np.int32(2**30) < 0, "this is why there are no more"


def test_more_than_a_kernel_numbers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_sizes(MOST, MOST, MOST_FEATURES)
    with pytest.raises(ValueError, match=r"at most 1,073,676,288 anchors .* got 3 and 1,073,676,289: give"):
        check_sizes(3, MOST + 1, 1)
    wide = Negatives(anchors=torch.zeros(3, 2**20), ranges=KeyRanges(keys=torch.arange(3)), bound=1.0)
    with pytest.raises(ValueError, match=r"at most 1,048,560 features, .* got 1,048,576: give"):
        Triton().log_sum_exp(wide, (Exponent(),))
    objective = tammes.Objective(temperature=0.5, engine=Triton())
    views = [torch.randn(4, 16, device=DEVICE) for _ in range(2)]
    narrow = dataclasses.replace(wide, anchors=torch.eye(3))
    with pytest.raises(ValueError, match=r"at most 65,535 positives of an anchor, .* got 65,536: give"):
        Triton().expectation(narrow, Exponent(), torch.zeros(3), Linear(), 1.0, torch.zeros(3, 2**16))
    monkeypatch.setattr(operands, "MOST", 7)
    with pytest.raises(ValueError, match=r"at most 7 anchors and candidates, .* got 8 and 8"):
        objective(*views)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"rows": 24}, "rows must be a power of two of at least 16, got 24"),
        ({"columns": 64}, "a tile must not be wider than high, got 32 x 64"),
        ({"depth": 8}, "depth must be a power of two of at least 16, got 8"),
        ({"width": 32.0}, "width must be a power of two of at least 16, got 32.0"),
        ({"warps": 0}, "warps must be a power of two from 1 to 32, got 0"),
        ({"warps": 3}, "warps must be a power of two from 1 to 32, got 3"),
        ({"warps": 64}, "warps must be a power of two from 1 to 32, got 64"),
        ({"stages": 0}, "stages must be an integer of at least 1, got 0"),
        ({"programs": 0.5}, "programs must be an integer of at least 1, got 0.5"),
        ({"strip": -32}, "strip must be a multiple of the 32 rows of a tile, got -32"),
    ],
    ids=str,
)
def test_launch_fields(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{expected}$"):
        dataclasses.replace(SMALL, **changed)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"product": "bf16"}, r"product must be one of Product.FULL, .*, Product.FLOAT16, got 'bf16'"),
        ({"otherwise": "dense"}, r"otherwise must be an engine such as Tiled\(\), got 'dense'"),
        ({"launch": 128}, "launch must be a Launch, or None to choose it by the size, got 128"),
        ({"backward": (128, 64)}, r"backward must be a Launch, .* got \(128, 64\)"),
    ],
    ids=str,
)
def test_engine_fields(changed: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{expected}$"):
        Triton(**changed)
