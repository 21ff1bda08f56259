"""Figures in the documents are those that a benchmark has written into benchmarks/results."""

from __future__ import annotations

import csv
import functools
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tammes.estimate import Estimate
from tammes.papers.robinson_spectral import automorphism_counts as counts
from tammes.papers.robinson_spectral.automorphism_findings import COUNTS, by_group, share
from tammes.papers.robinson_spectral.filters import FilterRun, FilterScore, errors_by_method
from tammes.papers.study import Results

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results"
CPU = "2026-11-30-cpu-avx512.md"
SIGNNET = "2026-11-28-signnet-avx512.md"
TRAINING = "2026-11-28-training-avx512.md"
TRAINING_BFLOAT16 = "2026-11-30-training-bfloat16-avx512.md"
H200 = "NVIDIA-H200-2.11.md"
COMPARISONS = "2026-11-30-comparisons-avx512.md"
# Columns of the README's table: the section of the record, and the methods of which the quickest is meant.
COMPILED = ("compiled", "JAX")
COLUMNS = (
    ("NT-Xent", ("PyTorch, cross-entropy",)),
    ("NT-Xent", COMPILED),
    ("HCL with debiasing", ("dense formula",)),
    ("HCL with debiasing", COMPILED),
    ("InfoNCE of one view", COMPILED),
    ("A whole step", ("two passes by hand",)),
)


