"""Diagnoses: false alarms and misses on planted faults, and time and memory by the number of rows.

    python benchmarks/diagnose.py --seeds 20
    python benchmarks/diagnose.py --rows 10000 100000 1000000 --dim 256

Each size is diagnosed by `tammes diagnose` in a process of its own, start included. Beside it stand other
packages' functions for some of the measures on the same rows, measured in the same run: those that are
installed of scikit-learn, NumPy, pynndescent (neighbors), scikit-dimension (TwoNN) and cleanlab (label errors
from a given probability of each class).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from machine import description

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "diagnosis"))

ALONE = "import resource, sys, time; start = time.perf_counter(); {code}; \
usage = resource.getrusage(resource.RUSAGE_SELF); \
print(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)"
PEERS = {
    "tammes diagnose, all measures": "from tammes.cli.main import main; \
sys.stdout = sys.stderr; main(['diagnose', 'rows.npy', '--out', 'out']); sys.stdout = sys.__stdout__",
    "scikit-learn, 20 exact neighbors": "import numpy as np; from sklearn.neighbors import NearestNeighbors; \
x = np.load('rows.npy'); NearestNeighbors(n_neighbors=21, metric='cosine').fit(x).kneighbors(x)",
    "NumPy, singular values": "import numpy as np; np.linalg.svd(np.load('rows.npy'), compute_uv=False)",
    "pynndescent, 20 approximate neighbors": "import numpy as np; from pynndescent import NNDescent; \
x = np.load('rows.npy'); NNDescent(x, n_neighbors=21, metric='cosine').neighbor_graph",
    "scikit-dimension, TwoNN": "import numpy as np; from skdim.id import TwoNN; \
TwoNN().fit(np.load('rows.npy'))",
    "cleanlab, label errors of given probabilities": "import numpy as np; \
from cleanlab.filter import find_label_issues; \
random = np.random.default_rng(0); n = len(np.load('rows.npy', mmap_mode='r')); \
p = random.dirichlet(np.full(10, 0.2), n); find_label_issues(random.integers(10, size=n), p, n_jobs=1)",
}
PACKAGES = {"pynndescent": "pynndescent", "scikit-dimension": "skdim", "cleanlab": "cleanlab"}
"""Module of each package that need not be installed."""
SLOW = ("scikit-learn, 20 exact neighbors", "scikit-dimension, TwoNN")
"""Searches that compare all rows with all others."""


def planted_table(seeds: int) -> None:
    """Print how often each planted fault is found and named, and what else is, over seeds."""
    import planted

    import tammes

    print(f"| planted | found of {seeds} | other faults named |\n|---|---|---|")
    for name, (fault, make) in planted.PLANTED.items():
        found, others = 0, Counter[str]()
        for seed in range(seeds):
            points, arguments = make(seed)
            faults = tammes.diagnose(points, **arguments).faults
            found += fault in faults
            others.update(set(faults) - {fault} - planted.EXPECTED_TOO.get(name, set()))
        print(f"| {name} | {found} | {_counted(others)} |", flush=True)
    turned = 0
    for seed in range(seeds):
        points, arguments = planted.rotation(seed)
        turned += tammes.diagnose(points, **arguments)["procrustes"].verdict.startswith("fine: rotation:")
    print(f"| two encoders that differ by a rotation | {turned} | - |")
    for name, sound in planted.SOUND.items():
        alarms = Counter[str]()
        for seed in range(seeds):
            points, arguments = sound(seed)
            alarms.update(tammes.diagnose(points, **arguments).faults)
        print(f"| {name} | - | {_counted(alarms)} |", flush=True)


def _counted(faults: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in faults.items()) or "none"


def size_table(rows: list[int], dim: int, slow: int) -> None:
    """Print seconds of the wall, of the processor, and the peak of memory for each number of rows."""
    print("| rows | | wall, s | processor, s | peak, GiB |\n|---|---|---|---|---|")
    for n in rows:
        with tempfile.TemporaryDirectory() as folder:
            _write(Path(folder, "rows.npy"), n, dim)
            for name, code in PEERS.items():
                if (name in SLOW and n > slow) or not is_installed(name):
                    continue
                found = subprocess.run(
                    [sys.executable, "-c", ALONE.format(code=code)],
                    cwd=folder,
                    env=os.environ,
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.split()
                wall, processor, memory = map(float, found[-3:])
                print(f"| {n:,} | {name} | {wall:.1f} | {processor:.1f} | {memory:.2f} |", flush=True)
            summary = Path(folder, "out", "summary.json")
            recall = json.loads(summary.read_text())["neighbor_recall"]["value"]
            print(f"| {n:,} | recall of the neighbors | {recall:.3f} | | |", flush=True)


def is_installed(name: str) -> bool:
    """Return whether the package of a row of the table is there."""
    module = PACKAGES.get(name.partition(",")[0])
    return module is None or importlib.util.find_spec(module) is not None


def _write(path: Path, n: int, dim: int) -> None:
    """Write rows around 200 centers, each cloud in 40 dimensions, as encoders' embeddings are."""
    random = np.random.default_rng(0)
    centers = random.normal(size=(200, dim)).astype(np.float32)
    spread = 0.15 * random.normal(size=(40, dim)).astype(np.float32)
    x = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, dim))
    for start in range(0, n, 50_000):
        count = min(50_000, n - start)
        noise = random.normal(size=(count, 40)).astype(np.float32)
        x[start : start + count] = centers[random.integers(200, size=count)] + noise @ spread
    x.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=0, help="seeds of the planted faults")
    parser.add_argument("--rows", type=int, nargs="*", default=[], help="numbers of rows to time")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument(
        "--slow", type=int, default=100_000, help="rows up to which exact searches are measured"
    )
    chosen = parser.parse_args()
    start = time.perf_counter()
    print(description())
    if chosen.seeds:
        planted_table(chosen.seeds)
    if chosen.rows:
        size_table(chosen.rows, chosen.dim, chosen.slow)
    print(f"{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
