"""The folder of a diagnosis: its page, the table of rows, and the summary for other programs."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup

from tammes.atomic import write_atomically
from tammes.diagnosis.diagnosis import ROWS, SUMMARY, Diagnosis
from tammes.report.markup import inline_svg, percent, render
from tammes.report.thumbnails import Thumbnails, thumbnails

PAGE = "report.html"
LONGEST = 200
"""Characters of a row's text on the page."""
FLAGS = {
    "exact_duplicate": "equal to another row",
    "near_duplicate": "nearly equal to another row",
    "hub": "hub",
    "label_error": "likely label error",
    "leaked": "in another split too",
    "changed": "all neighbors changed",
    "orphan": "nearest of no other row",
}
"""Flags of a row, and what each means."""
MATRIX = 30
"""Classes up to which the confusion is drawn."""
MOST_PAIRS = 100
"""Closest pairs whose pictures come before those of other rows."""
LISTED = 10
"""Pairs of classes, or changed rows, in a list."""


def write_diagnosis(diagnosis: Diagnosis, folder: Path, *, images: Path | None = None) -> None:
    """Write the page, the rows and the summary of a diagnosis into a folder.

    Args:
        diagnosis: what was found.
        folder: folder of the files, created if it is not there; files of these names are replaced.
        images: folder of the images that the rows' names are the paths of; None for a page without pictures.

    Raises:
        ValueError: there is a file at the place of the folder, or no image of any row.
        OSError: the folder cannot be written to.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"expected a folder for the diagnosis, got the file {folder}: name another place")
    page = diagnosis_page(diagnosis, images=images)
    folder.mkdir(parents=True, exist_ok=True)
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table(dict(diagnosis.rows)), stream)
    write_atomically(folder / ROWS, stream.getvalue().to_pybytes())
    write_atomically(folder / SUMMARY, (diagnosis.json() + "\n").encode())
    write_atomically(folder / PAGE, page.encode("utf-8", "replace"))


def diagnosis_page(diagnosis: Diagnosis, *, images: Path | None = None) -> str:
    """Return the page of a diagnosis, self-contained: verdict, next steps, measures, map, rows and pairs.

    Args:
        diagnosis: what was found.
        images: folder of the rows' images; None for a page without pictures.

    Raises:
        ValueError: no image of any row in the folder, or rows without names.

    Example:
        >>> import tammes
        >>> x = np.random.default_rng(0).normal(size=(60, 4))
        >>> "No fault found" in diagnosis_page(tammes.diagnose(x))
        True
    """
    pictures = None if images is None else _pictures(diagnosis, images)
    drawn = diagnosis.drawn
    context = {
        **_verdict(diagnosis),
        "about": _about(diagnosis, pictures),
        **_measures(diagnosis),
        **_figures(diagnosis),
        "confused": _confused(diagnosis),
        "share": percent(drawn.share),
        "data": _data(diagnosis, pictures),
        "flags": {name: words for name, words in FLAGS.items() if name in diagnosis.rows},
        "shown_flags": {
            name: words
            for name, words in FLAGS.items()
            if name in diagnosis.rows and diagnosis.rows[name][drawn.shown].any()
        },
        "pictured": pictures is not None,
        "map_rows": len(drawn.shown),
        "pairs": len(drawn.pairs),
        "threshold": drawn.threshold,
    }
    return render("diagnosis.html.jinja", context)


def _verdict(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the title, the faults in sentences, and what to try next."""
    count = len(diagnosis.faults)
    return {
        "title": f"Diagnosis of {diagnosis.about.get('file', 'embeddings')}",
        "lead": "No fault found." if count == 0 else f"{count} fault{'s' if count > 1 else ''} found.",
        "faults": [
            _sentence(each.verdict)
            for name, each in diagnosis.measures.items()
            if each.is_fault and name != "faults"
        ],
        "advice": diagnosis.advice,
    }


def _about(diagnosis: Diagnosis, pictures: Thumbnails | None) -> dict[str, str]:
    """Return what was measured: the size, and what the input says of itself."""
    return {
        **{name: f"{diagnosis[name].value:,.0f}" for name in ("rows", "dimensions")},
        **{name: text for name, text in diagnosis.about.items() if name != "file"},
        **({} if pictures is None else {"pictures": pictures.words}),
    }


