"""The evaluation record of a run: results of all protocols in a file, and in a section of its page."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tammes.atomic import write_atomically
from tammes.checks import check_file
from tammes.estimate import Estimate
from tammes.report.markup import render
from tammes.report.table import ScoreCell, ScoreRow, ScoreTable
from tammes.training import RunFolder
from tammes.training.weights import weights_digest

FILE = "evaluation.json"
BEGIN, END = "<!-- evaluation -->", "<!-- end of evaluation -->"
BEFORE = ('<section class="again">', "<footer>")
"""Places on a page without the section, before the first of which it is put."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One number of an evaluation, with its interval.

    Args:
        protocol: protocol and classifier, such as "fine-tuning".
        name: name of the number, such as "10 images of each class".
        mean: share from 0 to 1.
        low: lower end of its 95 % interval; None if it is unknown.
        high: upper end.
        over: rows or draws that the interval is over.
        data: data, as the command line names them.
        parts: share at each severity, for corruptions.
        replaces_protocol: whether it takes the place of all earlier results of its protocol and data, and not
            of those of its name alone: a mean, and all rows that it is taken over.

    Example:
        >>> estimate = Estimate.of_share(0.5, 100)
        >>> result = Result.of(estimate, protocol="linear", name="kNN", over="100 test rows", data="digits")
        >>> result.estimate.percent
        '50.0 [40.4, 59.6]'
    """

    protocol: str
    name: str
    mean: float
    low: float | None
    high: float | None
    over: str
    data: str
    parts: tuple[float, ...] = ()
    replaces_protocol: bool = False

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        *,
        protocol: str,
        name: str,
        over: str,
        data: str,
        parts: Sequence[float] = (),
        replaces_protocol: bool = False,
    ) -> Result:
        """Return the result with the mean and the interval of an estimate."""
        low, high = (end if math.isfinite(end) else None for end in (estimate.low, estimate.high))
        return cls(
            protocol=protocol,
            name=name,
            mean=estimate.mean,
            low=low,
            high=high,
            over=over,
            data=data,
            parts=tuple(parts),
            replaces_protocol=replaces_protocol,
        )

    @property
    def estimate(self) -> Estimate:
        """The number with its interval."""
        if self.low is None or self.high is None:
            return Estimate(mean=self.mean)
        return Estimate(mean=self.mean, low=self.low, high=self.high)

    @property
    def key(self) -> tuple[str, str, str]:
        """What a later result must share to take the place of this one."""
        return self.protocol, self.name, self.data


def read_results(run: Path) -> tuple[Result, ...]:
    """Return the results that were recorded of a run's present weights; none without a record.

    Args:
        run: folder of the run.

    Raises:
        ValueError: a damaged record, which is named.

    Example:
        >>> read_results(Path("no/such/folder"))
        ()
    """
    file = run / FILE
    if not file.exists():
        return ()
    try:
        found = json.loads(check_file(file).read_text(encoding="utf-8"))
        results = tuple(
            Result(**{**each, "parts": tuple(each.get("parts", ()))}) for each in found["results"]
        )
        weights = found["weights"]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{file} is damaged ({error}): remove it, and evaluate the run again") from error
    # Of other weights, those before a longer training, the results are void.
    return results if weights == weights_digest(RunFolder(path=run).weights) else ()


def record(run: Path, results: Iterable[Result]) -> tuple[Result, ...]:
    """Add results to the record of a run and show all of them on its page, if there is one.

    A result takes the place of an earlier one of the same protocol, name and data; if it replaces its
    protocol, that of all earlier ones of the same protocol and data.

    Args:
        run: folder of a finished run.
        results: the results.

    Returns:
        All results of the record.

    Raises:
        ValueError: a damaged record; another process that works in the folder.
    """
    folder = RunFolder(path=run)
    with folder.locked():
        found = tuple(results)
        replaced = {(each.protocol, each.data) for each in found if each.replaces_protocol}
        kept = [each for each in read_results(run) if (each.protocol, each.data) not in replaced]
        merged = {each.key: each for each in (*kept, *found)}
        every = tuple(merged.values())
        content = {
            "weights": weights_digest(folder.weights),
            "results": [dataclasses.asdict(each) for each in every],
        }
        write_atomically(run / FILE, (json.dumps(content, indent=1, allow_nan=False) + "\n").encode())
        if folder.report.is_file():
            page = folder.report.read_text(encoding="utf-8")
            write_atomically(folder.report, with_evaluation(page, every).encode("utf-8", "replace"))
    return every


def with_evaluation(page: str, results: Sequence[Result]) -> str:
    """Return the page of a run with a section of results, in the place of an earlier one.

    Example:
        >>> estimate = Estimate.of_share(0.5, 100)
        >>> result = Result.of(estimate, protocol="linear", name="kNN", over="100 test rows", data="digits")
        >>> page = with_evaluation("<main><footer></footer></main>", [result])
        >>> "kNN" in page, with_evaluation(page, [result]) == page
        (True, True)
    """
    section = evaluation_section(results)
    if BEGIN in page and END in page:
        head, _, rest = page.partition(BEGIN)
        return head + section + rest.partition(END)[2]
    for place in BEFORE:
        if place in page:
            head, found, rest = page.partition(place)
            return f"{head}{section}\n{found}{rest}"
    return page


def evaluation_section(results: Sequence[Result]) -> str:
    """Return the section of a page, as HTML between two comments that mark it."""
    return BEGIN + render("evaluation.html.jinja", {"table": evaluation_table(results)}) + END


def evaluation_table(results: Sequence[Result], *, names: Sequence[str] = ()) -> ScoreTable:
    """Return the results as a table.

    Args:
        results: the results.
        names: name of the run of each result, if there are several.
    """
    severities = any(each.parts for each in results)
    sources = len({each.data for each in results}) > 1
    rows = []
    for index, each in enumerate(results):
        found = each.estimate
        interval = f"{100 * found.low:.1f}, {100 * found.high:.1f}" if found.is_known else ""
        cells = [ScoreCell(text=each.name)]
        cells += [ScoreCell(text=_minus(f"{100 * found.mean:.1f}"), interval=_minus(interval))]
        if severities:
            cells.append(ScoreCell(text=", ".join(f"{100 * part:.1f}" for part in each.parts) or "–"))
        cells.append(ScoreCell(text=each.over))
        if sources:
            cells.append(ScoreCell(text=each.data))
        first = f"{names[index]}: {each.protocol}" if names else each.protocol
        rows.append(ScoreRow(name=first, color="", cells=tuple(cells)))
    return ScoreTable(
        first="protocol",
        leading=(
            "measured",
            "per cent",
            *(("at each severity",) if severities else ()),
            "interval over",
            *(("data",) if sources else ()),
        ),
        probes=(),
        trailing=(),
        rows=tuple(rows),
        note="Accuracies and relative falls of accuracies in per cent, other scores and correlations times "
        "100, with their 95 % intervals.",
    )


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
