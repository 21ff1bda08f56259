"""What a diagnosis has found: measures with verdicts, faults, and a score and a flag of each row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tammes.diagnosis.condition import Condition
from tammes.diagnosis.measure import NEEDS, Measure

SUMMARY = "summary.json"
ROWS = "rows.parquet"


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """What the page draws: a few thousand numbers, whatever the number of rows.

    Args:
        eigenvalues: eigenvalues of the covariance, largest first, divided by their sum.
        gaussian: the same of a Gaussian of as many rows and dimensions.
        places: (m, 2) coordinates of some rows on the map, in principal directions.
        shown: row of the table of each place.
        share: share of the variance in the two directions.
        pairs: (p, 2) rows of the table of the closest pairs.
        ratios: (p,) distance of each pair over that to the k-th neighbor.
        distances: (p,) distance of each pair at length one.
        threshold: ratio up to which a pair counts as nearly equal.
        occurrence: (bins,) rows by k-occurrence, from 0; the last bin holds all above.
        confusion: (classes, classes) confusion by neighbors; None without labels.
        classes: names of the classes.
        overlap: (bins,) rows by the overlap of neighbors; None without a second embedding.
    """

    eigenvalues: NDArray[np.float64]
    gaussian: NDArray[np.float64]
    places: NDArray[np.float64]
    shown: NDArray[np.int64]
    share: float
    pairs: NDArray[np.int64]
    ratios: NDArray[np.float64]
    distances: NDArray[np.float64]
    threshold: float
    occurrence: NDArray[np.int64]
    confusion: NDArray[np.float64] | None = None
    classes: tuple[str, ...] = ()
    overlap: NDArray[np.int64] | None = None


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

    def write(self, folder: Path | str) -> None:
        """Write `summary.json`, `rows.parquet` and `report.html` into a folder.

        Args:
            folder: folder of the files, created if it is not there; files of these names are replaced.

        Raises:
            OSError: the folder cannot be written to.
        """
        from tammes.report.diagnosis import write_diagnosis

        write_diagnosis(self, Path(folder))

    def json(self) -> str:
        """Return the summary as JSON."""
        return json.dumps(self.summary(), indent=1, allow_nan=False)

    def __str__(self) -> str:
        names = [name for name, each in self.measures.items() if each.value is not None]
        width = max(map(len, names))
        lines = [
            f"{name:<{width}}  {self.measures[name].value:>10.4g}  {self.measures[name].verdict}"
            for name in names
        ]
        return "\n".join([self.verdict, *lines])


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
