"""Time and memory of `tammes search`: the index of a run, and the answers of a process that has started.

    python benchmarks/search.py RUN --data books/ --repeat 20

The index is built unless the run has it already; `--data` gives the sentences, one on each line of the files.
Then queries, which are sentences of the collection drawn at random, are answered one at a time.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time
from pathlib import Path

from machine import description
from tammes.data import texts
from tammes.diagnostics.nearest import largest_products
from tammes.training import load_run
from tammes.training.sentence_index import FOLDER, sentence_index, unit_features

MIB = 2**10


def main() -> None:
    """Build or read the index, ask, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--repeat", type=int, default=50)
    choice = parser.parse_args()
    print(description())
    begun = time.perf_counter()
    run, sentences = load_run(choice.run), texts(choice.data)
    read = time.perf_counter() - begun
    begun = time.perf_counter()
    index = sentence_index(choice.run, run.model, sentences, say=print)
    made = time.perf_counter() - begun
    n, dim = index.rows.shape
    print(f"{n:,} sentences x {dim}: read in {read:.1f} s, index in {made:.1f} s")
    draw = random.Random(0)
    queries = [draw.choice(sentences.sentences) for _ in range(choice.repeat)]
    index.search(queries[:1])  # the first one reads the file into memory
    seconds = []
    for query in queries:
        begun = time.perf_counter()
        index.search([query])
        seconds.append(time.perf_counter() - begun)
    _print("one query", seconds)
    asked = unit_features(run.model, sentences.subset([0]))
    exact = []
    for _ in range(5):
        begun = time.perf_counter()
        largest_products(asked, index.rows, 10)
        exact.append(time.perf_counter() - begun)
    _print("the same by an exact search, encoder left out", exact)
    disk = sum(file.stat().st_size for file in (choice.run / FOLDER).iterdir()) / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    print(
        f"recall {index.recall:.3f}, {disk:,.0f} MiB on disk, peak memory {peak:,.0f} MiB, mapped pages too"
    )
    print(f"features {4 * n * dim / 2**20:,.0f} MiB")


def _print(what: str, seconds: list[float]) -> None:
    median, slowest = 1000 * statistics.median(seconds), 1000 * max(seconds)
    print(f"{what}: median {median:.1f} ms, slowest {slowest:.1f} ms of {len(seconds)}")


if __name__ == "__main__":
    main()
