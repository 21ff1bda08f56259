"""The page's colors: one per objective, the same in every figure, on light and on dark paper."""

from dataclasses import dataclass

INK = "#1f2328"
MUTED = "#6a737d"
GRID = "#d8dee4"
PAPER = "#fefefe"

# Okabe and Ito's order, darkened where the original is too faint for a thin line on white.
_LIGHT = ("#0072b2", "#d55e00", "#008a63", "#b5528a", "#a87400", "#2a8fc7", "#5b5f97", "#7a5230")
_DARK = ("#4fb3f0", "#ff8f4d", "#2fcf9f", "#ea9cc8", "#f0b93a", "#8ad1f7", "#a9aee8", "#c99b72")

# Classes never share a figure with objectives, and carry their names beside the points.
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


@dataclass(frozen=True, kw_only=True)
class Stylesheet:
    """The colors as CSS variables, and which hexadecimal color of a figure each of them replaces."""

    light: dict[str, str]
    dark: dict[str, str]

    @property
    def variable_of(self) -> dict[str, str]:
        """From a color that a figure was drawn in to the CSS variable that takes its place."""
        return {color: f"var({name})" for name, color in self.light.items()}


STYLESHEET = Stylesheet(
    light={"--ink": INK, "--muted": MUTED, "--grid": GRID, "--paper": PAPER}
    | {f"--objective-{index}": color for index, color in enumerate(_LIGHT)},
    dark={"--ink": "#e6e8eb", "--muted": "#9aa3ad", "--grid": "#353b43", "--paper": "#15181c"}
    | {f"--objective-{index}": color for index, color in enumerate(_DARK)},
)


def objective_color(index: int) -> str:
    """The color of the objective that stands at this place of the comparison.

    >>> objective_color(0), objective_color(8)
    ('#0072b2', '#0072b2')
    """
    return _LIGHT[index % len(_LIGHT)]
