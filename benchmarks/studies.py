"""Run the studies that the repository keeps, and keep their tables and verdicts.

    python benchmarks/studies.py --list
    python benchmarks/studies.py --data FOLDER                 # all, the quick ones first
    python benchmarks/studies.py --data FOLDER --only geometry-bias sets-k-clique

FOLDER holds the data by the names that `--list` shows; a study whose data are not there is left out, and
named. A study writes into `benchmarks/results/studies`, goes on from its table after a stop, and has a page
on the site with what came out. `runs.json` beside a table says when, where and at which commit each of its
pieces was measured, and the processor time of the piece.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tammes.atomic import write_atomically
from tammes.training.environment import processor

STUDIES = Path(__file__).parent / "results/studies"
DIGITS = "digits"
"""Data that need no file."""
NOT_KEPT = ("report.html", "fields", "fluorescein.npy", "embeddings*")
"""Pages, which the same command makes, and what pictures of single objects are drawn from; as patterns."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """A study that the repository keeps.

    Args:
        entry: name of the entry of `tammes reproduce`.
        budget: its budget.
        seeds: number of seeds; None for as many as the budget has.
        seed: the first.
        data: its data, a name within the folder of `--data` or `DIGITS`; None for an entry without.
        name: its folder in `results/studies`; None for the name of the entry.
    """

    entry: str
    budget: float
    seeds: int | None = None
    seed: int = 0
    data: str | None = None
    name: str | None = None

    @property
    def folder(self) -> Path:
        """Where its table is."""
        return STUDIES / (self.name or self.entry)

    def place(self, data: Path) -> Path | str | None:
        """Where its data are, within the folder of all data."""
        return self.data if self.data in (None, DIGITS) else data / self.data

    def command(self, data: Path) -> list[str]:
        """The command that runs it, without `tammes`."""
        count = [] if self.seeds is None else ["--seeds", str(self.seeds)]
        place = self.place(data)
        given = [] if place is None else ["--data", str(place)]
        words = ["reproduce", self.entry, "--budget", f"{self.budget:g}", "--seed", str(self.seed)]
        return [*words, *count, *given, "--out", str(self.folder)]


CIFAR_10, CIFAR_100, OVER = "cifar-10-batches-bin", "cifar-100", "mnist-over-cifar-100"
TINY_IMAGENET = "tiny-imagenet-100"
KEPT = (
    Kept(entry="negatives-bounds", budget=1.0),
    Kept(entry="geometry-bias", budget=0.1),
    Kept(entry="geometry-packing", budget=0.1),
    Kept(entry="spectral-multiplicities", budget=1.0, data="eigenvalues"),
    Kept(entry="transport-degeneracy", budget=1.0),
    Kept(entry="sets-eigenvectors", budget=0.05, seeds=3, data="tu"),
    Kept(entry="sets-k-clique", budget=0.05, seeds=3, data="tu"),
    Kept(entry="sets-training-error", budget=0.05, seeds=3, data="mnist"),
    Kept(entry="spectral-properties", budget=0.02, seeds=5),
    Kept(entry="spectral-substructures", budget=0.02, seeds=5, data="substructures"),
    Kept(entry="features-pictures", budget=0.1, data=CIFAR_100),
    Kept(entry="features-pictures", budget=0.1, data=CIFAR_10, name="features-pictures-cifar-10"),
    Kept(entry="features-robust", budget=0.1, data=CIFAR_100),
    Kept(entry="features-adversarial", budget=0.1, data=CIFAR_100),
    Kept(entry="geometry-retrieval", budget=0.1, data="flowers"),
    Kept(entry="positives-table-2", budget=1.0),
    Kept(entry="positives-table-1", budget=1.0),
    Kept(entry="positives-figure-3", budget=0.3),
    Kept(entry="spectral-automorphisms", budget=1.0, data="eigenvalues"),
    Kept(entry="negatives-text", budget=0.004, data="chapters"),
    Kept(entry="features-volumes", budget=0.1),
    Kept(entry="spectral-texture", budget=0.002, seeds=5, data="spot"),
    Kept(entry="spectral-filters", budget=0.0025, seed=4, seeds=46, data="filters"),
    Kept(
        entry="spectral-filters",
        budget=0.01,
        seed=4,
        seeds=20,
        data="filters",
        name="spectral-filters-all-rows",
    ),
    Kept(entry="features-trade-off", budget=0.1, data=OVER),
    Kept(entry="features-classification", budget=0.05, data=CIFAR_100),
    Kept(entry="negatives-vision", budget=0.1, data="cifar-10-and-mnist"),
    Kept(entry="geometry-ablation", budget=0.1, data=CIFAR_10),
    Kept(entry="geometry-equivariance", budget=0.1, data=CIFAR_10),
    Kept(entry="geometry-classification", budget=0.1, data=CIFAR_10),
    Kept(entry="features-ifm", budget=0.1, data=OVER),
    Kept(entry="positives-real-data", budget=1.0, data="cifar-10-and-mnist"),
    Kept(entry="sets-combinatorial", budget=0.1, seeds=3, data="tu"),
    Kept(entry="sets-search", budget=0.02, seeds=3, data="tu"),
    # Of GatedGCN with 8 eigenvectors alone: the next has all cells, at a smaller budget.
    Kept(entry="spectral-zinc", budget=0.04, seeds=3, data="zinc"),
    Kept(entry="spectral-zinc", budget=0.01, seeds=3, data="zinc", name="spectral-zinc-all"),
    Kept(entry="spectral-molecules", budget=0.04, seeds=3, data="molecules"),
    Kept(entry="graphs-hard", budget=1.0, data="tu-molecules", name="graphs-hard-molecules"),
    Kept(entry="graphs-transport", budget=1.0, data="tu-molecules", name="graphs-transport-molecules"),
    Kept(entry="graphs-hard", budget=1.0, seeds=3, data="tu-enzymes", name="graphs-hard-enzymes"),
    Kept(entry="graphs-transport", budget=1.0, seeds=5, data="tu-enzymes", name="graphs-transport-enzymes"),
    Kept(entry="graphs-hard", budget=1.0, seeds=3, data="tu-imdb-binary", name="graphs-hard-imdb-binary"),
    Kept(
        entry="graphs-transport",
        budget=1.0,
        seeds=3,
        data="tu-imdb-binary",
        name="graphs-transport-imdb-binary",
    ),
    Kept(
        entry="graphs-transport",
        budget=1.0,
        seeds=3,
        data="tu-imdb-multi",
        name="graphs-transport-imdb-multi",
    ),
    Kept(entry="graphs-hard", budget=1.0, seeds=3, data="tu-imdb-multi", name="graphs-hard-imdb-multi"),
    Kept(entry="graphs-hard", budget=1.0, seeds=3, data="tu-proteins", name="graphs-hard-proteins"),
    Kept(entry="graphs-hard", budget=1.0, seeds=3, data="tu-dd", name="graphs-hard-dd"),
    # A tenth of the papers' epochs: one of this set takes as long as two of DD or twenty of PROTEINS.
    Kept(
        entry="graphs-hard",
        budget=0.01,
        seeds=3,
        data="tu-reddit-binary",
        name="graphs-hard-reddit-binary",
    ),
    Kept(entry="graphs-nodes", budget=0.1, seeds=3),
    Kept(entry="graphs-augmented", budget=0.02, seeds=3, data="tu"),
    Kept(entry="graphs-transport", budget=0.02, seeds=3, data="tu"),
    Kept(entry="graphs-hard", budget=0.02, seeds=3, data="tu"),
    Kept(entry="sentences-negatives", budget=0.02, seeds=5, data="novels"),
    Kept(entry="sentences-quick-thoughts", budget=0.1, data="novels"),
    Kept(entry="masked-losses", budget=0.02, data=CIFAR_10),
    Kept(entry="masked-terms", budget=0.02, data=CIFAR_10),
    Kept(entry="masked-methods", budget=0.02, data=CIFAR_10),
    Kept(entry="masked-few-shot", budget=0.02, data=CIFAR_10),
    Kept(entry="masked-robustness", budget=0.02, data=CIFAR_10),
    Kept(entry="masked-settings", budget=0.02, data=CIFAR_10),
    Kept(entry="masked-methods", budget=0.1, data=CIFAR_10, name="masked-methods-6x192"),
    Kept(entry="masked-few-shot", budget=0.1, data=CIFAR_10, name="masked-few-shot-6x192"),
    Kept(entry="masked-robustness", budget=0.1, data=CIFAR_10, name="masked-robustness-6x192"),
    Kept(entry="masked-losses", budget=0.1, data=CIFAR_10, name="masked-losses-6x192"),
    Kept(entry="masked-terms", budget=0.1, data=CIFAR_10, name="masked-terms-6x192"),
    Kept(entry="negatives-images", budget=0.1, data=CIFAR_10),
    Kept(entry="negatives-images", budget=0.1, data=CIFAR_100, name="negatives-images-cifar-100"),
    Kept(entry="negatives-images", budget=0.1, data=TINY_IMAGENET, name="negatives-images-tiny-imagenet"),
    Kept(entry="negatives-images", budget=0.1, data="omniglot", name="negatives-images-omniglot"),
    Kept(entry="negatives-images", budget=0.1, data=DIGITS, name="negatives-images-digits"),
)
"""All of them, the quick ones first, with the budgets that the documents quote."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What measured a part of a study, from one start of its command to the end or a stop.

    Args:
        date: day of the start, UTC.
        commit: commit of the code, with a plus sign where files were changed.
        torch: version of torch.
        processor: kind of processor.
        threads: threads of torch.
        seconds: processor time.
    """

    date: str
    commit: str
    torch: str
    processor: str
    threads: int
    seconds: float


def measured(study: Kept, data: Path, threads: int, jobs: int) -> int:
    """Run a study to its end, and return the exit status of its command."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads * jobs)}
    begun, date = os.times(), datetime.now(UTC).date().isoformat()
    command = [sys.executable, "-m", "tammes", *study.command(data), "--jobs", str(jobs)]
    status = subprocess.run(command, env=environment, check=False).returncode
    ended = os.times()
    seconds = ended.children_user + ended.children_system - begun.children_user - begun.children_system
    file = study.folder / "runs.json"
    if not (study.folder / "study.json").exists():
        return status
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    piece = Piece(
        date=date,
        commit=commit(),
        torch=version("torch"),
        processor=processor(),
        threads=threads,
        seconds=round(seconds, 1),
    )
    write_atomically(file, (json.dumps([*known, asdict(piece)], indent=1) + "\n").encode("utf-8"))
    if status != 0:  # a study of several parts has findings of those before the stop, but is not whole
        (study.folder / "findings.json").unlink(missing_ok=True)
    else:
        for left in [left for name in NOT_KEPT for left in study.folder.glob(name)]:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    return status


