"""Strips of pictures or sentences: the hardest negatives and the nearest rows of an anchor."""

from dataclasses import dataclass

from markupsafe import Markup

from tammes.report.comparison import Comparison
from tammes.report.negatives import Ranked, anchors, hardest, nearest_rows, uniform_draw
from tammes.report.palette import css_color
from tammes.report.sample import Sample

ANCHORS = 3
LENGTH = 6
NEAREST = 5


@dataclass(frozen=True, kw_only=True)
class Item:
    """Picture or sentence on the page.

    Args:
        shown: its markup.
        alt: its description.
        caption: number about it; may be empty.
        collision: whether it carries the anchor's label.
    """

    shown: Markup
    alt: str
    caption: str = ""
    collision: bool = False


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Row of items under one objective, or drawn uniformly (without a color)."""

    name: str
    color: str
    note: str
    items: tuple[Item, ...]


AnchorStrips = tuple[Item, list[Strip]]
"""Anchor and its strips."""


def anchor_strips(comparison: Comparison) -> list[AnchorStrips]:
    """Return the first anchors of different classes, each with its hardest negatives under each objective."""
    sample, first = comparison.sample, comparison.outcomes[0]
    words = "{:.1f} times the uniform weight", "{:.1f}×"
    if all(outcome.is_uniform for outcome in comparison.outcomes):
        words = "", ""  # the same number everywhere would say nothing
    shown = []
    for anchor in anchors(sample.labels, first.pairs, ANCHORS):
        ranked = {("drawn uniformly", ""): uniform_draw(first, anchor, LENGTH)}
        for index, outcome in enumerate(comparison.outcomes):
            ranked[outcome.name, css_color(index)] = hardest(outcome, sample, anchor, LENGTH)
        strips = [_strip(*key, rows, sample, anchor, *words) for key, rows in ranked.items()]
        shown.append((_item(sample, anchor), strips))
    return shown


def nearest_strips(comparison: Comparison) -> list[AnchorStrips]:
    """Return the same anchors, each with the nearest rows before training and under each objective."""
    sample = comparison.sample
    features = {(each.name, css_color(at)): each.features for at, each in enumerate(comparison.outcomes)}
    if comparison.before is not None:
        features = {("before training", ""): comparison.before.features, **features}
    shown = []
    for anchor in anchors(sample.labels, comparison.outcomes[0].pairs, ANCHORS):
        strips = []
        for key, each in features.items():
            near = nearest_rows(each, anchor, NEAREST)
            strips.append(_strip(*key, near, sample, anchor, "", "{:.2f}"))
        shown.append((_item(sample, anchor), strips))
    return shown


def _strip(
    name: str, color: str, ranked: list[Ranked], sample: Sample, anchor: int, words: str, caption: str
) -> Strip:
    """Return the strip of ranked rows; `words` and `caption` are formats of their weight or similarity."""
    items = [_item(sample, row, words.format(each), caption.format(each), anchor) for row, each in ranked]
    collisions = sum(item.collision for item in items)
    note = "" if sample.labels is None else f"{collisions} of {len(items)} of the anchor's class"
    return Strip(name=name, color=color, note=note, items=tuple(items))


def _item(sample: Sample, row: int, words: str = "", caption: str = "", anchor: int | None = None) -> Item:
    """Return a row of the sample as an item, with words about it and compared with an anchor."""
    labels = sample.labels
    collision = labels is not None and anchor is not None and bool(labels[row] == labels[anchor])
    parts = [sample.title(row), words, "same class as the anchor" if collision else ""]
    alt = ", ".join(part for part in parts if part)
    return Item(shown=sample.shown(row, alt), alt=alt, caption=caption, collision=collision)
