"""How much to perturb the uninformative latents, and where the effect of Table II appears and vanishes.

Weber and Bachman (2022), Figure 3. The figure's numbers are not in the text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tammes.latent import algorithm_2
from tammes.papers.entry import Entry
from tammes.papers.interval import Interval
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, write_page
from tammes.papers.weber.figures import curves
from tammes.papers.weber.settings import (
    ACTIVE,
    BASELINE,
    INFO_ACTIVE,
    ROWS_2,
    TABLE_2,
    Row2,
    Settings2,
    in_words,
)
from tammes.papers.weber.table_2 import UPDATES
from tammes.papers.weber.training import Cell, Measured, Runs2, accuracies, part_of, seeds_of, study
from tammes.report.panels import Panel
from tammes.report.svg import inline_svg

SCALES = (0.3, 0.6, 0.9, 1.5, 3.0, 9.0)
STUDIED = Row2(classes=4, informative=2, uninformative=6)
"""The row whose settings are varied."""
NAMED_AT_MOST = 6
"""Values at which the effect vanishes, in a sentence."""
VARIED: Mapping[str, tuple[Any, ...]] = {
    "scale": (0.5, 1.0, 1.5, 2.0, 2.5, 3.5),
    "class_noise": (0.1, 0.2, 0.35, 0.5),
    "temperature": (0.1, 0.2, 0.5, 1.0, 2.0),
    "gain": (0.1, 0.3, 1.0, 3.0),
    "mixing_depth": (1, 2, 4),
    "dim": (2, 4, 8, 16),
}
_NAMED = {
    "scale": "scale of the uninformative latents",
    "class_noise": "class noise",
    "temperature": "temperature",
    "gain": "gain of g: how far from linear",
    "mixing_depth": "depth of g",
    "dim": "dimensions of the embedding",
}


def run(out: Path, *, budget: float, seed: int, data: Path | None) -> None:
    """See `Reproduction`; a table that is there already is gone on with."""
    out.mkdir(parents=True, exist_ok=True)
    perturbed, varied = plans(budget, seed)
    work = [*perturbed.values(), *(runs for each in varied.values() for runs in each.values())]
    table = study(out / "table.csv", work)
    write(out, table, perturbed, varied, ENTRY.command(budget=budget, seed=seed))


def plans(budget: float, seed: int) -> tuple[dict[Row2, Runs2], dict[str, dict[float, Runs2]]]:
    """The runs of the figure by row, and those of each varied setting by its value."""
    seeds = seeds_of(budget, seed)
    updates = part_of(budget, UPDATES)
    settings = dataclasses.replace(TABLE_2, resamples=1)

    def runs(row: Row2, changed: Settings2, **strategies: float) -> Runs2:
        return Runs2(
            row=row,
            settings=changed,
            strategies={
                name: algorithm_2.active(uninformative=scale, radius=changed.scale)
                for name, scale in strategies.items()
            }
            or {name: changed.strategies()[name] for name in (BASELINE, ACTIVE, INFO_ACTIVE)},
            seeds=seeds,
            updates=updates,
        )

    perturbed = {row: runs(row, settings, **{f"{scale:g}": scale for scale in SCALES}) for row in ROWS_2}
    varied = {
        name: {value: runs(STUDIED, dataclasses.replace(settings, **{name: value})) for value in values}
        for name, values in VARIED.items()
    }
    return perturbed, varied


def write(
    out: Path,
    table: Mapping[Cell, Measured],
    perturbed: Mapping[Row2, Runs2],
    varied: Mapping[str, Mapping[float, Runs2]],
    command: str,
) -> None:
    """The figures and the page of what has been measured."""
    figures = (_over_the_perturbation(out / "figure.svg", table, perturbed), _over_settings(table, varied))
    found = findings(table, perturbed, varied)
    some = next(iter(perturbed.values()))
    page = PaperPage(
        title="How much to perturb the uninformative latents",
        statement=ENTRY.statement,
        source=ENTRY.source,
        lead=found[-1].ours,
        findings=found,
        figures=figures,
        numbers=numbers(table, varied),
        remarks=(),
        settings=in_words(some.settings)
        | {"seeds": str(len(some.seeds)), "updates": f"{some.updates} (Table II's: {UPDATES})"},
        command=command,
    )
    write_page(out / "report.html", page)


def _over_the_perturbation(
    path: Path, table: Mapping[Cell, Measured], perturbed: Mapping[Row2, Runs2]
) -> Figure:
    """A curve for each row, which is kept in a file, too."""
    drawn = curves(
        {
            str(row): [Interval.of(accuracies(table, runs, f"{scale:g}")) for scale in SCALES]
            for row, runs in perturbed.items()
        },
        SCALES,
        across="perturbation of the uninformative latents",
        up="kNN accuracy",
        width=6.4,
    )
    drawn.savefig(path, facecolor="white")
    svg = inline_svg(drawn, name="scales", description="Accuracy over the perturbation, row by row.")
    return Figure(
        title="Accuracy over the perturbation",
        words="The informative latents are perturbed by 0.3 throughout; bands are 95 % intervals.",
        panels=(Panel(svg=svg),),
        wide=True,
    )


def _over_settings(table: Mapping[Cell, Measured], varied: Mapping[str, Mapping[float, Runs2]]) -> Figure:
    """A panel for each varied setting, with a curve for each strategy."""
    drawn = {
        name: curves(
            {
                strategy: [Interval.of(accuracies(table, runs, strategy)) for runs in by_value.values()]
                for strategy in (BASELINE, ACTIVE, INFO_ACTIVE)
            },
            list(by_value),
            across=_NAMED[name],
            up="kNN accuracy",
            at=_of_the_table(name),
        )
        for name, by_value in varied.items()
    }
    return Figure(
        title="Where the effect appears and vanishes",
        words=f"{STUDIED}, one setting varied at a time; the dotted line is that of Table II.",
        panels=tuple(
            Panel(
                svg=inline_svg(
                    figure,
                    name=f"over-{name.replace('_', '-')}",
                    description=f"Accuracy of three strategies over the {_NAMED[name]}.",
                )
            )
            for name, figure in drawn.items()
        ),
        wide=True,
    )


def findings(
    table: Mapping[Cell, Measured],
    perturbed: Mapping[Row2, Runs2],
    varied: Mapping[str, Mapping[float, Runs2]],
) -> tuple[Finding, ...]:
    """The paper's statement beside our numbers, and where it ends."""
    first, next_one = (f"{scale:g}" for scale in SCALES[:2])
    small = [
        Interval.of_difference(accuracies(table, runs, next_one), accuracies(table, runs, first))
        for runs in perturbed.values()
    ]
    gaps = {
        (name, value): Interval.of_difference(
            accuracies(table, runs, INFO_ACTIVE), accuracies(table, runs, BASELINE)
        )
        for name, by_value in varied.items()
        for value, runs in by_value.items()
    }
    gone = [f"{_NAMED[name]} {value:g} ({gap})" for (name, value), gap in gaps.items() if not gap.above_zero]
    return (
        Finding(
            paper="Even small differences between the perturbations of informative and other latents improve "
            "over the baseline.",
            ours=f"{next_one} instead of {first}: " + ", ".join(map(str, small)) + ", row by row.",
            agrees=sum(gap.above_zero for gap in small) > len(small) / 2,
        ),
        Finding(
            paper="Targeted perturbations are more effective than equal ones.",
            ours=f"With one setting varied at a time, info-active is ahead of the baseline beyond chance at "
            f"{len(gaps) - len(gone)} of {len(gaps)} values" + _except(gone),
        ),
    )


