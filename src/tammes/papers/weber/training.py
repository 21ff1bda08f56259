"""Training of the runs of a table's row, all seeds and strategies as one model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.latent import OverlapWarning, Strategy
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Effect
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.study import Study
from tammes.papers.weber.settings import (
    MEASURED_ON,
    PAPER,
    SEARCHED_ON,
    SEEDS,
    UNTRAINED,
    Settings1,
    Settings2,
    in_words,
)


@dataclass(frozen=True, kw_only=True)
class StrategyRun:
    """One run: a strategy and a seed in a row of a table.

    Args:
        row: row, in words.
        strategy: name of the strategy.
        settings: all settings that the paper leaves open, as one string.
        updates: number of updates of the encoder; 0 of an untrained one.
        seed: random seed of the run.
    """

    row: str
    strategy: str
    settings: str
    updates: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class RunScore:
    """Measurements of a run.

    Args:
        accuracy: accuracy that the table reports: of Table II that of nearest neighbors, of Table I the best
            of a linear classifier after any round.
        last: accuracy after the last round.
        ceiling: fraction of latents that are nearest to the mean of their own class: the accuracy that the
            true latents allow.
        tries: mean number of candidates looked at for a positive.
        missed: fraction of positives that their strategy does not look for: no candidate was accepted, or an
            adversarial one lies deeper in the anchor's class than the anchor.
    """

    accuracy: float
    last: float
    ceiling: float
    tries: float
    missed: float


Results = Mapping[StrategyRun, RunScore]


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Runs of one row, which are trained as one model, and its untrained encoders.

    Args:
        settings: settings, with the row.
        strategies: strategies by name.
        seeds: random seeds; each strategy has a run for each.
        updates: number of updates of every encoder.
    """

    settings: Settings1 | Settings2
    strategies: Mapping[str, Strategy]
    seeds: Sequence[int]
    updates: int

    def cell(self, strategy: str, seed: int) -> StrategyRun:
        """Return one of the runs."""
        described = {name.replace(" ", "_"): value for name, value in in_words(self.settings).items()}
        return StrategyRun(
            row=self.settings.row,
            strategy=strategy,
            settings=" ".join(f"{name}={value}" for name, value in described.items()),
            updates=0 if strategy in self.settings.CONTROLS else self.updates,
            seed=seed,
        )

    def cells(self) -> list[StrategyRun]:
        """Return all runs."""
        strategies = (*self.settings.CONTROLS, *self.strategies)
        return [self.cell(strategy, seed) for strategy in strategies for seed in self.seeds]

    def measured(self, *, training: bool) -> dict[StrategyRun, RunScore]:
        """Measure all runs after training, or the untrained encoders."""
        with warnings.catch_warnings():
            # Eight classes on a circle, as in the paper's fourth row, may overlap; the page says by how much.
            warnings.simplefilter("ignore", OverlapWarning)
            if training:
                trained, reported, last = self.settings.trained(self.strategies, self.seeds, self.updates)
            else:
                trained, reported, last = self.settings.untrained(self.seeds, self.updates)
        scores = {}
        for name, each in trained.items():
            assert each.state.world.classes is not None  # the rows have classes
            ceilings = 1 - each.state.world.classes.overlap
            for run, seed in enumerate(self.seeds):
                scores[self.cell(name, seed)] = RunScore(
                    accuracy=float(reported[name][run]),
                    last=float(last[name][run]),
                    ceiling=float(ceilings[run]),
                    tries=float(each.tries[run]),
                    missed=float(each.missed[run]),
                )
        return scores

    def scores(self, results: Results, strategy: str) -> list[RunScore]:
        """Return the score of each seed."""
        return [results[self.cell(strategy, seed)] for seed in self.seeds]

    def accuracy(self, results: Results, strategy: str) -> Estimate:
        """Return the accuracy of a strategy, over the seeds."""
        return Estimate.over_seeds([score.accuracy for score in self.scores(results, strategy)])

    def ceiling(self, results: Results) -> Estimate:
        """Return the accuracy that the true latents allow, over the seeds."""
        return Estimate.over_seeds([score.ceiling for score in self.scores(results, UNTRAINED)])

    def missed(self, results: Results, strategy: str) -> list[float]:
        """Return the fraction of positives that the strategy does not look for, of each seed."""
        return [score.missed for score in self.scores(results, strategy)]

    def gap(self, results: Results, more: str, less: str) -> Estimate:
        """Return by how much one strategy is more accurate than another, seed by seed."""
        return Estimate.of_difference(
            self.accuracy(results, more).values, self.accuracy(results, less).values
        )