def rows_of(text: str) -> list[list[str]]:
    """Cells of the lines of all tables."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not set(line) <= set("|:- ")]
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


def section_of(text: str, heading: str) -> str:
    """What stands under the heading that begins so."""
    found = re.search(rf"^#+ {re.escape(heading)}.*?$(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


def test_the_table_of_signnet_is_the_recorded_one() -> None:
    recorded = rows_of((RESULTS / SIGNNET).read_text())[1:]
    document = (ROOT / "docs/benchmarks.md").read_text()
    assert SIGNNET in document
    shown = [row for row in rows_of(section_of(document, "Networks on eigenvectors")) if len(row) == 8][1:]
    assert shown == recorded
    assert len(shown) == 9


def test_the_speed_of_signnet_in_the_readme_is_the_recorded_one() -> None:
    rows = rows_of((RESULTS / SIGNNET).read_text())[1:]
    loop, published = ([float(row[place]) for row in rows] for place in (3, 5))
    ends = [f"{min(each):.1f} to {max(each):.1f} times" for each in (loop, published)]
    readme = (ROOT / "README.md").read_text()
    assert f"is {ends[0]} as quick as a loop over eigenvectors" in readme
    assert f"{ends[1]} as quick as the published module" in readme
    assert rows[loop.index(min(loop))][:2] == ["128", "8"]
    assert min(loop) == 1


def test_a_record_keeps_tables_and_the_lines_around_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    page = import_module("record").page
    output = "EPYC\ntimes\n| | ms |\n|---|---|\n| ours | 3 |\n\n| a |\n|---|\n| b |\n\nours is quicker\n"
    assert page("speed", ["speed.py", "--data", "a b"], output, "2026-11-27") == (
        "# 2026-11-27, speed\n\n    python benchmarks/speed.py --data 'a b'\n\nEPYC\n\ntimes\n\n"
        "| | ms |\n|---|---|\n| ours | 3 |\n\n| a |\n|---|\n| b |\n\nours is quicker\n"
    )


def ratios_of(section: str) -> dict[str, dict[str, str]]:
    """Times ours by number of pairs and method."""
    found: dict[str, dict[str, str]] = {}
    pairs = ""
    for first, method, _, ratio, *_ in rows_of(section)[1:]:
        pairs = first or pairs
        found.setdefault(pairs, {})[method] = ratio
    return found


@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_the_speeds_of_the_readme_are_the_recorded_ones(column: int) -> None:
    heading, methods = COLUMNS[column]
    readme = (ROOT / "README.md").read_text()
    assert CPU in readme
    recorded = ratios_of(section_of((RESULTS / CPU).read_text(), heading))
    rows = [row for row in rows_of(section_of(readme, "Speed and memory")) if len(row) == 7][1:]
    assert len(rows) == 7
    for row in rows:
        ratios = [float(ratio) for name, ratio in recorded[row[0]].items() if name.startswith(methods)]
        shown = row[1 + column]
        assert is_rounded(shown, min(ratios)), (row[0], shown, min(ratios))


# A page, the beginning of a table's first line, and the records, by a pattern, whose rows it shows in part.
RECORDS = (
    (
        "benchmarks.md",
        "| method | step, ms | overhead | loss alone, ms |\n",
        "2026-11-27-equivariance-avx2.md",
    ),
    (
        "benchmarks.md",
        "| method | step, ms | overhead | loss alone, ms | over",
        "2026-11-27-features-avx2.md",
    ),
    ("benchmarks.md", "| task | pairs | best peer / ours", "2026-12-01-cpu*-avx2.md"),
    ("benchmarks.md", "| threads | loop | images/s", TRAINING),
    ("benchmarks.md", "| threads | loop, % of a step", TRAINING),
    ("benchmarks.md", "| seed | loop | accuracy of 20", TRAINING),
    ("benchmarks.md", "| threads wait | alone", "2026-11-29-shared_machine-avx512.md"),
    ("benchmarks.md", "| function of a tile", "2026-11-30-pointwise-avx512.md"),
    ("benchmarks.md", "| product by oneDNN", "2026-11-30-pointwise-avx512.md"),
    ("benchmarks.md", "| examples x heads x tokens", "2026-11-30-attention-avx512.md"),
    ("benchmarks.md", "| step | torch, ms | quick, ms", "2026-11-30-quick-products-avx512.md"),
    (
        "benchmarks.md",
        "| encoder | images",
        "2026-11-30-encoders-*-avx512.md",
    ),
    ("benchmarks.md", "| augmentation | ms", "2026-11-29-images-avx512.md"),
    ("benchmarks.md", "| network, forward and backward | ms", "2026-11-29-images-avx512.md"),
    ("benchmarks.md", "|  | processor seconds, median", "2026-11-30-graphs-avx512.md"),
    ("benchmarks.md", "|  | 5,000 nodes", "2026-11-30-graphs-avx512.md"),
    ("benchmarks.md", "|  | milliseconds, median of five", "2026-11-30-graphs-parts-avx512.md"),
    ("benchmarks.md", "|  | milliseconds | times ours", "2026-11-27-spectral-others-avx2.md"),
    ("benchmarks.md", "| nodes | layers on", "2026-11-27-spectral-others-avx2.md"),
    ("benchmarks.md", "| k | way", "2026-11-27-text-avx2.md"),
    ("benchmarks.md", "| rows |  | wall, s", "2026-11-27-diagnose-size-avx2.md"),
    ("choosing.md", "| objective | kNN", COMPARISONS),
    ("design.md", "| pairs | epsilon | averaged", "2026-11-27-sinkhorn_updates-avx2.md"),
    ("diagnostics.md", "| planted |", "2026-11-30-diagnose-planted-avx512.md"),
    ("diagnostics.md", "| measure | among runs", "2026-11-29-label-free-avx512.md"),
    ("diagnostics.md", "| `stop_on` | patience", "2026-11-29-label-free-avx512.md"),
    ("diagnostics.md", "| data | positives", "2026-11-30-class-prior-avx512.md"),
    ("diagnostics.md", "| data | true share", "2026-11-30-class-prior-avx512.md"),
    ("extensions.md", "|  | milliseconds | times ours", "2026-11-28-extensions-avx512.md"),
    ("features.md", "| method | step, ms", "2026-11-30-features-classification-avx512.md"),
    ("geometry.md", "| points | angle | best", "2026-11-27-packings-avx2.md"),
    ("graphs.md", "| set | graphs | different", "2026-11-30-graph-folds-avx512.md"),
    ("graphs.md", "| set | kernel, random", "2026-11-30-graph-folds-avx512.md"),
    ("latent.md", "|  | milliseconds | times ours", "2026-11-27-latent-avx2.md"),
    ("masked.md", "| method | step, ms", "2026-11-30-masked-*-avx512.md"),
    ("papers.md", "| entry | seconds", "2026-11-30-entries-avx512.md"),
    ("papers.md", "| study | means", "2026-11-30-other-kernels-avx512.md"),
    ("positives.md", "| one thread of a CPU", "2026-11-30-active-avx512.md"),
    ("text.md", "| gru, TREC", "2026-11-30-learning-rates-words-avx512.md"),
    ("text.md", "| text-transformer, TREC", "2026-11-30-learning-rates-words-avx512.md"),
    ("text.md", "| way | forward, ms", "2026-11-30-sentences*-avx512.md"),
    ("training.md", "| head | seed | accuracy", "2026-11-28-heads-avx512.md"),
    ("training.md", "| data | training rows", "2026-11-29-defaults-avx512.md"),
)


@pytest.mark.parametrize(("page", "head", "record"), RECORDS)
def test_the_rows_of_a_benchmark_are_the_recorded_ones(page: str, head: str, record: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    files = list(RESULTS.glob(record))
    kept = [row for file in files for row in rows_of(file.read_text())]
    shown = [row for table in tables_of(text, head) for row in rows_of(table)]
    assert len(shown) > 2
    assert [row for row in shown if not any(is_part(row, each) for each in kept)] == []
    assert files
    assert all(file.name in text for file in files)


def test_the_share_of_views_and_objective_in_bfloat16_is_the_recorded_one() -> None:
    *_, row = [row for row in rows_of((RESULTS / TRAINING_BFLOAT16).read_text()) if len(row) == 10]
    section = section_of((ROOT / "docs/benchmarks.md").read_text(), "Training beside lightly")
    assert f"[{row[-1]} %](../benchmarks/results/{TRAINING_BFLOAT16})" in section


@pytest.mark.parametrize("page", ["README.md", "docs/choosing.md"])
def test_the_comparisons_are_the_recorded_ones(page: str) -> None:
    """Those of digits and glyphs as in the record, others of the README as in the study of Omniglot."""
    whole = (ROOT / page).read_text()
    part = whole[max(whole.find("## Many classes: 400 glyphs"), 0) :].partition("## What the papers have")[0]
    shown = INTERVAL.findall(part)
    record = (RESULTS / COMPARISONS).read_text()
    kept = [tuple(end.lstrip("+") for end in ends) for ends in INTERVAL.findall(record)]
    assert len(shown) > 10
    others = [ends for ends in shown if tuple(end.lstrip("+") for end in ends) not in kept]
    assert unkept(others, kept_intervals("negatives-images-omniglot")) == []


def is_part(row: list[str], whole: list[str]) -> bool:
    """Whether a row has some cells of another, in their order."""
    cells = iter(whole)
    return all(cell in cells for cell in row)


# A page, the beginning of a table's first line, and the kept study that the table shows.
STUDIES = (
    ("extensions.md", "| k | ENZYMES", "sets-eigenvectors"),
    ("extensions.md", "| | ENZYMES, k = 3", "sets-k-clique"),
    ("extensions.md", "| | ratio | the paper's | untrained", "sets-search"),
    ("extensions.md", "| | MUTAG | ENZYMES", "sets-combinatorial"),
    ("extensions.md", "| untrained | MUTAG", "sets-combinatorial"),
    ("extensions.md", "| | distance | error", "sets-training-error"),
    ("features.md", "| Trifeature | shape", "features-trade-off"),
    ("features.md", "| temperature | shape", "features-ifm"),
    ("features.md", "| | D | D_R", "features-robust"),
    ("features.md", "| | readout | over its host", "features-classification"),
    ("features.md", "| | unchanged | radius", "features-adversarial"),
    ("geometry.md", "| | readout | cosine", "geometry-ablation"),
    ("geometry.md", "| | readout | kNN | gamma", "geometry-classification"),
    ("geometry.md", "| | readout, % | Wahba", "geometry-equivariance"),
    ("geometry.md", "| the thesis | here", "geometry-equivariance"),
    ("geometry.md", "| SimCLR over", "geometry-equivariance"),
    ("geometry.md", "| | neighbors that stay", "geometry-retrieval"),
    ("geometry.md", "| | untrained | uniform negatives |", "geometry-packing"),
    ("graphs.md", "| set | negatives | published", "graphs-hard-molecules"),
    ("graphs.md", "| set | way | published", "graphs-transport-molecules"),
    ("graphs.md", "| on ENZYMES | published", "graphs-hard-enzymes"),
    ("graphs.md", "| on IMDB-BINARY | published", "graphs-hard-imdb-binary"),
    ("graphs.md", "| on PROTEINS | published", "graphs-hard-proteins"),
    ("graphs.md", "| on IMDB-MULTI | published", "graphs-hard-imdb-multi"),
    ("graphs.md", "| on DD | published", "graphs-hard-dd"),
    ("graphs.md", "| on REDDIT-BINARY | published", "graphs-hard-reddit-binary"),
    ("graphs.md", "| transport on ENZYMES", "graphs-transport-enzymes"),
    ("graphs.md", "| transport on IMDB-BINARY", "graphs-transport-imdb-binary"),
    ("graphs.md", "| transport on IMDB-MULTI", "graphs-transport-imdb-multi"),
    ("latent.md", "| classes, informative + other", "positives-table-2"),
    ("latent.md", "| latents, observed, updates", "positives-table-1"),
    ("latent.md", "| length | untrained", "positives-figure-3"),
    ("masked.md", "| 3 x 64 | epochs", "masked-robustness"),
    ("masked.md", "| 6 x 192 | epochs", "masked-methods-6x192"),
    ("positives.md", "| set | positives | probe", "positives-real-data"),
    ("choosing.md", "| classes | HCL, readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| on CIFAR-10 | readout", "negatives-images"),
    ("negatives_images.md", "| on digits | readout", "negatives-images-digits"),
    ("negatives_images.md", "| the papers | on digits", "negatives-images-digits"),
    ("negatives_images.md", "| on Omniglot | readout", "negatives-images-omniglot"),
    ("negatives_images.md", "| the papers, on other sets", "negatives-images-omniglot"),
    ("negatives_images.md", "| on Tiny-ImageNet | readout", "negatives-images-tiny-imagenet"),
    ("negatives_images.md", "| the papers, on Tiny", "negatives-images-tiny-imagenet"),
    ("negatives_images.md", "| on CIFAR-100 | readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| the papers, on CIFAR-100", "negatives-images-cifar-100"),
    ("negatives_images.md", "| temperature | SimCLR, readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| classes | SimCLR, readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| negatives | SimCLR, readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| beta | views, readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| width | SimCLR, readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| epsilon | readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| kappa | readout", "negatives-images-cifar-100"),
    ("negatives_images.md", "| other losses on CIFAR-100", "negatives-images-cifar-100"),
    ("papers.md", "| trained against | loss", "transport-degeneracy"),
    ("papers.md", "| | MR | CR", "sentences-quick-thoughts"),
    ("papers.md", "| documents, %", "sentences-negatives"),
    ("spectral_experiments.md", "| | low | high", "spectral-filters"),
    ("spectral_experiments.md", "| row | low | high", "spectral-filters-all-rows"),
    ("spectral_experiments.md", "| | test MAE", "spectral-zinc"),
    ("spectral_experiments.md", "| base network", "spectral-zinc-all"),
    ("spectral_experiments.md", "| | triangle", "spectral-substructures"),
    ("negatives_vision.md", "| | B | untrained", "negatives-vision"),
    ("spectral_experiments.md", "| | connected", "spectral-properties"),
    ("spectral_texture.md", "| method | PSNR", "spectral-texture"),
    ("volumes.md", "| | share, R^2", "features-volumes"),
)
ELSEWHERE = (
    ("README.md", "| pairs | SimCLR against plain"),  # the record of cpu.py, above
    ("benchmarks.md", "| graphs | eigenvectors | tammes"),  # that of SignNet, above
    ("choosing.md", "| | SimCLR | HCL without debiasing"),  # numbers of the papers
    ("geometry.md", "| classes | dimension | mean of squared"),  # tests/theory/packing computes them
    ("integrations.md", "| library | what to use"),  # versions
    ("spectral_experiments.md", "| | graphs | largest multiplicity"),  # the study, below
    ("theory.md", "| classes | best k, exactly"),  # tests/theory computes them
    ("theory.md", "| N | printed bound"),
    ("triton.md", "| ms | d = 128"),  # the record of the H200, below
)
"""Other tables with decimals."""
DECIMAL = re.compile(r"[+−-]?\d[\d,]*\.\d+( ?(%|ms|s|MB|GB|dB|\(.*\)))?")


def test_every_table_of_decimals_is_compared() -> None:
    known = [(page, head) for page, head, _ in (*RECORDS, *STUDIES)] + list(ELSEWHERE)
    missing = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for table in tables_of(page.read_text(), "|"):
            decimals = [cell for row in rows_of(table) for cell in row if DECIMAL.fullmatch(cell.strip("*"))]
            if len(decimals) > 3 and not any(
                page.name == name and table.startswith(head) for name, head in known
            ):
                missing.append((page.name, table.partition("\n")[0]))
    assert missing == []


IN_POWERS = ("spectral-properties",)
"""Studies whose pages show the logarithm to base 10, as the papers do."""
IN_RATIOS = ("geometry-equivariance",)
"""Studies whose pages show ratios of two arms, too, taken seed by seed."""
NUMBER = r"([+−-]?\d[\d.]*)"
INTERVAL = re.compile(rf"{NUMBER} \[{NUMBER}, {NUMBER}\]")

AVERAGED = ("negatives-vision",)
"""Studies whose pages show differences along one setting, averaged over the values of another."""
OF_OTHERS = ("spectral-filters-all-rows",)
"""Studies whose pages show, of the settings of a method, for each seed the one that is best on the others."""
SEARCHED = {"sets-search": ("width", "layers", "batch_size")}
"""Settings that a search chooses for each seed anew, by the study."""


def number(text: str) -> float:
    """The number, whose minus may be the typographer's."""
    return float(text.replace("\N{MINUS SIGN}", "-"))


