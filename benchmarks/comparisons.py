"""The comparisons of objectives that README.md and docs/choosing.md quote: accuracies, not times.

    python benchmarks/comparisons.py
    python benchmarks/comparisons.py --only digits
    python benchmarks/comparisons.py --smoke

Each is a `tammes compare`, printed with the differences between its objectives, seed by seed. Before glyphs
are compared at the best temperature of each objective, three are tried on other alphabets, with one seed.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

from machine import description
from tammes.cli.floors import floors
from tammes.cli.options.compare import Compare, parse
from tammes.cli.scores import Measure, Trial, encoded
from tammes.data import Images, glyphs
from tammes.estimate import Estimate
from tammes.training import Machine, train

TRAINED = (
    "--epochs 10 --batch-size 128 --learning-rate 0.0005 schedule:constant encoder:convnet --encoder.width 16"
)
DIGITS = "simclr dcl hcl hcl-ot --data digits --seeds 3 --epochs 30 schedule:constant"
GLYPHS = f"simclr hcl --data glyphs --class-prior 0.0025 --seeds 5 {TRAINED}"
"""Both as `make demo` has them, whose pages the README shows."""
EARLY = "dcl hcl --data digits --seeds 3 --epochs 8 schedule:constant"
TEMPERATURES = (0.5, 0.1, 0.05)
COLUMNS = {
    "kNN": "knn",
    "linear probe, all labels": "probe",
    "10 %": "probe_10_percent",
    "1 %": "probe_1_percent",
}


def compared(choice: Compare, data: Images, test: Images) -> tuple[tuple[Trial, ...], tuple[Trial, ...]]:
    """Train and measure each objective with each seed, and what needs no training, as `tammes compare`."""
    machine, measure = Machine(accelerator="cpu", progress=False), Measure.of(data, test)
    trials = []
    for name in choice.objectives:
        config = choice.config(name, data)
        seeds = range(config.seed, config.seed + choice.seeds)
        runs = tuple(train(replace(config, seed=seed), data, machine=machine) for seed in seeds)
        measured = tuple(measure.of_features(encoded(run.model)) for run in runs)
        trials.append(Trial(name=name, measured=measured, runs=runs))
    return tuple(trials), floors(data, trials[0].runs, measure, machine.device)


def values(trial: Trial, column: str) -> list[float]:
    """Return an accuracy of each seed."""
    return [vars(scores)[column] for scores in trial.scores]


def table(head: str, rows: dict[str, list[str]]) -> str:
    """Return a table in Markdown with the cells of each row."""
    lines = [f"| {head} | {' | '.join(COLUMNS)} |", f"|---{'|---' * len(COLUMNS)}|"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())])


def accuracies(trials: Sequence[Trial], test_rows: int) -> str:
    """Return the table of accuracies in percent, with their intervals."""
    rows = {
        trial.name: [
            Estimate.of_accuracies(values(trial, column), test_rows).percent for column in COLUMNS.values()
        ]
        for trial in trials
    }
    return table("objective", rows)


def differences(trials: Sequence[Trial]) -> str:
    """Return the table of differences in points, seed by seed."""
    rows = {
        f"{second.name} above {first.name}": [
            Estimate.of_difference(values(second, column), values(first, column)).text(
                1, scale=100, signed=True
            )
            for column in COLUMNS.values()
        ]
        for first, second in combinations(trials, 2)
    }
    return table("difference", rows)


def show(title: str, words: str, smoke: bool) -> None:
    """Print a comparison by its command."""
    if smoke:
        words = words.replace("--seeds 3", "--seeds 2").replace("--seeds 5", "--seeds 2")
        words = words.replace("--epochs 30", "--epochs 1").replace("--epochs 10", "--epochs 1")
        words = words.replace("--data glyphs", "--data glyphs:20").replace("--epochs 8", "--epochs 1")
    choice = parse(shlex.split(words))
    data, test = choice.training.load(choice.source)
    assert isinstance(data, Images)
    assert isinstance(test, Images)
    trials, without = compared(choice, data, test)
    print(f"\n## {title}\n\n    tammes compare {words}\n", flush=True)
    print(accuracies((*trials, *without), len(test)), flush=True)
    print(f"\n{differences(trials)}", flush=True)


def search(smoke: bool) -> None:
    """Print the accuracies of each temperature on other alphabets."""
    characters = 20 if smoke else 400
    data, test = (glyphs(split, characters=characters, seed=1) for split in ("train", "test"))
    print("\n## Temperatures, on other alphabets with one seed\n")
    print("| temperature | simclr: kNN, probe | hcl: kNN, probe |\n|---|---|---|", flush=True)
    for temperature in TEMPERATURES:
        words = f"simclr hcl --data glyphs --class-prior 0.0025 --temperature {temperature:g} {TRAINED}"
        choice = parse(shlex.split(words.replace("--epochs 10", "--epochs 1") if smoke else words))
        trials, _ = compared(choice, data, test)
        cells = [
            ", ".join(f"{100 * values(trial, of)[0]:.1f}" for of in ("knn", "probe")) for trial in trials
        ]
        print(f"| {temperature:g} | {' | '.join(cells)} |", flush=True)


PARTS: dict[str, Callable[[bool], None]] = {
    "digits": lambda smoke: show("Ten digits", DIGITS, smoke),
    "early": lambda smoke: show("Ten digits, after 8 epochs", EARLY, smoke),
    "glyphs": lambda smoke: show("400 glyphs, temperature 0.5", GLYPHS, smoke),
    "search": search,
    "tuned": lambda smoke: show(
        "400 glyphs, temperature 0.05", GLYPHS.replace("glyphs ", "glyphs --temperature 0.05 ", 1), smoke
    ),
}


def main() -> None:
    """Print the comparisons."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")
    parser.add_argument("--smoke", action="store_true", help="try the script on less, in seconds")
    choice = parser.parse_args()
    print(description())
    for name in choice.only:
        PARTS[name](choice.smoke)


if __name__ == "__main__":
    main()
