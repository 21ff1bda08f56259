"""Memory beyond the inputs grows linearly with the batch, forward and backward, for whole objectives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import tammes
from tammes import recipes
from tammes.reduce import Dense

_DIM = 8
_LARGEST_QUADRATIC_SHARE = 0.2
"""A matrix of bits would be above it. The fit is not exact: which moment holds the peak changes with size."""

_PEAK_IN_A_PROCESS = """
import ctypes, sys
import torch
from tammes import recipes

def status(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(field))

def work(pairs):
    a, b = torch.randn(pairs, {dim}, requires_grad=True), torch.randn(pairs, {dim}, requires_grad=True)
    return lambda: recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)(a, b).backward()

work(1024)()  # what libraries allocate once is not the objective's
measured = work(int(sys.argv[1]))
ctypes.CDLL(None).malloc_trim(0)  # hand back what is free, or the work would find room in it
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts from here
before = status("VmRSS")
measured()
print(1024 * (status("VmHWM") - before))
"""


def quadratic_share(pairs: Sequence[int], peaks: Sequence[float]) -> float:
    """With constant + slope n + curvature n^2 fitted to the peaks: the last term's part of the last peak."""
    relative = np.array(pairs) / pairs[-1]
    curvature, _, _ = np.polyfit(relative, np.array(peaks), deg=2)
    return float(curvature / peaks[-1])


def peak_bytes(objective: tammes.Objective, pairs: int) -> int:
    """The most bytes that tensors held at any time of forward and backward, beyond the inputs."""
    assert torch.get_num_threads() == 1, "the profiler does not see what other threads allocate"
    a = torch.randn(pairs, _DIM, requires_grad=True)
    b = torch.randn(pairs, _DIM, requires_grad=True)
    with torch.profiler.profile(profile_memory=True, acc_events=True) as profile:
        objective(a, b).backward()
    held, peak = 0, 0
    for event in profile.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    assert peak > a.nbytes + b.nbytes, "not even the gradients were seen"
    return peak


@pytest.mark.parametrize(
    ("objective", "sizes"),
    [
        # Up to 1,448 pairs tiles are kept, and up to 1,024 pairs Sinkhorn's kernel: see below.
        (recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1), (2048, 4096, 6144, 8192)),
        (recipes.hcl_ot(temperature=0.5, epsilon=1.0), (1536, 3072, 4608, 6144)),
        (recipes.triplet(margin=1.0), (1024, 2048, 3072)),
        (
            tammes.Objective(temperature=0.5, selection=tammes.NotAbove(margin=0.1, guide=4)),
            (1024, 2048, 3072, 4096),
        ),
    ],
    ids=["hcl", "hcl_ot", "triplet", "not_above"],
)
def test_objectives_grow_linearly(objective: tammes.Objective, sizes: tuple[int, ...]) -> None:
    peaks = [peak_bytes(objective, pairs) for pairs in sizes]
    assert quadratic_share(sizes, peaks) < _LARGEST_QUADRATIC_SHARE, f"peaks {peaks} of {sizes} pairs"
    assert peaks[-1] < (2 * sizes[-1]) ** 2 * 4 / 8, "more than an eighth of one matrix of similarities"


def test_what_sinkhorn_keeps_is_bounded() -> None:
    """One kernel of 2,048 rows, gone before tiles are kept; none at all of a larger batch."""
    objective = recipes.hcl_ot(temperature=0.5, epsilon=1.0)
    assert peak_bytes(objective, 1024) < 1.4 * 4 * 2048**2
    assert peak_bytes(objective, 1536) < 0.5 * 4 * 2048**2


@pytest.mark.parametrize("beta", [1.0, 1.5])
def test_the_tiles_that_are_kept_are_bounded(beta: float) -> None:
    """Those above the diagonal, of at most 32 MiB; with beta = 1 one weight is the root of the other."""
    objective = recipes.hcl(temperature=0.5, beta=beta, class_prior=0.1)
    triangle = 10 / 16 * 4 * 2048**2  # blocks of a quarter of the rows
    kept = 1 if beta == 1.0 else 2
    rest = 8e6  # some tiles of 1 MiB, and rows
    assert kept * triangle < peak_bytes(objective, 1024) < kept * triangle + rest
    assert peak_bytes(objective, 2048) < rest


def test_a_matrix_of_similarities_would_be_noticed() -> None:
    """The dense engine fails by the same measure, at sizes far smaller."""
    objective = tammes.Objective(temperature=0.5, engine=Dense())
    sizes = (128, 256, 512, 1024)
    assert quadratic_share(sizes, [peak_bytes(objective, pairs) for pairs in sizes]) > 0.9


@pytest.mark.parametrize("curvature", [0.0, 0.1])
def test_the_fit_finds_the_curvature(curvature: float) -> None:
    sizes = (1024, 2048, 4096)
    peaks = [5e6 + 200 * pairs + curvature * pairs**2 for pairs in sizes]
    assert quadratic_share(sizes, peaks) == pytest.approx(curvature * 4096**2 / peaks[-1], abs=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks Linux for the peak")
def test_a_process_grows_linearly_to_65536_pairs() -> None:
    """HCL, forward and backward, by the peak of the resident memory of a process for each size."""
    sizes = (2048, 8192, 32768, 65536)
    peaks = [peak_of_a_process(pairs) for pairs in sizes]
    slope = (peaks[-1] - peaks[0]) / (sizes[-1] - sizes[0])
    share = quadratic_share(sizes, peaks)
    print(f"{peaks} bytes at {sizes} pairs: {slope:.0f} for each pair, {share:.0%} of the last quadratic")
    assert share < _LARGEST_QUADRATIC_SHARE, f"peaks {peaks} of {sizes} pairs"
    assert slope < 1000, f"{slope:.0f} bytes for each pair of {_DIM} numbers a view"


def peak_of_a_process(pairs: int) -> int:
    """Bytes beyond the inputs."""
    command = [sys.executable, "-c", _PEAK_IN_A_PROCESS.format(dim=_DIM), str(pairs)]
    # Freed blocks go back to the system at once: the peak is of what is held, not of what malloc keeps.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800, env=environment)
    return int(done.stdout)