def intervals_of(folder: Path) -> Iterator[tuple[float, float, float]]:
    """Means with their 95 % intervals: of the findings, of each column over the seeds, and of differences.

    Differences are those of two arms, seed by seed, whose first settings (the data) are equal, for each of
    these and for all of them together. Of a cell with several
    numbers, each is taken, and their mean. Those that a finding says in words are taken from there.
    """
    for finding in json.loads((folder / "findings.json").read_text()):
        effects = [*finding["effects"], *finding["controls"]]
        for effect in effects:
            if effect["mean"] is not None:  # else it is not measured yet
                yield effect["mean"], effect["low"], effect["high"]
        for text in (finding["ours"], *(effect["text"] for effect in effects)):
            for found in INTERVAL.findall(text):
                mean, low, high = map(number, found)
                yield mean, low, high
    if folder.name in OF_OTHERS:
        results = Results(folder / "table.csv", FilterRun, FilterScore).known
        for errors in errors_by_method(results).values():
            yield from map(ends_of, errors.values())
    with (folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0])
    settings, measured = columns[: columns.index("seed")], columns[columns.index("seed") + 1 :]
    if len({tuple(row[name] for name in (*settings, "seed")) for row in rows}) < len(rows):
        settings.append("epochs")  # 0 for the untrained network
    if folder.name in SEARCHED:  # the settings that were chosen, and their untrained networks
        last = max(rows, key=lambda row: int(row["epochs"]))["epochs"]
        rows = [row for row in rows if row["epochs"] in ("0", last)]
        settings = [name for name in settings if name not in SEARCHED[folder.name]]
    settings = [name for name in settings if any(row[name] != row["seed"] for row in rows)]
    for column in measured:
        arms: dict[tuple[str, ...], dict[str, list[float]]] = {}
        for row in rows:
            cells = arms.setdefault(tuple(row[name] for name in settings), {})
            assert row["seed"] not in cells
            cells[row["seed"]] = numbers_in(row[column])
        several = {
            arm: cells
            for arm, cells in arms.items()
            if len(cells) > 1 and all(cells.values()) and len(set(map(len, cells.values()))) == 1
        }
        for cells in several.values():
            yield from map(ends_of, zip(*cells.values(), strict=True))
            if folder.name in IN_POWERS and min(itertools.chain(*cells.values())) > 0:
                yield from map(ends_of, zip(*(map(math.log10, cell) for cell in cells.values()), strict=True))
        if folder.name in AVERAGED:
            yield from averaged(several)
        together: dict[tuple[tuple[str, ...], tuple[str, ...]], list[list[float]]] = {}
        for (one, mine), (other, theirs) in itertools.permutations(several.items(), 2):
            if one[0] == other[0] and {seed: len(mine[seed]) for seed in mine} == {
                seed: len(theirs[seed]) for seed in theirs
            }:
                both = [zip(mine[seed], theirs[seed], strict=True) for seed in mine]
                differences = [[a - b for a, b in pairs] for pairs in both]
                together.setdefault((one[1:], other[1:]), []).extend(differences)
                yield from map(ends_of, zip(*differences, strict=True))
                if folder.name in IN_RATIOS and min(itertools.chain(*mine.values(), *theirs.values())) > 0:
                    ratios = [math.log(mine[seed][0] / theirs[seed][0]) for seed in mine]
                    mean, low, high = ends_of(ratios)
                    yield math.exp(mean), math.exp(low), math.exp(high)
        for differences in together.values():
            if len(set(map(len, differences))) == 1:
                yield from map(ends_of, zip(*differences, strict=True))