def commit() -> str:
    """The commit of the code, with a plus sign where its files were changed."""
    git = ["git", "-C", str(Path(__file__).parent)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", "../src"], check=False).returncode
    return name.stdout.strip() + ("+" if changed else "")


def main() -> None:
    """Run what is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the data of the studies")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="folders of the studies to run")
    parser.add_argument("--threads", type=int, default=1, help="threads of a cell")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time, each in a process")
    parser.add_argument("--list", action="store_true", help="show the studies, and which are whole")
    choice = parser.parse_args()
    names = [study.folder.name for study in KEPT]
    if unknown := set(choice.only or ()) - set(names):
        parser.error(f"there is no study {', '.join(sorted(unknown))}; there is {', '.join(names)}")
    if not choice.list and choice.data is None:
        parser.error("give the folder of the data with --data")
    for study in KEPT:
        done = (study.folder / "findings.json").exists()
        if choice.list:
            begun = "whole" if done else "begun" if study.folder.exists() else "not begun"
            print(f"{study.folder.name:28}{begun:12}{study.data or 'no data':24}{study.budget:g}")
            continue
        if choice.only is not None and study.folder.name not in choice.only:
            continue
        if done:
            if choice.only is not None:
                print(f"{study.folder.name}: whole; take {study.folder} away to measure anew", flush=True)
            continue
        place = study.place(choice.data)
        if isinstance(place, Path) and not place.exists():
            print(f"{study.folder.name}: left out, there is no {place}", flush=True)
            continue
        status = measured(study, choice.data, choice.threads, choice.jobs)
        print(f"{study.folder.name}: ended with {status}", flush=True)


if __name__ == "__main__":
    main()
