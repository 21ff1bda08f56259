"""The page: what a comparison or a run found, as one self-contained HTML file."""

from tammes.report.comparison import Comparison, Outcome, Run, Sample
from tammes.report.page import write_comparison, write_run
from tammes.report.scores import Curve, Floor, Scores

__all__ = [
    "Comparison",
    "Curve",
    "Floor",
    "Outcome",
    "Run",
    "Sample",
    "Scores",
    "write_comparison",
    "write_run",
]
