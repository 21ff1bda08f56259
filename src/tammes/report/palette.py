"""Colors of the pages: one per objective, the same in every figure, in light and in dark mode."""

INK = "#1f2328"
MUTED = "#6a737d"
GRID = "#d8dee4"
PAPER = "#fefefe"

# Okabe and Ito's order, darkened where the original is too faint for a thin line on white.
_OBJECTIVES = ("#0072b2", "#d55e00", "#008a63", "#b5528a", "#a87400", "#2a8fc7", "#5b5f97", "#7a5230")
_DARK_OBJECTIVES = ("#4fb3f0", "#ff8f4d", "#2fcf9f", "#ea9cc8", "#f0b93a", "#8ad1f7", "#a9aee8", "#c99b72")

# Classes never share a figure with objectives, and their names stand beside the points.
CLASSES = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#b8a92f",
    "#66bbdd",
    "#aa3377",
    "#ee8855",
    "#44bb99",
    "#8a7fd6",
    "#8c8c7a",
)

LIGHT = {"--ink": INK, "--muted": MUTED, "--grid": GRID, "--paper": PAPER} | {
    f"--objective-{index}": color for index, color in enumerate(_OBJECTIVES)
}
"""CSS variables of the page and their colors in light mode, in which figures are drawn."""
DARK = {"--ink": "#e6e8eb", "--muted": "#9aa3ad", "--grid": "#353b43", "--paper": "#15181c"} | {
    f"--objective-{index}": color for index, color in enumerate(_DARK_OBJECTIVES)
}
"""The same variables in dark mode."""
VARIABLES = {color: f"var({name})" for name, color in LIGHT.items()}
"""CSS variable that replaces each color of a figure."""


def objective_color(index: int) -> str:
    """Return the color of the objective at this place of the comparison, as figures draw it.

    Example:
        >>> objective_color(0), objective_color(8)
        ('#0072b2', '#0072b2')
    """
    return _OBJECTIVES[index % len(_OBJECTIVES)]


def css_color(index: int) -> str:
    """Return the color of an objective as a CSS variable, which follows light and dark mode.

    Example:
        >>> css_color(1)
        'var(--objective-1)'
    """
    return VARIABLES[objective_color(index)]
