"""Studies of features: the same cells, protocol and page, whatever is measured of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from matplotlib.figure import Figure as Drawing

from tammes.papers.finding import Finding
from tammes.papers.image_sets import Parts, drawer
from tammes.papers.page import Figure, Numbers, PaperPage
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_features.methods import FeatureRun
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.training import FeatureScale, base_run, over_seeds
from tammes.papers.study import Study

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Score = TypeVar("Score", bound="DataclassInstance")
Column = Callable[[ArmScores[Score], str], str]
"""Function from the scores of a set and the name of an arm to a cell of the page's table."""


def study_of(
    sets: Mapping[str, Parts],
    scale: FeatureScale,
    *,
    arms: Callable[[FeatureRun], Sequence[FeatureRun]],
    scores: type[Score],
    measure: Callable[[FeatureRun, FeatureScale, Parts], Score],
    page: Callable[[Mapping[FeatureRun, Score], FeatureScale], PaperPage | None],
) -> Study[FeatureRun, Score]:
    """Return the study of the arms on sets of images, seed by seed.

    Args:
        sets: sets by name.
        scale: size of the study.
        arms: function from the run of SimCLR on a set to the runs of one seed, the untrained encoder first.
        scores: dataclass of what is measured of an encoder.
        measure: function that trains an encoder on the first of two parts, and measures it.
        page: function from the scores to the page.
    """
    draw = drawer(sets, scale.test_images)
    return Study(
        cells=[
            cell
            for data, parts in sets.items()
            for cell in over_seeds(arms(base_run(data, parts, scale)), scale)
        ],
        scores=scores,
        measure=lambda run: measure(run, scale, draw(run)),
        name=lambda run: f"{run.data}, {run.arm}, seed {run.seed}",
        protocol=Protocol(seeds=scale.seeds, controls=("untrained encoder",), measured_on="test images"),
        page=lambda results: page(results, scale),
        partial=True,
    )


def page_of(
    results: Mapping[FeatureRun, Score],
    scale: FeatureScale,
    *,
    title: str,
    needed: Callable[[str], Iterable[str]],
    overview: Callable[[ArmScores[Score]], Drawing],
    findings: Callable[[ArmScores[Score]], tuple[Finding, ...]],
    figures: Callable[[Mapping[str, ArmScores[Score]]], Iterable[Figure]],
    columns: Mapping[str, Column[Score]],
    note: str,
    remarks: tuple[str, ...],
) -> PaperPage | None:
    """Return the page of the sets whose needed arms have been measured; None if there is no such set.

    Args:
        results: scores of the cells so far.
        scale: size of the study.
        title: heading.
        needed: function from the name of a set to the arms without which it is not shown.
        overview: function that draws the first set.
        findings: function from the scores of a set to the paper's statements beside our numbers.
        figures: function from the scores of all sets to the rows of panels.
        columns: functions that write the cells of a row of the table, by header.
        note: sentence below the table.
        remarks: paragraphs that say how to read the page.
    """
    measured = {
        data: scores
        for data, scores in ArmScores[Score].by_set(results).items()
        if set(needed(data)) <= set(scores.names)
    }
    if not measured:
        return None
    return PaperPage(
        title=title,
        overview=overview(next(iter(measured.values()))),
        findings=tuple(finding for scores in measured.values() for finding in findings(scores)),
        figures=tuple(figures(measured)),
        numbers=Numbers(
            header=("encoder", *columns, "seeds"),
            rows=tuple(
                (
                    f"{data}, {arm}",
                    *(write(scores, arm) for write in columns.values()),
                    str(len(scores.scores[arm])),
                )
                for data, scores in measured.items()
                for arm in scores.names
            ),
            note=note,
        ),
        remarks=remarks,
        settings=_settings(results, scale),
    )


def percent(pick: Callable[[Score], float]) -> Column[Score]:
    """Return the column of a share, in percent with its interval over the seeds."""
    return lambda scores, arm: scores.mean(arm, pick).percent


def number(pick: Callable[[Score], float], digits: int) -> Column[Score]:
    """Return the column of the mean of a number."""
    return lambda scores, arm: f"{scores.mean(arm, pick).mean:.{digits}f}"


SECONDS = attrgetter("seconds")
"""Processor time of the training."""


def _settings(runs: Iterable[FeatureRun], scale: FeatureScale) -> dict[str, str]:
    each = {
        run.data: f"{run.images:,} training images, at most {scale.test_images:,} test images, batches of "
        f"{run.batch_size} pairs"
        for run in runs
    }
    return {
        **each,
        "encoder": scale.encoder,
        "training": f"{scale.epochs} epochs, Adam at a constant rate of {scale.learning_rate:g}",
    }
