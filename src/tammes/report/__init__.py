"""The page: what a comparison or a single run found, as one self-contained HTML file."""

from tammes.report.comparison import Comparison, Outcome, Sample
from tammes.report.page import write_comparison
from tammes.report.scores import Curve, Floor, Scores

__all__ = [
    "Comparison",
    "Curve",
    "Floor",
    "Outcome",
    "Sample",
    "Scores",
    "write_comparison",
]
