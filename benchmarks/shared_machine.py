"""How much longer a training takes beside another busy process, by how long threads wait for each other.

    python benchmarks/shared_machine.py
    python benchmarks/shared_machine.py --smoke

Threads of OpenMP that have ended their part of an operation wait for the others busily, and sleep only after
a while. Where other processes keep the processors busy, this costs more than the operations. `tammes` lets
them sleep sooner, as GOMP_SPINCOUNT=4000 does in other programs. The busy process has a session of its own,
like one of another terminal or user: Linux shares a processor equally between sessions.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from machine import description
from tammes.cli.main import SPINS

SETTINGS: Mapping[str, Mapping[str, str]] = {
    "the default of OpenMP": {},
    f"{'='.join(SPINS)}, as tammes": dict([SPINS]),
    "OMP_WAIT_POLICY=passive": {"OMP_WAIT_POLICY": "passive"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
TRAINING = """
import sys
from dataclasses import replace
from tammes.cli.options.compare import parse
from tammes.training import Machine, train

choice = parse("simclr --data digits schedule:constant".split())
data, _ = choice.training.load(choice.source)
config = replace(choice.config("simclr", data), epochs=int(sys.argv[1]))
print(train(config, data, machine=Machine(accelerator="cpu", progress=False)).seconds)
"""


def seconds(setting: Mapping[str, str], epochs: int) -> float:
    """Return the seconds of a training on digits in a new process, without its start."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    done = subprocess.run(
        [sys.executable, "-c", TRAINING, str(epochs)],
        env={**inherited, **setting},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep as many processors busy."""
    endless = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(endless, start_new_session=True) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3, help="trainings behind each median")
    parser.add_argument("--smoke", action="store_true", help="one epoch, once; no result")
    choice = parser.parse_args()
    epochs, repeats = (1, 1) if choice.smoke else (choice.epochs, choice.repeats)
    print(description())
    print(f"\nSeconds of {epochs} epochs on digits, medians of {repeats}:\n")
    print("| threads wait | alone | beside one busy process |\n|---|---|---|")
    measured: dict[tuple[str, int], list[float]] = {}
    for _ in range(repeats):
        for others in (0, 1):
            with busy(others):
                for name, setting in SETTINGS.items():
                    measured.setdefault((name, others), []).append(seconds(setting, epochs))
    for name in SETTINGS:
        print(f"| {name} | {median(measured[name, 0]):.1f} | {median(measured[name, 1]):.1f} |", flush=True)


if __name__ == "__main__":
    main()
