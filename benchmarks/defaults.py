"""What `tammes train simclr` reaches when it is told nothing but the data and a temperature.

    python benchmarks/defaults.py --data FOLDER
    python benchmarks/defaults.py --data FOLDER --only digits CIFAR-10

FOLDER holds `mnist`, `cifar-10`, `cifar-100` (as published, or with folders `train` and `test`), `flowers` (a
folder for each species), `tasks` (MR, SUBJ and TREC as published) and `chapters` (from chapters.py). What is
not there is left out. Of the large sets of images a part is drawn at random. Each row of the table is a
command; its accuracies are those of 20 nearest neighbors on what the command held out, beside the untrained
encoder and features without an encoder, in percent with Wilson's 95 % intervals. Minutes are processor time.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from PIL import Image

from machine import description
from tammes.data import Images, folder, published_at
from tammes.evaluation.sentence_tasks.find import find_tasks
from tammes.evaluation.sentence_tasks.tasks import SentenceClasses
from tammes.training.run_folder import read_config

CELL = re.compile(r"^│ (?P<name>\S.*?) +│ +(?P<cell>\d[\d.]* \[[\d., ]+\]) │", re.MULTILINE)
SAID = re.compile(r"^(Learned|Better than|Below|No better than|Collapsed)[^:]*", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table.

    Args:
        name: name of the data in the table.
        of: their folder; None for data that the library has.
        prepared: what follows `--data`, from that folder and an empty one.
        temperature: temperature of the objective.
    """

    name: str
    of: str | None = None
    prepared: Callable[[Path, Path], list[str]]
    temperature: float = 0.2


def as_it_is(source: Path, out: Path) -> list[str]:
    """A folder that the command reads."""
    return [str(source)]


def part(count: int, size: int, *, gray: bool = False) -> Callable[[Path, Path], list[str]]:
    """A random part of a set of images, written as pictures into a folder for each class."""

    def prepared(source: Path, out: Path) -> list[str]:
        published = published_at(source)
        images: Images = (
            folder(source / "train", size=size) if published is None else published.load(source, "train")
        )
        assert images.labels is not None
        rows = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[:count].tolist()
        for row, pixels in zip(rows, images.batch(rows), strict=True):
            picture = Image.fromarray((pixels[0] if len(pixels) == 1 else pixels.permute(1, 2, 0)).numpy())
            place = out / f"{int(images.labels[row]):03d}"
            place.mkdir(exist_ok=True)
            (picture.convert("L") if gray else picture).save(place / f"{row:05d}.png", compress_level=1)
        return [str(out)]

    return prepared


def task(name: str) -> Callable[[Path, Path], list[str]]:
    """The training sentences of a published task, as a table with a column of labels."""

    def prepared(source: Path, out: Path) -> list[str]:
        (found,) = (each for each in find_tasks(source) if each.name == name)
        assert isinstance(found, SentenceClasses)
        table = out / f"{name}.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            labels = [found.classes[label] for label in found.labels.tolist()]
            csv.writer(file).writerows([("text", "label"), *zip(found.sentences, labels, strict=True)])
        return [str(table), "--label-column", "label"]

    return prepared


def files(count: int) -> Callable[[Path, Path], list[str]]:
    """Files of a folder, drawn at random."""

    def prepared(source: Path, out: Path) -> list[str]:
        every = sorted(source.iterdir())
        for at in torch.randperm(len(every), generator=torch.Generator().manual_seed(0))[:count].tolist():
            (out / every[at].name).symlink_to(every[at].resolve())
        return [str(out)]

    return prepared


ROWS = (
    Row(name="digits", prepared=lambda source, out: ["digits"]),
    Row(name="MNIST", of="mnist", prepared=part(12_000, 28)),
    Row(name="CIFAR-10", of="cifar-10", prepared=part(12_000, 32)),
    Row(name="CIFAR-10 in gray", of="cifar-10", prepared=part(5_000, 32, gray=True)),
    Row(name="CIFAR-100", of="cifar-100", prepared=part(12_000, 32)),
    Row(name="flowers of 90 species, 64 pixels", of="flowers", prepared=as_it_is),
    Row(name="film reviews (MR)", of="tasks", prepared=task("MR"), temperature=0.1),
    Row(name="subjective or objective (SUBJ)", of="tasks", prepared=task("SUBJ"), temperature=0.1),
    Row(name="questions (TREC)", of="tasks", prepared=task("TREC"), temperature=0.1),
    Row(name="100 chapters of novels", of="chapters", prepared=files(100), temperature=0.1),
)


def line(row: Row, data: Path) -> str:
    """Train by the command, and return the line of the table."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "data")
        out.mkdir()
        words = row.prepared(data / (row.of or ""), out)
        run = Path(place, "run")
        command = ["train", "simclr", "--temperature", f"{row.temperature:g}", "--accelerator", "cpu"]
        begun = os.times()
        ended = subprocess.run(
            [sys.executable, "-m", "tammes", *command, "--out", str(run), "--data", *words],
            env={**os.environ, "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )
        now = os.times()
        if ended.returncode:
            raise RuntimeError(f"{row.name}: {ended.stderr.strip()}")
        count = read_config(run / "config.yaml").data.count
    minutes = (now.children_user + now.children_system - begun.children_user - begun.children_system) / 60
    trained, untrained, without = (found["cell"] for found in CELL.finditer(ended.stdout))
    said = SAID.search(ended.stdout)
    assert said
    cells = (row.name, f"{count:,}", trained, untrained, without, said[0].lower(), f"{minutes:.1f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="rows of the table to measure")
    choice = parser.parse_args()
    print("| data | training rows | trained | untrained | without an encoder | said | minutes |")
    print("|---|---|---|---|---|---|---|")
    for row in ROWS:
        if choice.only is not None and row.name not in choice.only:
            continue
        if row.of is not None and not (choice.data / row.of).exists():
            print(f"{row.name}: left out, there is no {choice.data / row.of}", file=sys.stderr)
            continue
        print(line(row, choice.data), flush=True)
    print(f"\n{description()}")


if __name__ == "__main__":
    main()
