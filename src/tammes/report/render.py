"""From a template of the package to HTML, with everything escaped that comes from outside."""

from collections.abc import Mapping
from importlib.metadata import version

import jinja2

from tammes.report.palette import STYLESHEET

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.PackageLoader("tammes.report"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, context: Mapping[str, object]) -> str:
    """One page as text.

    Args:
        template: name of a file in `templates/`.
        context: what the template speaks of; text in it is escaped unless it is `markupsafe.Markup`.

    >>> "<title>a &lt; b</title>" in render("base.html.jinja", {"title": "a < b"})
    True
    """
    surroundings = {"stylesheet": STYLESHEET, "version": version("tammes")}
    return _ENVIRONMENT.get_template(template).render({**surroundings, **context})
