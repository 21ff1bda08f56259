"""Seconds and verdicts of every entry of `tammes reproduce` at a small budget, as a table for the docs.

    python benchmarks/entries.py --data sets-search=FOLDER --data negatives-vision=FOLDER ...
    python benchmarks/entries.py --only transport-degeneracy --budget 0.01

Each entry runs in a separate process, in a folder that is removed afterwards. An entry whose data are not
given is listed without numbers, unless it runs without them. Seconds are processor time, of which no entry
may take more than two minutes at a budget of 0.001.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from machine import description
from tammes.papers import Entry, entries

LIMIT = 120.0
"""Seconds of processor time that an entry may take."""


def row(entry: Entry, budget: float, data: Path | None) -> str:
    """Run an entry, and return its row of the table."""
    if entry.data is not None and data is None and not entry.optional:
        return f"| {entry.name} | - | needs {entry.data} |"
    command = [sys.executable, "-m", "tammes", "reproduce", entry.name, "--budget", f"{budget:g}"]
    with tempfile.TemporaryDirectory() as folder:
        command += ["--out", folder, *(() if data is None else ("--data", str(data)))]
        before = os.times()
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        after = os.times()
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        if ended.returncode:
            return f"| {entry.name} | {seconds:.0f} | failed: {ended.stderr.strip().splitlines()[-1]} |"
        found = json.loads(Path(folder, "findings.json").read_text(encoding="utf-8"))
    verdicts = [finding["verdict"] for finding in found]
    counts = Counter("not resolved" if each.startswith("not resolved") else each for each in verdicts)
    words = ", ".join(f"{count} × {verdict}" for verdict, count in counts.items())
    late = " (too long)" if seconds > LIMIT else ""
    return f"| {entry.name} | {seconds:.0f}{late} | {words} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--budget", type=float, default=0.001)
    parser.add_argument("--only", nargs="*", help="names of entries")
    parser.add_argument("--data", action="append", default=[], metavar="NAME=PATH")
    choice = parser.parse_args()
    data = {name: Path(path) for name, path in (each.split("=", 1) for each in choice.data)}
    known = {entry.name: entry for entry in entries()}
    unknown = {*data, *(choice.only or ())} - set(known)
    if unknown:
        parser.error(f"there is no entry {', '.join(sorted(unknown))}; there is {', '.join(known)}")
    print(f"{description()}\n\n| entry | seconds | verdicts at --budget {choice.budget:g} |\n|---|---|---|")
    for name in choice.only or known:
        print(row(known[name], choice.budget, data.get(name)), flush=True)


if __name__ == "__main__":
    main()
