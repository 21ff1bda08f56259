"""The rows of `gpu_all.py` as a page in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

DOES_NOT_FIT = ("not tried", "does not fit")
"""How errors begin that are no failures: a dense method that is larger than memory."""
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
    dates = sorted({str(row["date"]) for row in rows.values() if "date" in row})
    days = [" to ".join(dict.fromkeys((dates[0], dates[-1])))] if dates else []
    title = "# " + ", ".join([*([machine["device"]] if "device" in machine else []), *days, *named])
    sections = [title, WRITTEN]
    sections += [machine["note"]] if "note" in machine else []
    sections += [*_rates(rows), *_values(rows), *_small(rows), *_profiles(rows), *_sweep(rows)]
    sections += [*_table(rows), *_signnet(rows), *_failed(rows)]
    return "\n\n".join(sections) + "\n"


def has_failed(row: Mapping[str, Any]) -> bool:
    """Return whether the row holds an error, and not only that a method does not fit into memory."""
    return "error" in row and not row["error"].startswith(DOES_NOT_FIT)


def _error(row: Mapping[str, Any]) -> str:
    """Return what a cell says instead of a number; the section of failures has the error."""
    return "failed" if has_failed(row) else "does not fit" if "error" in row else ""


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = [":-" if place < 2 else "-:" for place in range(len(heads))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, rule, *lines))


def _matching(rows: Rows, pattern: re.Pattern[str]) -> list[tuple[re.Match[str], Mapping[str, Any]]]:
    found = ((pattern.fullmatch(name), row) for name, row in rows.items())
    return [(match, row) for match, row in found if match is not None]


def _rates(rows: Rows) -> list[str]:
    lines = []
    for name, row in rows.items():
        subject = name.removeprefix("rate, ")
        if "operations a second" in row:
            lines.append(f"- {subject}: {row['operations a second'] / 1e12:,.0f} TFLOP/s")
        elif "a second" in row:
            lines.append(f"- {subject}: {row['a second'] / 1e12:,.2f} trillion a second")
        elif name.startswith("rate, ") and "error" in row:
            lines.append(f"- {subject}: {_error(row)}")
    peaks = rows.get("memory", {}).get("peak MB", {})
    lines += [
        f"- HCL of {int(pairs):,} pairs takes {peak:,.0f} MB at its peak" for pairs, peak in peaks.items()
    ]
    alone = rows.get("nccl, one process", {})
    if "difference" in alone:
        lines.append(f"- a group of one process over nccl changes HCL by {alone['difference']:.1e}")
    return ["## Rates, memory and nccl", "\n".join(lines)] if lines else []


def _values(rows: Rows) -> list[str]:
    lines = [
        [
            match["loss"],
            match["kind"],
            match["dim"],
            _error(row) or f"{row['relative error']:.1e}",
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
            _error(row) or f"{row['ms']:.2f}",
            f"{row['ms as a graph']:.3f}" if "ms as a graph" in row else "",
        ]
        for match, row in _matching(rows, SMALL)
    ]
    heads = ("method", "pairs", "ms", "ms as a CUDA graph")
    return ["## Small batches, bfloat16, d = 128", _markdown(heads, lines)] if lines else []


def _profiles(rows: Rows) -> list[str]:
    """One line for each profiled step. What runs on the device alone is a kernel or a copy."""
    lines = []
    for name, row in rows.items():
        if not name.startswith("profile, "):
            continue
        on_device = [
            (microseconds, count, operation)
            for operation, (count, microseconds, on_host) in row.get("operations", {}).items()
            if on_host == 0 and microseconds > 0
        ]
        longest = sorted(on_device, reverse=True)[:3]
        lines.append(
            [
                name.removeprefix("profile, "),
                _error(row) or str(sum(count for _, count, _ in on_device)),
                _error(row) or f"{sum(microseconds for microseconds, _, _ in on_device):.0f}",
                ", ".join(
                    f"{_short(operation)} {microseconds:.0f}" for microseconds, _, operation in longest
                ),
            ]
        )
    heads = ("step", "kernels and copies", "microseconds on the device", "the longest")
    title = "## Profiles of a step, bfloat16, d = 128"
    return [title, _markdown(heads, lines)] if lines else []


def _short(operation: str) -> str:
    """Return the name of a kernel without namespaces, types and arguments."""
    name = operation.removeprefix("void ").replace("(anonymous namespace)::", "")
    return re.split(r"[<(]", name)[0].strip().split("::")[-1]


def _in_a_cell(text: str) -> str:
    """Return a text of one line without what would end a cell of a table."""
    return " ".join(text.split()).replace("|", "/")


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
        return _error(row)
    text, fastest = f"{row['ms']:,.2f}", row.get("ms as a graph", row["ms"])
    if "ms as a graph" in row:
        text += f", as a graph {fastest:,.2f}"
    if rate is not None and method in ("NT-Xent, tammes", "HCL, tammes"):
        text += f" ({1e3 * row['operations of the 8-unit count'] / rate / fastest:.0%})"
    return text


def _signnet(rows: Rows) -> list[str]:
    lines = [
        [name, method, _error(row) or f"{ms:.1f}"]
        for name, row in rows.items()
        if name.startswith("SignNet")
        for method, ms in ({"": 0.0} if "error" in row else row["ms"]).items()
    ]
    return ["## SignNet, forward and backward", _markdown(("batch", "method", "ms"), lines)] if lines else []


def _sweep(rows: Rows) -> list[str]:
    lines = [
        [name.removeprefix("sweep, "), _error(row) or f"{row['ms']:.3f}"]
        for name, row in rows.items()
        if name.startswith("sweep, ")
    ]
    return ["## Launches, NT-Xent, bfloat16", _markdown(("launch", "ms"), lines)] if lines else []


def _failed(rows: Rows) -> list[str]:
    lines = [[name, _in_a_cell(row["error"])] for name, row in rows.items() if has_failed(row)]
    return ["## Rows that failed", _markdown(("row", "error"), lines)] if lines else []
