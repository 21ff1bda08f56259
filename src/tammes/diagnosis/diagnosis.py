"""What a diagnosis has found: measures with verdicts, faults, and a score and a flag of each row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tammes.diagnosis.condition import Condition
from tammes.diagnosis.drawn import Drawn
from tammes.diagnosis.measure import NEEDS, Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY = "summary.json"
ROWS = "rows.parquet"


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnosis:
    """Measures of embeddings with their verdicts, and the rows to look at.

    Args:
        measures: measures by name, in the order of `NEEDS`.
        rows: columns of the table of rows: `row`, and a score and a flag for each fault.
        advice: sentences on what to try next.
        drawn: what the page draws.
        about: what was measured, such as the number of dropped rows.

    Example:
        >>> import torch, tammes
        >>> found = tammes.diagnose(torch.randn(200, 8, generator=torch.Generator().manual_seed(0)))
        >>> found.faults, 7 < found["rankme"].value < 8
        ((), True)
    """

    measures: Mapping[str, Measure]
    rows: Mapping[str, NDArray[Any]]
    advice: tuple[str, ...]
    drawn: Drawn
    about: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Measure:
        if name not in self.measures:
            raise KeyError(f"{name}: there is {', '.join(self.measures)}")
        return self.measures[name]

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults found, by name, such as `hubs` or `near duplicates`."""
        return faults_of(self.measures)

    @property
    def verdict(self) -> str:
        """The faults in a sentence, or that there are none."""
        return self.measures["faults"].verdict

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return a dictionary for JSON: for each measure value, low, high, ceiling, null and verdict."""
        return {name: asdict(measure) for name, measure in self.measures.items()}

    def holds(self, condition: str) -> bool:
        """Return whether a condition such as `rankme < 50 or hubs > 0` holds.

        Args:
            condition: comparisons of measures with numbers, joined by `and`, `or` and brackets.

        Raises:
            ValueError: the text is no condition, names no measure, or one without a value.
        """
        return Condition.of(condition).holds(self.measures)

    def write(self, folder: Path | str, *, images: Path | str | None = None) -> None:
        """Write `summary.json`, `rows.parquet` and `report.html` into a folder.

        Args:
            folder: folder of the files, created if it is not there; files of these names are replaced.
            images: folder of the images behind the rows, whose paths in it are the `names` of the rows; the
                page then shows small pictures.

        Raises:
            ValueError: rows without names, or no image of any of them.
            OSError: the folder cannot be written to.
        """
        from tammes.report.diagnosis import write_diagnosis

        write_diagnosis(self, Path(folder), images=None if images is None else Path(images))

    def plot_spectrum(self) -> Figure:
        """Draw the share of the variance in each principal direction, beside that of a Gaussian."""
        from tammes.report.figures.diagnosis import spectrum_figure

        return spectrum_figure(self.drawn.eigenvalues, self.drawn.gaussian)

    def plot_occurrence(self) -> Figure:
        """Draw how many rows are how often among the nearest neighbors of others: hubs are to the right."""
        from tammes.report.figures.diagnosis import count_figure

        counts = self.drawn.occurrence
        label = "rows that have a row among their nearest"
        return count_figure(counts, edges=range(len(counts)), xlabel=label, open_end=True)

    def plot_map(self) -> Figure:
        """Draw some rows in the two directions of largest variance, flagged ones in another color."""
        from tammes.report.figures.diagnosis import map_figure

        flags = ("exact_duplicate", "near_duplicate", "hub", "label_error", "leaked")
        flagged = np.zeros(len(self.drawn.shown), dtype=bool)
        for name in flags:
            if name in self.rows:
                flagged |= self.rows[name][self.drawn.shown]
        return map_figure(self.drawn.places, flagged, self.drawn.share)

    def plot_confusion(self) -> Figure:
        """Draw the share of each class's rows whose neighbors vote for each class.

        Raises:
            ValueError: there are no labels.
        """
        from tammes.report.figures.confusion import confusion_matrix
        from tammes.report.palette import objective_color

        if self.drawn.confusion is None:
            raise ValueError("the confusion of classes needs labels: diagnose(..., labels=...)")
        return confusion_matrix(self.drawn.confusion, self.drawn.classes, color=objective_color(0))

    def plot_overlap(self) -> Figure:
        """Draw how many rows keep which share of their neighbors in the second embedding.

        Raises:
            ValueError: there is no second embedding.
        """
        from tammes.report.figures.diagnosis import count_figure

        if self.drawn.overlap is None:
            raise ValueError("the overlap needs a second embedding: diagnose(..., against=...)")
        edges = [place / 10 - 0.05 for place in range(11)]
        label = "share of the nearest neighbors that both embeddings have"
        return count_figure(self.drawn.overlap, edges=edges, xlabel=label)

    def json(self) -> str:
        """Return the summary as JSON."""
        return json.dumps(self.summary(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        names = [name for name, each in self.measures.items() if each.value is not None]
        width = max(map(len, names))
        lines = [
            f"{name:<{width}}  {_short(self.measures[name].value):>10}  {self.measures[name].verdict}"
            for name in names
        ]
        return "\n".join([self.verdict, *lines])


def _short(value: float | None) -> str:
    """Return a value in at most ten characters, of a number of rows all digits."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def faults_of(measures: Mapping[str, Measure]) -> tuple[str, ...]:
    """Return the faults that the verdicts name, each once.

    Args:
        measures: measures by name.

    Example:
        >>> faults_of({"hubs": Measure(value=0.1, verdict="fault: hubs: 3 of 30 rows")})
        ('hubs',)
    """
    found = [
        each.verdict.removeprefix("fault:").partition(":")[0].strip()
        for name, each in measures.items()
        if each.is_fault and ":" in each.verdict.removeprefix("fault:") and name != "faults"
    ]
    return tuple(dict.fromkeys(found))


