"""Pictures of a Vision Transformer: what it makes of hidden patches over training, and where it looks."""

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from tammes.report.comparison import Comparison, Outcome
from tammes.report.markup import picture
from tammes.report.palette import css_color
from tammes.report.sample import Pictures
from tammes.report.scores import Floats
from tammes.report.strips import AnchorStrips, Item, Strip
from tammes.training.pictures import Reconstructions

MOST_HEADS = 5
"""Heads of the attention that are shown beside their mean."""
DARKEST = 0.15
"""Brightness of a patch that gets no attention, where the patch that gets most has 1."""


def reconstruction_strips(comparison: Comparison) -> list[AnchorStrips]:
    """Return each image that was decoded, with what the encoder saw and what the decoder made of it."""
    return [
        article
        for index, outcome in enumerate(comparison.outcomes)
        if outcome.reconstructions is not None
        for article in _reconstructions(outcome, outcome.reconstructions, _color(comparison, index))
    ]


def _reconstructions(outcome: Outcome, found: Reconstructions, color: str) -> Iterator[AnchorStrips]:
    for row in range(len(found.clean)):
        words = f"training image {row + 1}"
        anchor = _item(found.clean[row].numpy(), f"{words} of {outcome.name}" if color else words)
        strips = [_strip("seen by the encoder", color, [_item(found.seen[row].numpy(), f"{words}, masked")])]
        for name, made in (("reconstruction", found.reconstructed), ("denoised", found.denoised)):
            items = [
                _item(stage[row].numpy(), f"{words}, {name} after epoch {epoch}", f"{epoch}")
                for epoch, stage in zip(found.epochs, made, strict=False)
            ]
            if items:
                strips.append(_strip(f"{name} after epoch", color, items))
        yield anchor, strips


def attention_strips(comparison: Comparison) -> list[AnchorStrips]:
    """Return the first images of the sample, each with the attention of the last block, by head."""
    sample = comparison.sample
    if not isinstance(sample, Pictures):
        return []
    counts = [0 if each.attention is None else len(each.attention) for each in comparison.outcomes]
    shown = []
    for row in range(max(counts)):
        strips = []
        for index, outcome in enumerate(comparison.outcomes):
            if outcome.attention is None:
                continue
            heads = outcome.attention[row]
            maps = {"mean": heads.mean(axis=0)}
            maps |= {f"head {place + 1}": each for place, each in enumerate(heads[:MOST_HEADS])}
            items = [
                _item(_lit(sample.images[row], each), f"attention, {name}, up to {each.max():.1f}", name)
                for name, each in maps.items()
            ]
            name = "attention" if len(comparison.outcomes) == 1 else outcome.name
            strips.append(_strip(name, _color(comparison, index), items))
        title = sample.title(row)
        shown.append((Item(shown=sample.shown(row, title), alt=title), strips))
    return shown


def _lit(image: np.ndarray, attention: Floats) -> np.ndarray:
    """Return an image (channels, side, side) whose patches are as bright as they are attended to."""
    scale = image.shape[-1] // attention.shape[-1]
    light = DARKEST + (1 - DARKEST) * attention / attention.max()
    return (image * np.kron(light, np.ones((scale, scale)))).round().astype(np.uint8)


def _color(comparison: Comparison, index: int) -> str:
    return "" if len(comparison.outcomes) == 1 else css_color(index)


def _item(image: np.ndarray, words: str, caption: str = "") -> Item:
    shown: Markup = picture(image, words)
    return Item(shown=shown, alt=words, caption=caption)


def _strip(name: str, color: str, items: list[Item]) -> Strip:
    return Strip(name=name, color=color, note="", items=tuple(items))
