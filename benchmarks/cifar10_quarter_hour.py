"""What a ResNet9 learns of CIFAR-10 within a quarter of an hour on two cores.

    python benchmarks/cifar10_quarter_hour.py --data cifar-10-batches-bin
    python benchmarks/cifar10_quarter_hour.py --data cifar-10-batches-bin --precision 32-true --epochs 12

trains SimCLR on all 50,000 images by the command that docs/training.md shows, and names the 10,000 test
images by `tammes evaluate`: by the weighted vote of 200 neighbors, the vote of 20 equal ones, and a linear
readout; in percent, with Wilson's 95 % intervals. Minutes are those of the whole command on the wall.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import description
from tammes.data import cifar10
from tammes.estimate import Estimate


def tammes(*words: str) -> str:
    """Run a command, show its messages, and return what it prints."""
    command = [sys.executable, "-m", "tammes", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def measured(run: Path, data: Path, *options: str) -> dict[str, Any]:
    """The JSON object of `tammes evaluate` on the test images."""
    found = tammes("evaluate", str(run), "--data", str(data), "--accelerator", "cpu", "--json", *options)
    return dict(json.loads(found))


def share(accuracy: float, count: int) -> str:
    """An accuracy on this number of images with its interval, in percent."""
    return Estimate.of_share(accuracy, count).text(1, scale=100)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="CIFAR-10 as published")
    parser.add_argument("--epochs", type=int, default=24, help="epochs (24)")
    parser.add_argument("--precision", default="bf16-mixed", help="bf16-mixed (the default) or 32-true")
    choice = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run = Path(place, "run")
        options = ["--temperature", "0.2", "--epochs", str(choice.epochs), "--precision", choice.precision]
        options += ["--neighbors", "200", "--accelerator", "cpu", "--out", str(run)]
        network = ["encoder:resnet9", "--encoder.width", "32", "schedule:cosine"]
        begun = time.perf_counter()
        tammes("train", "simclr", "--data", str(choice.data), *options, *network)
        minutes = (time.perf_counter() - begun) / 60
        weighted = measured(run, choice.data, "--neighbors", "200", "--neighbor-temperature", "0.07")
        equal = measured(run, choice.data, "--neighbors", "20")
    print("| epochs | precision | vote of 200, % | vote of 20, % | linear readout, % | minutes |")
    print("|---|---|---|---|---|---|")
    count = len(cifar10(choice.data, "test"))
    cells = [share(accuracy, count) for accuracy in (weighted["knn"], equal["knn"], equal["probe"])]
    print(f"| {choice.epochs} | {choice.precision} | {' | '.join(cells)} | {minutes:.1f} |\n")
    print(description())


if __name__ == "__main__":
    main()
