"""Pages: the results of a comparison or of one run, or a diagnosis, as one self-contained HTML file."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tammes.report.comparison import Before, Comparison, Outcome
    from tammes.report.curve import Curve
    from tammes.report.page import write_comparison
    from tammes.report.sample import Degrees, GraphSizes, Pictures, Sample, Sentences
    from tammes.report.scores import Floor, Scores
else:
    # The page of a comparison imports training, which takes seconds: a diagnosis does without.
    _MODULES = {
        "Before": "comparison",
        "Comparison": "comparison",
        "Curve": "curve",
        "Degrees": "sample",
        "Floor": "scores",
        "GraphSizes": "sample",
        "Outcome": "comparison",
        "Pictures": "sample",
        "Sample": "sample",
        "Scores": "scores",
        "Sentences": "sample",
        "write_comparison": "page",
    }

    def __getattr__(name: str) -> object:
        """Import a name when it is first used."""
        if name not in _MODULES:
            raise AttributeError(f"module 'tammes.report' has no attribute {name!r}")
        found = vars(importlib.import_module(f"tammes.report.{_MODULES[name]}"))[name]
        globals()[name] = found
        return found


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
