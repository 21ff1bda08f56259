"""Memory that is kept needs no fresh pages."""

from __future__ import annotations

import subprocess
import sys

import pytest

PAGES = """
import resource, sys, torch
from tammes.spectral import keep_freed_memory
if sys.argv[1] == "kept" and not keep_freed_memory():
    sys.exit(77)
def step():
    torch.ones(2**24)  # 64 MiB
for _ in range(3):
    step()
def pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(min(pages() for _ in range(5)))  # a system that moves pages meanwhile makes a step fault, too
"""


def pages(way: str) -> int:
    done = subprocess.run([sys.executable, "-c", PAGES, way], capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("the C library has no such setting")
    return int(done.stdout)


def test_a_step_gets_the_pages_of_the_one_before() -> None:
    assert pages("kept") < 0.1 * 2**26 / 4096  # of the pages of 4 KiB that the tensor has
