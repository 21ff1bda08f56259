"""Rows of pictures: an anchor's hardest negatives under each objective, beside uniform ones."""

from dataclasses import dataclass

from tammes.report.comparison import Comparison, Sample
from tammes.report.negatives import Negative, anchors, hardest, uniform_draw
from tammes.report.palette import STYLESHEET, objective_color
from tammes.report.pictures import data_uri, is_small

ANCHORS = 3
LENGTH = 6


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture as the page shows it.

    Args:
        source: a data URI.
        alt: what it is, in words.
        small: whether it has so few pixels that they should stay squares.
        caption: its weight, or nothing.
        collision: whether it carries the anchor's label.
    """

    source: str
    alt: str
    small: bool
    caption: str = ""
    collision: bool = False


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A row of negatives under one objective, or drawn uniformly (without a color)."""

    name: str
    color: str
    note: str
    negatives: tuple[Picture, ...]


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """An anchor and its rows."""

    picture: Picture
    strips: tuple[Strip, ...]


def anchor_strips(comparison: Comparison) -> list[Anchor]:
    """The first anchors of different classes, each with a row per objective and a uniform one."""
    sample, first = comparison.sample, comparison.outcomes[0]
    shown = []
    for anchor in anchors(sample.labels, first.pairs, ANCHORS):
        rows = [_strip("drawn uniformly", "", uniform_draw(first, anchor, LENGTH), sample, anchor)]
        for index, outcome in enumerate(comparison.outcomes):
            color = STYLESHEET.variable_of[objective_color(index)]
            rows.append(_strip(outcome.name, color, hardest(outcome, anchor, LENGTH), sample, anchor))
        shown.append(Anchor(picture=_picture(sample, anchor), strips=tuple(rows)))
    return shown


def _strip(name: str, color: str, negatives: list[Negative], sample: Sample, anchor: int) -> Strip:
    pictures = []
    for negative in negatives:
        collision = sample.labels is not None and sample.labels[negative.picture] == sample.labels[anchor]
        pictures.append(_picture(sample, negative.picture, weight=negative.weight, collision=bool(collision)))
    collisions = sum(picture.collision for picture in pictures)
    note = "" if sample.labels is None else f"{collisions} of {len(pictures)} of the anchor's class"
    return Strip(name=name, color=color, note=note, negatives=tuple(pictures))


def _picture(sample: Sample, index: int, weight: float | None = None, collision: bool = False) -> Picture:
    image = sample.images[index]
    words = [sample.title(index)]
    words += [] if weight is None else [f"{weight:.1f} times the uniform weight"]
    words += ["same class as the anchor"] if collision else []
    return Picture(
        source=data_uri(image),
        alt=", ".join(words),
        small=is_small(image),
        caption="" if weight is None else f"{weight:.1f}×",
        collision=collision,
    )