def _except(gone: Sequence[str]) -> str:
    """Where the effect vanishes, by name as long as these can be read in a sentence."""
    if not gone:
        return "."
    if len(gone) > NAMED_AT_MOST:
        return f"; the panels and the table show the other {len(gone)}."
    return f"; not at {', '.join(gone)}."


def numbers(table: Mapping[Cell, Measured], varied: Mapping[str, Mapping[float, Runs2]]) -> Numbers:
    """A row for each value of each varied setting."""
    rows = []
    for name, by_value in varied.items():
        for value, runs in by_value.items():
            means = [Interval.of(accuracies(table, runs, each)) for each in (BASELINE, ACTIVE, INFO_ACTIVE)]
            gap = Interval.of_difference(
                accuracies(table, runs, INFO_ACTIVE), accuracies(table, runs, BASELINE)
            )
            rows.append(
                (
                    f"{_NAMED[name]}: {value:g}",
                    *(f"{interval.mean:.3f} ± {interval.error:.3f}" for interval in means),
                    str(gap),
                )
            )
    return Numbers(
        header=("", BASELINE, ACTIVE, INFO_ACTIVE, "info-active over baseline"),
        rows=tuple(rows),
        note="kNN accuracy, mean and standard error over seeds; the last column with its 95 % interval.",
    )


def _of_the_table(name: str) -> float:
    """Table II's value of a setting."""
    value = float(dataclasses.asdict(TABLE_2)[name])
    return value or float(STUDIED.informative + STUDIED.uninformative)


ENTRY = Entry(
    name="positives-figure-3",
    statement="Even small differences between the perturbations of informative and of other latents improve "
    "over equal ones.",
    source="Weber and Bachman (2022), Figure 3 and supplement, sec. E",
    run=run,
)
