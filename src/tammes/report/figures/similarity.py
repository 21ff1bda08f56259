"""How similar pictures are that belong together, and such as do not."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from tammes.report.figures.canvas import TEXT, canvas
from tammes.report.palette import MUTED
from tammes.report.scores import Floats


def similarity_histogram(
    together: Floats, apart: Floats, color: str, *, words: tuple[str, str] = ("same class", "other class")
) -> Figure:
    """Densities of cosine similarity for two kinds of pairs; the better they are told apart, the better.

    Args:
        together: (pairs,) similarities of pairs that belong together.
        apart: (pairs,) similarities of pairs that do not.
        color: of the first; the second is drawn in gray.
        words: what the two are called.

    >>> similarity_histogram(np.array([0.9]), np.array([-0.1, 0.0]), "#0072b2").axes[0].get_xlabel()
    'cosine similarity'
    """
    figure, axes = canvas(width=2.35, height=1.8)
    for similarities, ink, opacity in ((apart, MUTED, 0.28), (together, color, 0.35)):
        density, edges = np.histogram(similarities, bins=60, range=(-1, 1), density=True)
        axes.stairs(density, edges, fill=True, color=ink, alpha=opacity)
        axes.stairs(density, edges, color=ink, linewidth=1.2)
    axes.set(xlabel="cosine similarity", xlim=(-1, 1), ylim=(0, None))
    axes.set_ylabel("density")
    axes.yaxis.set_major_locator(NullLocator())
    axes.spines["left"].set_visible(False)
    axes.set_xticks([-1, 0, 1])
    for line, (word, ink) in enumerate(zip(words, (color, MUTED), strict=True)):
        axes.text(
            0,
            0.98 - 0.13 * line,
            word,
            transform=axes.transAxes,
            color=ink,
            fontsize=TEXT,
            fontweight="bold",
            va="top",
        )
    return figure