def _measures(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the table of measures, and those that were not taken, with the reason."""
    measures = diagnosis.measures
    return {
        "measures": [
            {
                "name": name.replace("_", " "),
                "value": _number(each.value),
                "interval": _interval(each.low, each.high, each.value),
                "null": _number(each.null),
                "ceiling": _number(each.ceiling),
                "words": _sentence(each.verdict),
                "fault": each.is_fault,
            }
            for name, each in measures.items()
            if name not in ("rows", "dimensions", "faults") and each.value is not None
        ],
        "missing": [
            f"{name.replace('_', ' ')} ({each.verdict.removeprefix('not measured: ')})"
            for name, each in measures.items()
            if each.value is None
        ],
    }


def _figures(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the drawings; None for one that does not apply."""
    has_matrix = diagnosis.drawn.confusion is not None and len(diagnosis.drawn.classes) <= MATRIX
    return {
        "spectrum": inline_svg(
            diagnosis.plot_spectrum(),
            name="spectrum",
            description="Share of the variance in each principal direction, beside that of a Gaussian.",
        ),
        "occurrence": inline_svg(
            diagnosis.plot_occurrence(),
            name="occurrence",
            description="Number of rows by how often each is among the nearest neighbors of others.",
        ),
        "confusion": inline_svg(
            diagnosis.plot_confusion(),
            name="confusion",
            description="Share of each class's rows whose neighbors vote for each class.",
        )
        if has_matrix
        else None,
        "overlap": _overlap(diagnosis),
    }


def _pictures(diagnosis: Diagnosis, images: Path) -> Thumbnails:
    """Return pictures of the rows on the page, pairs and flagged ones first, as long as there is room."""
    drawn, rows = diagnosis.drawn, diagnosis.rows
    if "name" not in rows:
        raise ValueError("pictures need the file of each row's image: give the paths as names=")
    flagged = np.zeros(len(rows["row"]), dtype=bool)
    for flag in FLAGS:
        if flag in rows and flag != "orphan":
            flagged |= rows[flag]
    order = [*drawn.pairs[:MOST_PAIRS].ravel(), *_changed(diagnosis), *drawn.shown[flagged[drawn.shown]]]
    order += [*drawn.shown, *drawn.pairs.ravel()]
    places = dict.fromkeys(int(place) for place in order)
    return thumbnails(images, {int(rows["row"][place]): str(rows["name"][place]) for place in places})


def _data(diagnosis: Diagnosis, pictures: Thumbnails | None) -> Markup:
    """Return what the page's script draws, as JSON that cannot end its element."""
    drawn, rows = diagnosis.drawn, diagnosis.rows
    middle = (drawn.places.max(axis=0) + drawn.places.min(axis=0)) / 2
    places = drawn.places - middle
    largest = float(np.abs(places).max()) or 1.0
    data = {
        "places": (places / largest).round(4).tolist(),
        "rows": [_row(rows, place) for place in drawn.shown.tolist()],
        "pairs": [
            {
                "a": _row(rows, int(a)),
                "b": _row(rows, int(b)),
                "ratio": round(float(ratio), 5),
                "distance": round(float(distance), 6),
            }
            for (a, b), ratio, distance in zip(drawn.pairs, drawn.ratios, drawn.distances, strict=True)
        ],
        "pictures": {} if pictures is None else dict(pictures.found),
    }
    text = json.dumps(data, ensure_ascii=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _row(rows: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return a row of the table as the page shows it."""
    found: dict[str, Any] = {"row": int(rows["row"][place])}
    if "name" in rows:
        found["text"] = str(rows["name"][place])[:LONGEST]
    if "label" in rows:
        found["label"] = str(rows["label"][place])[:LONGEST]
    if flags := [name for name in FLAGS if name in rows and rows[name][place]]:
        found["flags"] = flags
    return found


def _confused(diagnosis: Diagnosis) -> list[str]:
    """Return the pairs of classes that neighbors confuse most."""
    drawn = diagnosis.drawn
    if drawn.confusion is None:
        return []
    shares = drawn.confusion.copy()
    np.fill_diagonal(shares, 0)
    order = np.argsort(-shares, axis=None)[:LISTED]
    pairs = [divmod(int(each), len(shares)) for each in order]
    return [
        f"{drawn.classes[a]} as {drawn.classes[b]}: {percent(float(shares[a, b]))}"
        for a, b in pairs
        if shares[a, b] > 0
    ]


def _changed(diagnosis: Diagnosis) -> list[int]:
    """Return the places of the rows whose neighbors changed most; none without a second embedding."""
    rows = diagnosis.rows
    if diagnosis.drawn.overlap is None:
        return []
    order: list[int] = np.argsort(-rows["changed_score"], kind="stable")[:LISTED].tolist()
    return order


def _overlap(diagnosis: Diagnosis) -> dict[str, Any] | None:
    """Return the comparison of two embeddings: the overlap of all rows, and the rows that changed most."""
    rows = diagnosis.rows
    if diagnosis.drawn.overlap is None:
        return None
    found = [
        _row(rows, place) | {"kept": 1 - float(rows["changed_score"][place])} for place in _changed(diagnosis)
    ]
    return {
        "figure": inline_svg(
            diagnosis.plot_overlap(),
            name="overlap",
            description="Number of rows by the overlap of neighbors.",
        ),
        "changed": [
            f"row {each['row']}{': ' + each['text'] if 'text' in each else ''}, {percent(each['kept'])} kept"
            for each in found
        ],
    }


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:,.0f}".replace("-", "\N{MINUS SIGN}")
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def _interval(low: float | None, high: float | None, value: float | None) -> str:
    if low is None or high is None or low == high == value:
        return ""
    return f"{_number(low)}, {_number(high)}"


def _sentence(verdict: str) -> str:
    """Return the words of a verdict as a sentence."""
    words = verdict
    for kind in ("fault: ", "note: ", "fine: "):
        words = words.removeprefix(kind)
    words = re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", words)
    return f"{words[:1].upper()}{words[1:]}."
