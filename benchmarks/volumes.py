"""Time of volumes on one core: the 3-D network with channels last and first, and the augmentation.

    OMP_NUM_THREADS=1 python benchmarks/volumes.py

Process time, medians, the two layouts interleaved.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from machine import description
from tammes.encoders import ResNet3DConfig
from tammes.positives import Scans

ROUNDS, BATCH = 7, 32


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def step(network: nn.Module, volumes: Tensor) -> Callable[[], object]:
    return lambda: network(volumes).square().sum().backward()


def main() -> None:
    torch.set_num_threads(1)
    print(description())
    print("| volume | width | channels last, s | channels first, s | ratio |\n|---|---|---|---|---|")
    for side in (16, 24, 32):
        volumes = torch.rand(BATCH, 1, side, side, side)
        for width in (8, 16):
            build = ResNet3DConfig(width=width).build
            # The layers by themselves leave the layout as it comes.
            steps = step(build(size=(side,) * 3), volumes), step(build(size=(side,) * 3).layers, volumes)
            times = [[seconds(each) for each in steps] for _ in range(ROUNDS)]
            last, first = (statistics.median(each) for each in zip(*times, strict=True))
            print(f"| {side}^3 | {width} | {last:.3f} | {first:.3f} | {last / first:.2f} |")
        views = statistics.median(seconds(partial(Scans(), volumes, 0)) for _ in range(ROUNDS))
        print(f"| {side}^3 | views of {BATCH} | {views:.3f} | | |")


if __name__ == "__main__":
    main()
