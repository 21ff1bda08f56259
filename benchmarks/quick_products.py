"""Steps of networks with torch's own products of float32 matrices, and after `quick_products()`.

    python benchmarks/quick_products.py
    python benchmarks/quick_products.py --threads 1

The replacement is for a whole process. So two processes, of which one has it, take turns with the same
networks. A step is forward and backward, from random inputs. Medians of rounds; ratios are medians of the
rounds' ratios.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from machine import description
from tammes import quick_products
from tammes.encoders import ResNet9Config, VisionTransformerConfig

ROUNDS, SHORTEST = 9, 0.2
BATCH, SIDE = 128, 32


def feed_forward() -> Callable[[], Tensor]:
    """A layer of a transformer, of width 384, on 4,096 tokens."""
    network = nn.Sequential(nn.Linear(384, 1536), nn.GELU(), nn.Linear(1536, 384))
    tokens = torch.randn(4096, 384)
    return lambda: network(tokens)


def of_images(config: VisionTransformerConfig | ResNet9Config) -> Callable[[], Tensor]:
    """An encoder of photographs."""
    network = config.build(channels=3, size=SIDE)
    images = torch.rand(BATCH, 3, SIDE, SIDE)
    return lambda: network(images)


def perceptron() -> Callable[[], Tensor]:
    """Three layers on rows of 768 features, such as a head on kept features."""
    network = nn.Sequential(
        nn.Linear(768, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 128)
    )
    rows = torch.randn(1024, 768)
    return lambda: network(rows)


def recurrent() -> Callable[[], Tensor]:
    """PyTorch's recurrent network of 256 units on sentences of 24 words."""
    network = nn.GRU(300, 256, batch_first=True)
    words = torch.randn(BATCH, 24, 300)
    return lambda: network(words)[0]


NETWORKS: dict[str, Callable[[], Callable[[], Tensor]]] = {
    "feed-forward layer, 384 to 1,536": feed_forward,
    "Vision Transformer, 6 x 192": lambda: of_images(
        VisionTransformerConfig(patch=4, width=192, depth=6, heads=3)
    ),
    "perceptron of three layers": perceptron,
    "ResNet9, width 32 (convolutions)": lambda: of_images(ResNet9Config(width=32)),
    "torch's GRU, 256 units": recurrent,
}


def serve(threads: int, *, quick: bool) -> None:
    """Answer each line, the name of a network, with the milliseconds of its step."""
    torch.set_num_threads(threads)
    if quick:
        quick_products()
    steps = {name: make() for name, make in NETWORKS.items()}
    for line in sys.stdin:
        step, calls = steps[line.strip()], 0
        step().square().mean().backward()
        started = time.perf_counter()
        while time.perf_counter() - started < SHORTEST:
            step().square().mean().backward()
            calls += 1
        print(1000 * (time.perf_counter() - started) / calls, flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--serve", choices=("torch", "quick"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.threads, quick=options.serve == "quick")
        return
    words = [sys.executable, __file__, "--threads", str(options.threads), "--serve"]
    servers = [
        subprocess.Popen([*words, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for kind in ("torch", "quick")
    ]

    def milliseconds(server: subprocess.Popen[str], name: str) -> float:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{name}\n")
        server.stdin.flush()
        return float(server.stdout.readline())

    print(f"{description()}, {options.threads} threads used\n")
    print("| step | torch, ms | quick, ms | times as quick |\n|---|---|---|---|")
    for name in NETWORKS:
        rounds = []
        for turn in range(ROUNDS):
            order = servers if turn % 2 else servers[::-1]
            found = {id(server): milliseconds(server, name) for server in order}
            rounds.append([found[id(server)] for server in servers])
        ours, quick = (statistics.median(column) for column in zip(*rounds, strict=True))
        ratio = statistics.median(one / other for one, other in rounds)
        print(f"| {name} | {ours:.1f} | {quick:.1f} | {ratio:.2f} |", flush=True)
    for server in servers:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()


if __name__ == "__main__":
    main()
