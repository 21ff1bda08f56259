"""The rows of `gpu_all.py` as a page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Rows = Mapping[str, Mapping[str, Any]]
CELL = re.compile(r"(?P<method>.+), (?P<kind>\w+), d = (?P<dim>\d+), (?P<pairs>\d+) pairs")
SMALL = re.compile(r"small, (?P<method>.+), (?P<pairs>\d+) pairs")
VALUES = re.compile(r"values, (?P<loss>.+), (?P<kind>\w+), d = (?P<dim>\d+)")


WRITTEN = (
    "Written by `python benchmarks/gpu.py --all`. In brackets: the time that the 8 units of work of "
    "symmetric tiles, 8 * 2 N^2 d operations for N pairs, would take at the card's own rate of matrix "
    "products of that "
    "type, as a share of the time measured. Inf-CL multiplies in TF32 whatever the type."
)


def page(rows: Rows) -> str:
    """Return the page, of the rows that there are."""
    machine = rows.get("machine", {})
    named = [f"{name} {machine[name]}" for name in ("torch", "triton", "CUDA") if name in machine]
    title = "# " + ", ".join(
        [*(str(machine[name]) for name in ("device", "date") if name in machine), *named]
    )
    sections = [title, WRITTEN]
    sections += [machine["note"]] if "note" in machine else []
    sections += [*_rates(rows), *_values(rows), *_small(rows)]
    sections += [*_table(rows), *_signnet(rows), *_sweep(rows)]
    return "\n\n".join(sections) + "\n"


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = [":-" if place < 2 else "-:" for place in range(len(heads))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rule, *lines))


def _matching(rows: Rows, pattern: re.Pattern[str]) -> list[tuple[re.Match[str], Mapping[str, Any]]]:
    found = ((pattern.fullmatch(name), row) for name, row in rows.items())
    return [(match, row) for match, row in found if match is not None]


def _rates(rows: Rows) -> list[str]:
    lines = [
        f"- {name.removeprefix('rate, ')}: {row['operations a second'] / 1e12:,.0f} TFLOP/s"
        for name, row in rows.items()
        if "operations a second" in row
    ]
    peaks = rows.get("memory", {}).get("peak MB", {})
    lines += [
        f"- HCL of {int(pairs):,} pairs takes {peak:,.0f} MB at its peak" for pairs, peak in peaks.items()
    ]
    return ["## Matrix products, and memory", "\n".join(lines)] if lines else []


def _values(rows: Rows) -> list[str]:
    lines = [
        [
            match["loss"],
            match["kind"],
            match["dim"],
            row.get("error") or f"{row['relative error']:.1e}",
            "" if "error" in row else f"{row['of the gradient']:.1e}",
            "" if "error" in row else ("yes" if row["same digits"] else "no"),
        ]
        for match, row in _matching(rows, VALUES)
    ]
    heads = ("loss", "type", "d", "relative error", "of the gradient", "same digits twice")
    return ["## Values against the dense formula in float64", _markdown(heads, lines)] if lines else []


def _small(rows: Rows) -> list[str]:
    lines = [
        [
            match["method"],
            f"{int(match['pairs']):,}",
            row.get("error", "")[:60] or f"{row['ms']:.2f}",
            f"{row['ms as a graph']:.3f}" if "ms as a graph" in row else "",
        ]
        for match, row in _matching(rows, SMALL)
    ]
    heads = ("method", "pairs", "ms", "ms as a CUDA graph")
    return ["## Small batches, bfloat16, d = 128", _markdown(heads, lines)] if lines else []


def _table(rows: Rows) -> list[str]:
    """Tables by type and pairs; a share is of the 8-unit count at the card's own rate of matrix products."""
    cells = _matching(rows, CELL)
    sections: list[str] = []
    for kind, pairs in dict.fromkeys((match["kind"], match["pairs"]) for match, _ in cells):
        here = {
            (match["method"], match["dim"]): row
            for match, row in cells
            if (match["kind"], match["pairs"]) == (kind, pairs)
        }
        dims = sorted({dim for _, dim in here}, key=int)
        rate = rows.get(f"rate, {kind}", {}).get("operations a second")
        lines = [
            [method, *(_cell(method, here.get((method, dim), {}), rate) for dim in dims)]
            for method in dict.fromkeys(method for method, _ in here)
        ]
        heads = ("method", *(f"d = {dim}" for dim in dims))
        sections += [f"## {kind}, {int(pairs):,} pairs: ms, forward and backward", _markdown(heads, lines)]
    return sections


def _cell(method: str, row: Mapping[str, Any], rate: float | None) -> str:
    if "ms" not in row:
        return (
            "does not fit"
            if row.get("error", "").startswith(("not tried", "does not"))
            else row.get("error", "")
        )
    text, fastest = f"{row['ms']:,.2f}", row.get("ms as a graph", row["ms"])
    if "ms as a graph" in row:
        text += f", as a graph {fastest:,.2f}"
    if rate is not None and method in ("NT-Xent, tammes", "HCL, tammes"):
        text += f" ({1e3 * row['operations of the 8-unit count'] / rate / fastest:.0%})"
    return text


def _signnet(rows: Rows) -> list[str]:
    lines = [
        [name, method, f"{ms:.1f}"]
        for name, row in rows.items()
        if name.startswith("SignNet")
        for method, ms in row.get("ms", {}).items()
    ]
    return ["## SignNet, forward and backward", _markdown(("batch", "method", "ms"), lines)] if lines else []


def _sweep(rows: Rows) -> list[str]:
    lines = [
        [name.removeprefix("sweep, "), row.get("error", "")[:60] or f"{row['ms']:.3f}"]
        for name, row in rows.items()
        if name.startswith("sweep, ")
    ]
    return ["## Launches, NT-Xent, bfloat16", _markdown(("launch", "ms"), lines)] if lines else []
