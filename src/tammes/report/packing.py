"""The page of a packing on the ordinary sphere, which the reader can turn."""

import json
from collections.abc import Sequence

from markupsafe import Markup

from tammes.report.markup import render
from tammes.theory import Packing


def packing_page(packing: Packing, paragraphs: Sequence[str]) -> str:
    """Return a self-contained page with the points of a packing and their contacts, turned by dragging.

    Args:
        packing: points of the sphere in three dimensions.
        paragraphs: what is said of them above the drawing.

    Raises:
        ValueError: points of another dimension.

    Example:
        >>> from tammes.theory import pack
        >>> "<canvas" in packing_page(pack(12, 3), ["The icosahedron."])
        True
    """
    count, dim = packing.points.shape
    if dim != 3:
        raise ValueError(f"a page to turn shows points of 3 dimensions, got {dim}")
    title = f"{count} points, {packing.angle_degrees:.2f} degrees apart"
    data = {"points": packing.points.round(6).tolist(), "contacts": packing.contacts.tolist()}
    context = {
        "title": title,
        "paragraphs": list(paragraphs),
        "description": f"Sphere with {title} and {len(packing.contacts)} lines between nearest pairs",
        # Numbers and brackets only, which need no escaping within a script element.
        "data": Markup(json.dumps(data)),
    }
    return render("packing.html.jinja", context)