def with_faults(measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return all measures in the order of the summary, with their faults counted and what is missing named.

    Args:
        measures: what was measured.
    """
    faults = faults_of(measures)
    words = f"fault: {', '.join(faults)}" if faults else "fine: no fault found"
    counted = Measure(value=len(faults), low=len(faults), high=len(faults), ceiling=0, null=0, verdict=words)
    known = {**measures, "faults": counted}
    return {
        name: known.get(name, Measure(verdict=f"not measured: it needs {needs}" if needs else "not measured"))
        for name, needs in NEEDS.items()
    }


NEXT = {
    "collapse": "Collapse: train with more negatives or a lower temperature, or measure the features instead "
    "of the projection.",
    "shifted mean": "Shifted mean: subtract the mean of all rows before comparing by cosine.",
    "dead dimensions": "Dead dimensions: leave them out of the index; they cost memory and say nothing.",
    "duplicated dimensions": "Duplicated dimensions: leave the copies out.",
    "exact duplicates": "Exact duplicates: keep one row of each group; rows.parquet has the groups.",
    "near duplicates": "Near duplicates: look at the pairs on the page, and keep one row of each group.",
    "hubs": "Hubs: look at them first; subtracting the mean of all rows before comparing often removes them.",
    "leak": "Leak: remove the leaked rows from the test split before measuring anything on it.",
    "label errors": "Label errors: look at the flagged rows, sorted by label_error_score, and relabel.",
}
"""What to try next for each fault."""


def next_steps(measures: Mapping[str, Measure]) -> tuple[str, ...]:
    """Return what to try next for the faults that the verdicts name.

    Args:
        measures: measures by name.

    Example:
        >>> next_steps({"leaked": Measure(value=0.1, verdict="fault: leak: 3 of 30 rows")})[0][:22]
        'Leak: remove the leake'
    """
    return tuple(NEXT[fault] for fault in faults_of(measures) if fault in NEXT)
