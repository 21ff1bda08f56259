"""Kept studies again, with the kernels of a processor without AVX-512, beside their kept verdicts.

    python benchmarks/other_kernels.py --data FOLDER --out FOLDER positives-table-2 spectral-properties

runs each named study of `studies.py` from its data with torch's and oneDNN's kernels for AVX2, into --out,
where a stopped one goes on. Other kernels round differently, and a training ends with other weights. Counted
are the means behind the verdicts of the page: how many there are, how many lie outside the kept 95 %
interval by more than a millionth, and the largest step of one in half-widths of its interval; then the
verdicts that are another. The code is today's: a difference may also be of a change of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import description
from studies import KEPT, Kept

AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
ROUNDING = 1e-6
Finding = dict[str, Any]


def again(study: Kept, data: Path, out: Path) -> list[Finding]:
    """Run a study on one thread, and return its findings; what it says goes into a file beside its folder."""
    folder = out / study.folder.name
    if not (folder / "findings.json").exists():
        command = study.command(data)
        command[command.index("--out") + 1] = str(folder)
        environment = {**os.environ, **AVX2, "OMP_NUM_THREADS": "1"}
        out.mkdir(parents=True, exist_ok=True)
        with folder.with_suffix(".txt").open("a") as said:
            words = [sys.executable, "-m", "tammes", *command]
            subprocess.run(words, env=environment, stdout=said, stderr=subprocess.STDOUT, check=True)
    return findings(folder)


def findings(folder: Path) -> list[Finding]:
    """The findings of the page of a study."""
    return list(json.loads((folder / "findings.json").read_text(encoding="utf-8")))


def means(found: list[Finding]) -> Iterator[tuple[tuple[int, str, int], Finding]]:
    """The measured means by place: that of the finding, effects or controls, and that within them."""
    for place, finding in enumerate(found):
        for kind in ("effects", "controls"):
            for index, mean in enumerate(finding[kind]):
                if mean["mean"] is not None:
                    yield (place, kind, index), mean


def row(name: str, kept: list[Finding], other: list[Finding]) -> str:
    """The row of a study.

    Raises:
        ValueError: findings of another page.
    """
    beside = dict(means(other))
    steps, outside = [], 0
    for place, before in means(kept):
        if place not in beside or beside[place]["name"] != before["name"]:
            raise ValueError(f"{name}: expected the kept page's {before['name']!r}, which is not there")
        step = abs(beside[place]["mean"] - before["mean"])
        half = (before["high"] - before["low"]) / 2
        beyond = max(before["low"] - beside[place]["mean"], beside[place]["mean"] - before["high"])
        outside += beyond > ROUNDING * max(1.0, abs(before["mean"]))
        if half > 0:
            steps.append(step / half)
    verdicts = [(before["verdict"], after["verdict"]) for before, after in zip(kept, other, strict=True)]
    differ = [f"{before} → {after}" for before, after in verdicts if before != after]
    count = f"{len(beside)} | {outside} | {max(steps, default=0.0):.2f}"
    return f"| {name} | {count} | {len(verdicts)} | {'; '.join(differ) or 'none'} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data of the studies")
    parser.add_argument("--out", type=Path, required=True, help="folder for what is measured")
    parser.add_argument("studies", nargs="+", help="folders of kept studies")
    choice = parser.parse_args()
    known = {study.folder.name: study for study in KEPT}
    if unknown := set(choice.studies) - set(known):
        parser.error(f"there is no study {', '.join(sorted(unknown))}; there is {', '.join(known)}")
    print("| study | means | outside the interval | largest step | verdicts | another |")
    print("|---|---|---|---|---|---|")
    for name in choice.studies:
        other = again(known[name], choice.data, choice.out)
        print(row(name, findings(known[name].folder), other), flush=True)
    print(f"\n{description()}; the studies with kernels for AVX2")


if __name__ == "__main__":
    main()
