"""How much to perturb the uninformative latents, and where the effect of Table II appears and vanishes.

Weber and Bachman (2022), Figure 3. The figure's numbers are not in the text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tammes.latent import algorithm_2
from tammes.papers.entry import Request
from tammes.papers.figures import curves
from tammes.papers.finding import BY_CHANCE, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.weber.settings import (
    ACTIVE,
    BASELINE,
    INFO_ACTIVE,
    TABLE_2,
    UNTRAINED,
    Settings2,
    in_words,
)
from tammes.papers.weber.table_2 import UPDATES
from tammes.papers.weber.training import (
    Results,
    Runs,
    above_untrained,
    row_by_row,
    runs_of_row,
    study,
)

SCALES = (0.3, 0.6, 0.9, 1.5, 3.0, 9.0)
STUDIED = Settings2(classes=4, informative=2, uninformative=6, resamples=1)
"""Settings, in a row of Table II, of which one is varied at a time."""
SHOWN = (BASELINE, ACTIVE, INFO_ACTIVE)
"""Strategies that are compared at each setting."""
NAMED_AT_MOST = 6
"""Largest number of values, at which the effect vanishes, that a sentence names."""
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


Perturbed = Sequence[Runs]
"""Runs of the figure, row by row."""
Varied = Mapping[str, Mapping[float, Runs]]
"""Runs of each varied setting by its value."""


def run(request: Request) -> None:
    """Train at each perturbation and at each value of the varied settings."""
    perturbed, varied = plans(request)
    work = [*perturbed, *(runs for each in varied.values() for runs in each.values())]
    study(work, lambda results: page(results, perturbed, varied)).run(request)


def plans(request: Request) -> tuple[Perturbed, Varied]:
    """Return the runs of the figure, and those of the varied settings."""
    runs = partial(runs_of_row, request=request, updates=UPDATES)
    scales = {f"{scale:g}": algorithm_2.active(uninformative=scale, radius=STUDIED.scale) for scale in SCALES}

    def shown(settings: Settings2) -> Runs:
        strategies = settings.strategies()
        return runs(settings, strategies={strategy: strategies[strategy] for strategy in SHOWN})

    return (
        [runs(replace(row, resamples=1), strategies=scales) for row in TABLE_2],
        {
            name: {value: shown(replace(STUDIED, **{name: value})) for value in values}
            for name, values in VARIED.items()
        },
    )


def page(results: Results, perturbed: Perturbed, varied: Varied) -> PaperPage:
    """Return the page of what has been measured."""
    overview = curves(
        {
            runs.settings.row: (SCALES, [runs.accuracy(results, f"{scale:g}") for scale in SCALES])
            for runs in perturbed
        },
        across="perturbation of the uninformative latents",
        up="kNN accuracy",
        logarithmic=True,
        width=6.4,
    )
    first = perturbed[0]
    return PaperPage(
        title="How much to perturb the uninformative latents",
        overview=overview,
        findings=findings(results, perturbed, varied),
        figures=(
            Figure(
                title="Accuracy over the perturbation",
                words="The informative latents are perturbed by 0.3 throughout; bands are 95 % intervals.",
                panels=(panel(overview, "Accuracy over the perturbation, row by row."),),
                wide=True,
            ),
            _over_settings(results, varied),
        ),
        numbers=numbers(results, varied),
        settings=in_words(first.settings) | {"updates": f"{first.updates} (Table II's: {UPDATES})"},
    )


def _over_settings(results: Results, varied: Varied) -> Figure:
    """Return a panel for each varied setting, with a curve for each strategy."""
    panels = []
    for name, by_value in varied.items():
        drawn = curves(
            {
                strategy: (list(by_value), [runs.accuracy(results, strategy) for runs in by_value.values()])
                for strategy in SHOWN
            },
            across=_NAMED[name],
            up="kNN accuracy",
            logarithmic=True,
            # 0 dimensions of the embedding stand for as many as the latents.
            at=float(getattr(STUDIED, name) or STUDIED.latents),
        )
        panels.append(panel(drawn, f"Accuracy of three strategies over the {_NAMED[name]}."))
    return Figure(
        title="Where the effect appears and vanishes",
        words=f"{STUDIED.row}, one setting varied at a time; the dotted line is that of Table II.",
        panels=tuple(panels),
        wide=True,
    )


def findings(results: Results, perturbed: Perturbed, varied: Varied) -> tuple[Finding, ...]:
    """Return the paper's statement beside our numbers, and where the effect ends."""
    first, second = (f"{scale:g}" for scale in SCALES[:2])
    gaps = {
        f"{_NAMED[name]} {value:g}": runs.gap(results, INFO_ACTIVE, BASELINE)
        for name, by_value in varied.items()
        for value, runs in by_value.items()
    }
    gone = [f"{name} ({gap})" for name, gap in gaps.items() if not gap.above_zero]
    varied_words = "One seed has no interval, so that nothing says where info-active is above the baseline."
    if all(gap.is_known for gap in gaps.values()):
        varied_words = (
            "The interval of info-active over the baseline lies above zero at "
            f"{len(gaps) - len(gone)} of {len(gaps)} values (by chance {BY_CHANCE * len(gaps):.2g})"
            + _except(gone)
        )
    return (
        Finding(
            paper="Even small differences between the perturbations of informative and other latents improve "
            "over the baseline.",
            ours=f"{second} instead of {first}:",
            effects=row_by_row(results, perturbed, second, first),
            controls=above_untrained(results, perturbed, second),
        ),
        Finding(
            paper="(No statement: one setting varied at a time.)",
            ours=varied_words,
        ),
    )


def _except(gone: Sequence[str]) -> str:
    """Return where the effect vanishes, by name if there are few such values."""
    if not gone:
        return "."
    if len(gone) > NAMED_AT_MOST:
        return f"; the panels and the table show the other {len(gone)}."
    return f"; not at {', '.join(gone)}."


def numbers(results: Results, varied: Varied) -> Numbers:
    """Return a row for each value of each varied setting."""
    return Numbers(
        header=("", UNTRAINED, *SHOWN, "info-active over baseline"),
        rows=tuple(
            (
                f"{_NAMED[name]}: {value:g}",
                *(str(runs.accuracy(results, strategy)) for strategy in (UNTRAINED, *SHOWN)),
                runs.gap(results, INFO_ACTIVE, BASELINE).text(signed=True),
            )
            for name, by_value in varied.items()
            for value, runs in by_value.items()
        ),
        note="kNN accuracy, means over seeds with 95 % intervals; differences are paired by seed.",
    )
