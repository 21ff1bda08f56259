"""Rows of pictures or sentences: what is near an anchor, and its hardest negatives, under each objective."""

from dataclasses import dataclass

from markupsafe import Markup

from tammes.report.comparison import Comparison
from tammes.report.negatives import anchors, hardest, nearest_rows, uniform_draw
from tammes.report.palette import STYLESHEET, objective_color
from tammes.report.sample import Sample

ANCHORS = 3
LENGTH = 6
NEAREST = 5


@dataclass(frozen=True, kw_only=True)
class Item:
    """A picture or a sentence as the page shows it.

    Args:
        shown: itself.
        alt: what it is, in words.
        caption: a number about it, or nothing.
        collision: whether it carries the anchor's label.
    """

    shown: Markup
    alt: str
    caption: str = ""
    collision: bool = False


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A row of items under one objective, or drawn uniformly (without a color)."""

    name: str
    color: str
    note: str
    items: tuple[Item, ...]


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """An anchor and its rows."""

    item: Item
    strips: tuple[Strip, ...]


def anchor_strips(comparison: Comparison) -> list[Anchor]:
    """The first anchors of different classes, each with a row per objective and a uniform one."""
    sample, first = comparison.sample, comparison.outcomes[0]
    shown = []
    for anchor in anchors(sample.labels, first.pairs, ANCHORS):
        drawn = uniform_draw(first, anchor, LENGTH)
        rows = {("drawn uniformly", ""): drawn}
        for index, outcome in enumerate(comparison.outcomes):
            rows[outcome.name, _color(index)] = hardest(outcome, sample, anchor, LENGTH)
        strips = [
            _strip(name, color, [_negative(sample, n.row, n.weight, anchor) for n in negatives], sample)
            for (name, color), negatives in rows.items()
        ]
        shown.append(Anchor(item=_item(sample, anchor), strips=tuple(strips)))
    return shown


def nearest_strips(comparison: Comparison) -> list[Anchor]:
    """The same anchors, each with the rows of the sample that lie nearest to it under each objective."""
    sample = comparison.sample
    shown = []
    for anchor in anchors(sample.labels, comparison.outcomes[0].pairs, ANCHORS):
        strips = []
        for index, outcome in enumerate(comparison.outcomes):
            near = nearest_rows(outcome, anchor, NEAREST)
            items = [_item(sample, n.row, [], f"{n.similarity:.2f}", anchor) for n in near]
            strips.append(_strip(outcome.name, _color(index), items, sample))
        shown.append(Anchor(item=_item(sample, anchor), strips=tuple(strips)))
    return shown


def _color(index: int) -> str:
    return STYLESHEET.variable_of[objective_color(index)]


def _strip(name: str, color: str, items: list[Item], sample: Sample) -> Strip:
    collisions = sum(item.collision for item in items)
    note = "" if sample.labels is None else f"{collisions} of {len(items)} of the anchor's class"
    return Strip(name=name, color=color, note=note, items=tuple(items))


def _negative(sample: Sample, row: int, weight: float, anchor: int) -> Item:
    return _item(sample, row, [f"{weight:.1f} times the uniform weight"], f"{weight:.1f}×", anchor)


def _item(
    sample: Sample, row: int, words: list[str] | None = None, caption: str = "", anchor: int | None = None
) -> Item:
    labels = sample.labels
    collision = labels is not None and anchor is not None and labels[row] == labels[anchor]
    all_words = [sample.title(row), *(words or [])]
    all_words += ["same class as the anchor"] if collision else []
    alt = ", ".join(all_words)
    return Item(shown=sample.shown(row, alt), alt=alt, caption=caption, collision=bool(collision))
