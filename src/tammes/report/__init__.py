"""The page: what a comparison or a single run found, as one self-contained HTML file."""

from tammes.report.comparison import Comparison, Outcome
from tammes.report.page import write_comparison
from tammes.report.sample import Pictures, Sample, Sentences
from tammes.report.scores import Curve, Floor, Scores

__all__ = [
    "Comparison",
    "Curve",
    "Floor",
    "Outcome",
    "Pictures",
    "Sample",
    "Scores",
    "Sentences",
    "write_comparison",
]