def runs_of_row(
    settings: Settings1 | Settings2,
    request: Request,
    *,
    updates: int,
    strategies: Mapping[str, Strategy] | None = None,
) -> Runs:
    """Return the runs of a row that a request allows.

    Args:
        settings: settings, with the row.
        request: request for the study; a smaller budget has fewer seeds, and at least two.
        updates: number of updates of the full work.
        strategies: strategies by name; None for those of the row's table.
    """
    settings = replace(settings, learning_rate=request.rate(settings.learning_rate))
    return Runs(
        settings=settings,
        strategies=settings.strategies() if strategies is None else strategies,
        seeds=request.seed_range(SEEDS, fewest=2),
        updates=part_of(request.budget, updates),
    )


def study(plan: Sequence[Runs], page: Callable[[Results], PaperPage]) -> Study[StrategyRun, RunScore]:
    """Return the study of some rows; measuring one run trains its whole row.

    Args:
        plan: runs of each row.
        page: function from the scores to the page.
    """
    of_cell = {cell: runs for runs in plan for cell in runs.cells()}
    ahead: dict[StrategyRun, RunScore] = {}

    def measure(cell: StrategyRun) -> RunScore:
        if cell not in ahead:
            ahead.update(of_cell[cell].measured(training=cell.updates > 0))
        return ahead[cell]

    return Study(
        cells=list(of_cell),
        scores=RunScore,
        measure=measure,
        name=lambda cell: f"{cell.row}: {cell.strategy}",
        protocol=Protocol(
            seeds=plan[0].seeds,
            controls=("untrained encoder", "chance", "true latents (ceiling)"),
            measured_on=MEASURED_ON,
            search=plan[0].settings.SEARCH,
            searched_on=SEARCHED_ON,
        ),
        page=page,
    )


def part_of(budget: float, whole: int) -> int:
    """Return how many updates or resamples a budget has: all if it has two seeds or more, and at least one.

    Example:
        >>> part_of(0.3, 1000), part_of(0.1, 1000), part_of(1e-6, 10)
        (1000, 500, 1)
    """
    return max(1, round(whole * min(1.0, SEEDS * budget / 2)))


def row_by_row(
    results: Results, work: Sequence[Runs], more: str, less: str, *, name: str = ""
) -> tuple[Effect, ...]:
    """Return by how much one strategy is more accurate than another, in each row.

    Args:
        results: scores of all runs.
        work: runs of each row.
        more: strategy that should be more accurate.
        less: strategy that should be less accurate.
        name: words before the row.
    """
    return tuple(
        Effect(name=f"{name}{runs.settings.short}", difference=runs.gap(results, more, less)) for runs in work
    )


def above_untrained(
    results: Results, work: Sequence[Runs], strategy: str, control: str = UNTRAINED
) -> tuple[Effect, ...]:
    """Return by how much a strategy is more accurate than the untrained encoder, in each row."""
    return row_by_row(results, work, strategy, control, name="over untrained, ")


CONTROLS = ("chance", UNTRAINED, "true latents")
"""Columns of a table beside those of the strategies."""


def controls(results: Results, runs: Runs) -> tuple[str, ...]:
    """Return the controls of a row in the order of `CONTROLS`."""
    untrained, ceiling = runs.accuracy(results, UNTRAINED), runs.ceiling(results)
    return f"{runs.settings.chance:g}", str(untrained), str(ceiling)


def beside_paper(results: Results, runs: Runs, order: Sequence[str]) -> Iterator[str]:
    """Yield the accuracy of each strategy with its interval, and the paper's in parentheses."""
    for name in order:
        paper = PAPER[runs.settings.row].get(name)
        ours = str(runs.accuracy(results, name))
        yield ours if paper is None else f"{ours} ({paper:.3f})"


def by_strategy(
    results: Results,
    plan: Sequence[Runs],
    *,
    order: Sequence[str],
    label: str,
    limits: tuple[float, float],
) -> tuple[Drawing, Figure]:
    """Draw the accuracy of each strategy row by row; return the first row, and all rows as a figure.

    Args:
        results: scores of all runs.
        plan: runs of each row.
        order: strategies from top to bottom.
        label: name of the accuracy.
        limits: ends of the axis.
    """
    drawn = {}
    for runs in plan:
        row = runs.settings.row
        ours: dict[str, float | Estimate] = {"chance": runs.settings.chance}
        ours |= {name: runs.accuracy(results, name) for name in (*runs.settings.CONTROLS, *order)}
        ours["true latents"] = runs.ceiling(results)
        drawn[row] = dots(ours, PAPER[row], label=label, limits=limits)
    figure = Figure(
        title="Accuracy by strategy",
        words="Means over seeds with 95 % intervals; rings are the paper's.",
        panels=tuple(
            panel(figure, f"{row}: accuracies, and the paper's as rings.", name=row)
            for row, figure in drawn.items()
        ),
        wide=True,
    )
    return next(iter(drawn.values())), figure
