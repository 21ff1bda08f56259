"""Markup of the pages: figures as inline SVG, pictures, numbers and lists of names, and the templates."""

import base64
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version

import jinja2
import matplotlib
import numpy as np
from jaxtyping import UInt8
from markupsafe import Markup
from matplotlib.figure import Figure
from PIL import Image

from tammes.report.palette import DARK, LIGHT, VARIABLES

DOTS = "points"
"""Id of the group of dots in the drawing of a map, by which the page gives each dot a title."""
LARGEST_SCALE = 1.25
"""Factor up to which the page enlarges a figure, so that its text is not larger than that of the page."""
LARGEST = 96
"""Longer side in pixels above which a picture is scaled down: the page shows it no larger."""
SMALL = 32
"""Longer side in pixels up to which the pixels of an enlarged picture stay sharp squares."""

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("tammes.report"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Drawing with its title and caption.

    Args:
        name: name of the objective, or a title; may be empty.
        color: CSS color of the objective; may be empty.
        svg: drawing as inline SVG.
        caption: line of numbers below the drawing; may be empty.
    """

    name: str = ""
    color: str = ""
    svg: Markup
    caption: str = ""


def render(template: str, context: Mapping[str, object]) -> str:
    """Return a page as text.

    Args:
        template: name of a file in `templates/`.
        context: values of the template's variables; text is escaped unless it is `markupsafe.Markup`.

    Example:
        >>> "<title>a &lt; b</title>" in render("base.html.jinja", {"title": "a < b"})
        True
    """
    shared = {"light": LIGHT, "dark": DARK, "version": version("tammes"), "listed": listed}
    return _TEMPLATES.get_template(template).render({**shared, **context})


def inline_svg(figure: Figure, *, name: str, description: str, titles: Sequence[str] = ()) -> Markup:
    """Return a figure as an inline SVG element in the page's colors and fonts.

    Args:
        figure: figure drawn in the palette's light colors, which become CSS variables and so follow the light
            and dark modes.
        name: prefix of the ids in the drawing, unique on the page.
        description: text that screen readers read in place of the figure.
        titles: titles of the dots of an embedding map, one for each; or none.

    Example:
        >>> from tammes.report.figures.canvas import canvas
        >>> inline_svg(canvas(width=3, height=2)[0], name="a", description="Nothing.")[:29]
        Markup('<svg role="img" aria-label="N')
    """
    buffer = io.StringIO()
    # Text stays text, and the hash salt keeps ids the same from one run to the next.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        # The browser draws the text, with whatever fonts it needs.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="|url\()#', rf"\g<1>#{name}-", text)
    for color, variable in VARIABLES.items():
        text = re.sub(color + r"\b", variable, text, flags=re.IGNORECASE)
    if titles:
        text = _with_titles(text, f"{name}-{DOTS}", titles)
    size = re.search(r'viewBox="0 0 ([0-9.]+) [^"]*"', text)
    assert size is not None  # matplotlib always writes one, in points
    widest = f"max-width: {LARGEST_SCALE * float(size[1]) / 72 * 6:.1f}rem"
    head = f'<svg role="img" aria-label="{escape(description)}" style="{widest}" {size[0]}>'
    return Markup(head + text[text.index(">") + 1 :])


def _with_titles(text: str, group: str, titles: Sequence[str]) -> str:
    """Return the drawing with titles for the dots of a group, in their order."""
    start = text.index(f'<g id="{group}"')
    remaining = iter(titles)

    def named(dot: re.Match[str]) -> str:
        return f"{dot[1]}><title>{escape(next(remaining))}</title></use>"

    return text[:start] + re.sub(r"(<use [^>]*)/>", named, text[start:], count=len(titles))


def picture(image: UInt8[np.ndarray, "channels height width"], words: str) -> Markup:
    """Return a picture of one or three channels as an `img` element with alternative text.

    Example:
        >>> picture(np.zeros((1, 8, 8), np.uint8), "all black")[:31]
        Markup('<img src="data:image/png;base64')
    """
    small = Markup(' class="small"') if max(image.shape[1:]) <= SMALL else ""
    return Markup('<img src="{}" alt="{}" title="{}"{}>').format(data_uri(image), words, words, small)


def data_uri(image: UInt8[np.ndarray, "channels height width"]) -> str:
    """Return a picture of one or three channels as a base64 PNG, scaled down if it is large.

    Example:
        >>> data_uri(np.zeros((1, 8, 8), np.uint8))[:22]
        'data:image/png;base64,'
    """
    plane = image[0] if image.shape[0] == 1 else np.moveaxis(image, 0, -1)
    picture = Image.fromarray(np.ascontiguousarray(plane))
    if max(picture.size) > LARGEST:
        picture.thumbnail((LARGEST, LARGEST), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def percent(fraction: float) -> str:
    r"""Return a fraction in per cent with one decimal and a no-break space.

    Example:
        >>> percent(0.9715)
        '97.2\xa0%'
    """
    return f"{100 * fraction:.1f}\N{NO-BREAK SPACE}%"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    Example:
        >>> listed(["a"]), listed(["a", "b", "c"])
        ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"
