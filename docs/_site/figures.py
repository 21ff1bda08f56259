"""Scraper of figures that an example keeps in a name, as a diagnosis draws them, and not in pyplot."""

from collections.abc import Mapping

from matplotlib import pyplot
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scrape(block: object, block_vars: Mapping, gallery_conf: Mapping) -> str:
    """Save the figures that are new in the names of an example, and return the directives that show them."""
    names = block_vars["example_globals"]
    shown = names.setdefault("__shown__", [])
    shown.extend(pyplot.figure(number) for number in pyplot.get_fignums())  # the next scraper saves these
    files = []
    for figure in list(names.values()):
        if isinstance(figure, Figure) and figure not in shown:
            shown.append(figure)
            file = next(block_vars["image_path_iterator"])
            figure.savefig(file, dpi=120, facecolor="white", bbox_inches="tight")
            files.append(file)
    return figure_rst(files, gallery_conf["src_dir"]) if files else ""