def averaged(arms: dict[tuple[str, ...], dict[str, list[float]]]) -> Iterator[tuple[float, float, float]]:
    """Differences along one setting, averaged over the values of another that both ends have."""
    count = len(next(iter(arms), ()))
    for along, over in itertools.permutations(range(count), 2):
        groups: dict[tuple[str, ...], dict[str, dict[str, dict[str, list[float]]]]] = {}
        for arm, cells in arms.items():
            others = tuple(value for place, value in enumerate(arm) if place not in (along, over))
            groups.setdefault(others, {}).setdefault(arm[along], {})[arm[over]] = cells
        for ends in groups.values():
            for mine, theirs in itertools.permutations(ends.values(), 2):
                both = [(mine[value], theirs[value]) for value in mine.keys() & theirs.keys()]
                if both:
                    yield ends_of(
                        float(np.mean([one[seed][0] - other[seed][0] for one, other in both]))
                        for seed in both[0][0]
                    )


def numbers_in(cell: str) -> list[float]:
    """Numbers of a cell: one; those of a JSON object; several between spaces, and their mean; else none."""
    if cell.startswith("{"):
        return [float(value) for value in json.loads(cell).values()]
    is_numbers = re.fullmatch(r"-?[\d.]+(e-?\d+)?( -?[\d.]+(e-?\d+)?)*", cell)
    numbers = [float(word) for word in cell.split()] if is_numbers else []
    return [*numbers, sum(numbers) / len(numbers)] if len(numbers) > 1 else numbers


