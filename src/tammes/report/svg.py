"""From a matplotlib figure to an SVG element that belongs to the page: its colors, its fonts, its titles."""

import io
import re
from collections.abc import Sequence
from html import escape

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from tammes.report.figures.map import POINTS
from tammes.report.palette import STYLESHEET


def inline_svg(figure: Figure, *, name: str, description: str, titles: Sequence[str] = ()) -> Markup:
    """The figure as an inline SVG element, accessible by its description, in the page's colors and fonts.

    Args:
        figure: drawn in the palette's light colors, which become CSS variables and so follow light and dark.
        name: unique on the page: the ids within the drawing start with it.
        description: read out in place of the figure.
        titles: shown when the pointer rests on the dots of an embedding map, one per dot; or none.

    >>> from tammes.report.figures.canvas import canvas
    >>> inline_svg(canvas(width=3, height=2)[0], name="a", description="Nothing.")[:29]
    Markup('<svg role="img" aria-label="N')
    """
    buffer = io.StringIO()
    # Lettering stays text, and ids do not change from one writing to the next.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", text)
    for color, variable in STYLESHEET.variable_of.items():
        text = re.sub(color + r"\b", variable, text, flags=re.IGNORECASE)
    text = _name_dots(text, f"{name}-{POINTS}", titles)
    size = re.search(r'viewBox="[^"]*"', text)
    assert size is not None  # matplotlib always writes one
    head = f'<svg role="img" aria-label="{escape(description)}" {size.group()}>'
    return Markup(head + text[text.index(">") + 1 :])


def _name_dots(text: str, group: str, titles: Sequence[str]) -> str:
    """Give the dots of this group titles, in their order."""
    if not titles:
        return text
    start = text.index(f'<g id="{group}"')
    remaining = iter(titles)

    def named(dot: re.Match[str]) -> str:
        return f"{dot[1]}><title>{escape(next(remaining))}</title></use>"

    return text[:start] + re.sub(r"(<use [^>]*)/>", named, text[start:], count=len(titles))
