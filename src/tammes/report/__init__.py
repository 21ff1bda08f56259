"""Pages: the results of a comparison or of one run, as one self-contained HTML file."""

from tammes.report.comparison import Before, Comparison, Outcome
from tammes.report.curve import Curve
from tammes.report.page import write_comparison
from tammes.report.sample import Degrees, GraphSizes, Pictures, Sample, Sentences
from tammes.report.scores import Floor, Scores

__all__ = [
    "Before",
    "Comparison",
    "Curve",
    "Degrees",
    "Floor",
    "GraphSizes",
    "Outcome",
    "Pictures",
    "Sample",
    "Scores",
    "Sentences",
    "write_comparison",
]
