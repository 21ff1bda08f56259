"""Which classes a linear classifier takes for each other: matrices, or the most confused pairs of many."""

from dataclasses import dataclass

import numpy as np

from tammes.report.comparison import Comparison, Outcome
from tammes.report.figures.confusion import MOST_WITH_NUMBERS, confusion_matrix
from tammes.report.markup import Panel, inline_svg, percent
from tammes.report.palette import css_color, objective_color
from tammes.report.scores import LINEAR, PROBE, Integers

MOST_CLASSES = 30
"""Number of classes up to which the matrix is drawn."""
IN_CAPTION = 3
"""Number of pairs below a matrix."""
IN_LIST = 10
"""Number of pairs where there is no matrix."""


@dataclass(frozen=True, kw_only=True)
class ConfusedPairs:
    """List of the most confused pairs of classes under one objective, with its color."""

    name: str
    color: str
    pairs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Confusions:
    """Section of the page about confused classes.

    Args:
        classifier: classifier in a sentence, such as "a linear probe".
        matrices: a matrix for each objective; empty for many classes.
        lists: the most confused pairs under each objective; empty where there are matrices.
        is_large: whether the matrices are too large for numbers in their cells.
        seeds: number of seeds whose rows are counted together.
    """

    classifier: str
    matrices: tuple[Panel, ...] = ()
    lists: tuple[ConfusedPairs, ...] = ()
    is_large: bool = False
    seeds: int = 1


def confusions(comparison: Comparison) -> Confusions | None:
    """Return the section about confused classes, or None if no objective has any."""
    known = [outcome for outcome in comparison.outcomes if outcome.confusion is not None]
    if not known:
        return None
    first = known[0]
    assert first.confusion is not None
    classes = len(first.confusion)
    panels, lists = [], []
    for index, outcome in enumerate(comparison.outcomes):
        if outcome.confusion is None:
            continue
        if classes <= MOST_CLASSES:
            panels.append(_matrix(comparison, outcome, outcome.confusion, index))
        else:
            pairs = tuple(_pairs(comparison, outcome.confusion, IN_LIST))
            lists.append(ConfusedPairs(name=outcome.name, color=css_color(index), pairs=pairs))
    return Confusions(
        classifier=(PROBE if first.scores.probe is not None else LINEAR).classifier,
        matrices=tuple(panels),
        lists=tuple(lists),
        is_large=classes > MOST_WITH_NUMBERS,
        seeds=max(1, len(first.seeds)),
    )


def _matrix(comparison: Comparison, outcome: Outcome, counts: Integers, index: int) -> Panel:
    """Return the matrix of an objective; its description has the accuracy of each class."""
    names = [comparison.sample.class_name(label) for label in range(len(counts))]
    # A class without test rows has an empty row.
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure = confusion_matrix(shares, names, color=objective_color(index))
    pairs = "; ".join(_pairs(comparison, counts, IN_CAPTION))
    caption = f"most often: {pairs}" if pairs else "no row is classified wrongly"
    of_each = ", ".join(
        f"{name} {percent(float(shares[label, label]))}"
        for label, name in enumerate(names)
        if counts[label].any()
    )
    long = f"Confusion matrix of {outcome.name}. Classified right: {of_each}; {caption}."
    svg = inline_svg(figure, name=f"confusion-{index}", description=long)
    name = outcome.name if len(comparison.outcomes) > 1 else ""
    return Panel(name=name, color=css_color(index), svg=svg, caption=caption)


def _pairs(comparison: Comparison, counts: Integers, most: int) -> list[str]:
    """Return the pairs of classes with the most rows that are classified wrongly, in words."""
    called, of = comparison.sample.class_name, counts.sum(axis=1)
    return [
        f"{called(row)} as {called(column)}, {counts[row, column]} of {of[row]}"
        for row, column in most_confused(counts, most)
    ]


def most_confused(counts: Integers, most: int) -> list[tuple[int, int]]:
    """Return the pairs of a class and the class it is taken for, those with the most rows first.

    Args:
        counts: (classes, classes) rows of each class that are classified as each class.
        most: largest number of pairs; those without a row are left out.

    Example:
        >>> most_confused(np.array([[5, 1, 0], [3, 4, 0], [0, 0, 2]]), most=5)
        [(1, 0), (0, 1)]
    """
    wrong = counts * (1 - np.eye(len(counts), dtype=counts.dtype))
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    pairs = [divmod(int(place), len(counts)) for place in order]
    return [pair for pair in pairs if wrong[pair] > 0]
