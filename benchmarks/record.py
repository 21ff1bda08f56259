"""Run a benchmark and keep what it prints as a page of benchmarks/results, which the documents quote.

    python benchmarks/record.py features --encoder convnet32
    python benchmarks/record.py --name graphs-parts graphs --data tu/PROTEINS --parts

The page has the day, the command, and the output: the machine, the versions, and tables. A benchmark that
fails leaves no page; a verdict that is not met, exit code 1, is on it. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from machine import instructions

HERE = Path(__file__).parent
WIDTH = "300"
"""Columns of the terminal that the benchmark is told, so that no cell of a table is broken."""


def page(name: str, words: list[str], output: str, day: str) -> str:
    """Return the page of an output: its tables, and a paragraph for each line that is none."""
    parts = [f"# {day}, {name}", f"    python benchmarks/{shlex.join(words)}"]
    lines = [line.strip() for line in output.splitlines()]
    for before, line in pairwise(["", *lines]):
        if line.startswith("|") and before.startswith("|"):
            parts[-1] += f"\n{line}"
        elif line:
            parts.append(line)
    return "\n\n".join(parts) + "\n"


def output_of(words: list[str]) -> tuple[str, bool]:
    """Run the benchmark, show what it prints, and return that and whether it ended without an error."""
    with subprocess.Popen(
        [sys.executable, str(HERE / words[0]), *words[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": WIDTH, "PYTHONWARNINGS": "ignore"},
    ) as running:
        assert running.stdout is not None
        lines = []
        for line in running.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    output = "".join(lines)
    return output, running.returncode in (0, 1) and "Traceback (most recent call last)" not in output


def main() -> int:
    """Run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--name", help="name of the page, by default that of the benchmark")
    parser.add_argument("benchmark", help="name of the script")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="its options")
    choice = parser.parse_args()
    name = choice.name or choice.benchmark
    words = [f"{choice.benchmark}.py", *choice.words]
    output, ended = output_of(words)
    if not ended:
        print("not recorded: the benchmark failed")
        return 1
    day = datetime.now(UTC).date().isoformat()
    path = HERE / "results" / f"{day}-{name}-{instructions().lower()}.md"
    path.write_text(page(name, words, output, day), encoding="utf-8")
    print(f"Wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
