"""The comparisons of objectives that README.md and docs/choosing.md quote: accuracies, not times.

    python benchmarks/comparisons.py
    python benchmarks/comparisons.py --only digits
    python benchmarks/comparisons.py --smoke

Each is a `tammes compare`, printed with the differences between its objectives, seed by seed. Glyphs are
also compared at the best temperature of each objective by the linear probe, of three that are tried on other
alphabets.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
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
"""`make demo` has both with less training: three seeds, and of digits a narrower network and 20 epochs."""
EARLY = "dcl hcl --data digits --seeds 3 --epochs 8 schedule:constant"
TEMPERATURES = (0.5, 0.1, 0.05)
COLUMNS = {
    "kNN": "knn",
    "linear probe, all labels": "probe",
    "10 %": "probe_10_percent",
    "1 %": "probe_1_percent",
}


def compared(
    choice: Compare, data: Images, test: Images, temperatures: Mapping[str, float] | None = None
) -> tuple[tuple[Trial, ...], tuple[Trial, ...]]:
    """Train and measure each objective with each seed, and what needs no training, as `tammes compare`."""
    machine, measure = Machine(accelerator="cpu", progress=False), Measure.of(data, test)
    trials = []
    for name in choice.objectives:
        config = choice.config(name, data)
        if temperatures is not None:
            config = replace(config, objective=replace(config.objective, temperature=temperatures[name]))
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


def smaller(words: str) -> str:
    """Return the words of a comparison that takes seconds."""
    words = re.sub(r"--seeds \d+", "--seeds 2", re.sub(r"--epochs \d+", "--epochs 1", words))
    return words.replace("--data glyphs", "--data glyphs:20")


def images_of(choice: Compare) -> tuple[Images, Images]:
    """Return the images to train on and to measure on."""
    data, test = choice.training.load(choice.source)
    assert isinstance(data, Images)
    assert isinstance(test, Images)
    return data, test


def show(title: str, words: str) -> None:
    """Print a comparison by its command."""
    choice = parse(shlex.split(words))
    data, test = images_of(choice)
    trials, without = compared(choice, data, test)
    print(f"\n## {title}\n\n    tammes compare {words}\n", flush=True)
    print(f"{accuracies((*trials, *without), len(test))}\n\n{differences(trials)}", flush=True)


def show_tuned(words: str) -> None:
    """Print the accuracies of each temperature on other alphabets, and the comparison at the best of each."""
    choice = parse(shlex.split(words))
    data, test = images_of(choice)
    other = [glyphs(split, characters=len(data.classes or ()), seed=1) for split in ("train", "test")]
    tried = {
        (trial.name, temperature): trial
        for temperature in TEMPERATURES
        for trial in compared(choice, *other, dict.fromkeys(choice.objectives, temperature))[0]
    }
    print(f"\n## Temperatures, on other alphabets\n\n    tammes compare {words}\n", flush=True)
    named = [
        replace(tried[name, temperature], name=f"{name}, temperature {temperature:g}")
        for name in choice.objectives
        for temperature in TEMPERATURES
    ]
    print(accuracies(named, len(other[1])), flush=True)
    best = {
        name: max(TEMPERATURES, key=lambda temperature: sum(values(tried[name, temperature], "probe")))
        for name in choice.objectives
    }
    trials, without = compared(choice, data, test, best)
    chosen = ", ".join(f"{name} {temperature:g}" for name, temperature in best.items())
    print(f"\n## 400 glyphs, at the best temperature of each: {chosen}\n", flush=True)
    print(f"{accuracies((*trials, *without), len(test))}\n\n{differences(trials)}", flush=True)


PARTS: dict[str, tuple[Callable[[str], None], str]] = {
    "digits": (partial(show, "Ten digits"), DIGITS),
    "early": (partial(show, "Ten digits, after 8 epochs"), EARLY),
    "glyphs": (partial(show, "400 glyphs, temperature 0.5"), GLYPHS),
    "tuned": (show_tuned, GLYPHS),
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
        part, words = PARTS[name]
        part(smaller(words) if choice.smoke else words)


if __name__ == "__main__":
    main()