def ends_of(numbers: Iterable[float]) -> tuple[float, float, float]:
    """Their mean and the ends of its 95 % interval."""
    found = Estimate.over_seeds(list(numbers))
    return found.mean, found.low, found.high


@functools.cache
def kept_intervals(study: str) -> NDArray[np.float64]:
    """The intervals of a kept study, (n, 3): means and ends; NaN for ends that are not known."""
    return np.array(list(intervals_of(RESULTS / "studies" / study)), dtype=np.float64)


def unkept(shown: Iterable[tuple[str, ...]], kept: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """The intervals that are no rounded ones of those that are kept, as they are or in percent."""
    missing = []
    for texts in shown:
        numbers = [number(text) for text in texts]
        half_digits = [0.5001 * 10.0 ** -len(text.partition(".")[2]) for text in texts]
        if not any((abs(scale * kept - numbers) <= half_digits).all(axis=1).any() for scale in (1, 100)):
            missing.append(texts)
    return missing


@pytest.mark.parametrize(("page", "head", "study"), STUDIES)
def test_the_intervals_of_a_study_are_the_kept_ones(page: str, head: str, study: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    shown = [found for table in tables_of(text, head) for found in INTERVAL.findall(table)]
    assert len(shown) > 7
    assert unkept(shown, kept_intervals(study)) == []


def test_the_shares_of_automorphisms_are_the_kept_ones() -> None:
    """Tables and sentences; and eigenvalues are repeated where they are in spectral-multiplicities."""
    folder = RESULTS / "studies/spectral-automorphisms"
    kept = Results(folder / "table.csv", counts.GraphSample, counts.SymmetryScore).known
    groups = by_group(kept)

    def cell(data: str, kind: str, nodes: int) -> str:
        score = groups[data, kind, nodes]
        return " / ".join(f"{100 * share(score, name).mean:.1f}" for name in COUNTS)

    section = section_of(
        (ROOT / "docs/spectral_experiments.md").read_text(), "Automorphisms of random and real"
    )
    (header, *drawn), (names, *real) = map(rows_of, re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE))
    for kind, *shares in drawn:
        assert shares == [cell(counts.DRAWN, kind, int(n.removeprefix("n = "))) for n in header[1:]]
    for data, count, *shares in real:
        assert count == f"{groups[data, counts.REAL, 0].counted:,}"
        assert shares == [cell(data, kind, 0) for kind in names[2:]]
    assert (len(drawn), len(real)) == (6, 8)
    estimates = [share(groups[key], name) for key in groups if key[0] == counts.DRAWN for name in COUNTS]
    widest = max(max(each.high - each.mean, each.mean - each.low) for each in estimates)
    assert f"reaches at most {100 * widest:.1f} points to each side" in section

    shown = INTERVAL.findall(section)
    assert len(shown) == 11
    assert unkept(shown, in_both_directions(kept_intervals(folder.name))) == []
    every = counts.together(groups.values())
    for words in (
        f"Of {every.above_two:,} graphs with such an automorphism",
        f"up to {every.residual:.1e} of the norm",
        f"for {every.sensitive} of the {every.counted:,} graphs",
    ):
        assert words in section, words
    with (RESULTS / "studies/spectral-multiplicities/table.csv").open() as file:
        of_laplacian = {row["data"]: float(row["percent_graphs"]) for row in csv.DictReader(file)}
    for data, *_ in real:
        score = groups[data, counts.REAL, 0]
        assert 100 * score.laplacian / score.counted == pytest.approx(of_laplacian[data], abs=1e-9)


def test_the_gpu_times_are_the_recorded_ones() -> None:
    """16,384 pairs in bfloat16 as a graph: ours to three digits, with the share of the rate; compiled."""
    record = (RESULTS / H200).read_text()
    kept = {row[0]: row[1:] for row in rows_of(section_of(record, "bfloat16, 16,384 pairs"))}
    document = (ROOT / "docs/triton.md").read_text()
    (table,) = tables_of(document, "| ms | d = 128")
    assert H200 in (RESULTS / "README.md").read_text()
    _, *shown = rows_of(table)
    names = ("NT-Xent, tammes", "HCL, tammes", "NT-Xent, dense, compiled", "HCL, dense, compiled")
    for (_, *cells), name in zip(shown, names, strict=True):
        for cell, recorded in zip(cells, kept[name], strict=True):
            time, _, share_of_rate = recorded.partition("as a graph ")[2].partition(" ")
            shown_time, _, shown_share = cell.partition(" ")
            assert is_rounded(shown_time, float(time)), (name, cell, recorded)
            assert shown_share.replace(" ", "") == share_of_rate


def test_the_estimates_for_four_million_pairs_follow_from_the_recorded_times() -> None:
    """The times of the loss, from the units of work and the rates of one card at 262,144 pairs."""
    record = rows_of(section_of((RESULTS / H200).read_text(), "bfloat16, 262,144 pairs"))
    milliseconds = {
        row[0]: float(row[1].split()[0].replace(",", "")) for row in record[1:] if "not" not in row[1]
    }
    product = 2 * 262_144**2 * 128
    symmetric = 8 * product / milliseconds["NT-Xent, tammes"] / 1e9
    one_way = 5 * product / milliseconds["one-way softmax, tammes"] / 1e9
    section = section_of((ROOT / "docs/scale.md").read_text(), "Four million pairs")
    assert f"at {symmetric:.0f} TFLOP/s" in section
    assert f"at the {one_way:.0f} TFLOP/s of one-way pairs" in section
    pairs, dim = 4_194_304, 128
    times = {1: 16 * pairs**2 * dim / symmetric / 1e12}
    of_anchors = 5 * 2 * (2 * pairs) ** 2 * dim / one_way / 1e12
    times |= {cards: of_anchors / cards for cards in (8, 64)}
    assert (
        f"two would be slower ({of_anchors / 2:.0f} s), and three gain little ({of_anchors / 3:.0f} s)"
        in section
    )
    shown = rows_of(section)[1:]
    assert [int(cards) for cards, *_ in shown] == list(times)
    for (_, time, *_), expected in zip(shown, times.values(), strict=True):
        assert is_rounded(time.removesuffix(" s"), expected)


def test_repeated_eigenvalues_are_the_kept_ones() -> None:
    with (RESULTS / "studies/spectral-multiplicities/table.csv").open() as file:
        kept = {row["data"]: row for row in csv.DictReader(file)}
    (table,) = tables_of((ROOT / "docs/spectral_experiments.md").read_text(), "| | graphs | largest mult")
    _, *shown = rows_of(table)
    assert {name for name, *_ in shown} == set(kept)
    for name, *cells in shown:
        graphs, largest, of_graphs, of_vectors = (cell.partition(" (")[0] for cell in cells)
        row = kept[name]
        assert graphs == f"{int(row['graphs']):,}"
        assert largest == row["multiplicity"]
        assert is_rounded(of_vectors, float(row["percent_vectors"]))
        assert of_graphs == "" if graphs == "1" else is_rounded(of_graphs, float(row["percent_graphs"]))


def is_rounded(shown: str, exact: float) -> bool:
    """Whether a number is the exact one, rounded to its last digit."""
    return abs(float(shown) - exact) <= 0.5001 * 10.0 ** -len(shown.partition(".")[2])


# A page with intervals, and the beginnings of the names of the studies that have them; "" for any study.
PAGES = {
    "README.md": ("negatives-images-omniglot",),
    "docs/benchmarks.md": (),
    "docs/choosing.md": ("negatives-images", "negatives-text", "negatives-vision"),
    "docs/diagnostics.md": (),
    "docs/encoders.md": (),
    "docs/extensions.md": ("sets-",),
    "docs/features.md": ("features-",),
    "docs/geometry.md": ("geometry-",),
    "docs/graphs.md": ("graphs-",),
    "docs/latent.md": ("positives-",),
    "docs/masked.md": ("masked-",),
    "docs/negatives_images.md": ("negatives-images",),
    "docs/negatives_text.md": ("negatives-text",),
    "docs/negatives_vision.md": ("negatives-vision",),
    "docs/papers.md": ("",),
    "docs/positives.md": ("positives-",),
    "docs/spectral_experiments.md": ("spectral-",),
    "docs/spectral_texture.md": ("spectral-texture",),
    "docs/text.md": (),
    "docs/training.md": (),
    "docs/volumes.md": ("features-volumes",),
}
WITHOUT_SEEDS = ("spectral-multiplicities",)
"""Studies whose tables have no seeds."""


def shown_intervals(page: str) -> list[tuple[str, ...]]:
    """Means with their intervals, in tables and sentences; the unit may stand between, as in "3 % [1, 5]"."""
    text = (ROOT / page).read_text()
    return re.findall(rf"{NUMBER}\s?(?:%|points|dB)?\s\[{NUMBER}, {NUMBER}\]", text)


@functools.cache
def recorded_intervals() -> set[tuple[float, ...]]:
    """Means with their intervals in the records of benchmarks, and what lightly learns more than ours."""
    texts = [file.read_text() for file in RESULTS.glob("*.md")]
    last: dict[str, list[float]] = {"tammes": [], "lightly": []}
    for row in rows_of((RESULTS / TRAINING).read_text()):
        if len(row) == 6 and row[1] in last:
            last[row[1]].append(float(row[2].rpartition(",")[2]))
    texts.append(Estimate.of_difference(last["lightly"], last["tammes"]).text(1))
    found = [tuple(map(number, each)) for text in texts for each in INTERVAL.findall(text)]
    return {*found, *((-mean, -high, -low) for mean, low, high in found)}


@pytest.mark.parametrize("page", PAGES)
def test_every_interval_of_a_page_is_of_a_kept_study_or_a_record(page: str) -> None:
    folders = sorted((RESULTS / "studies").iterdir())
    kept = [
        kept_intervals(folder.name)
        for folder in folders
        if folder.name.startswith(PAGES[page])
        if (folder / "findings.json").exists() and folder.name not in WITHOUT_SEEDS
    ]
    assert len(shown_intervals(page)) > (10 if PAGES[page] else 0)
    unrecorded = [
        shown for shown in shown_intervals(page) if tuple(map(number, shown)) not in recorded_intervals()
    ]
    intervals = np.concatenate([np.empty((0, 3)), *kept])
    assert unkept(unrecorded, in_both_directions(intervals)) == []


def test_every_page_with_intervals_is_compared() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages]
    assert [name for name in names if shown_intervals(name)] == list(PAGES)


def in_both_directions(intervals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The intervals, and those of the differences the other way round, as in "below by"."""
    return np.concatenate([intervals, -intervals[:, [0, 2, 1]]])


def tables_of(text: str, head: str) -> list[str]:
    """The tables whose first line begins so."""
    return [table for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE) if table.startswith(head)]
