"""Page of the kept studies: verdicts of the entries of `tammes reproduce` in benchmarks/results/studies."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

SHOWN = 6
HEAD = """\
# Kept studies

Results of `tammes reproduce` that the repository keeps, read from `benchmarks/results/studies`. Each
statement of a paper has a verdict that follows from the 95 % intervals of its effects and controls alone
([how](/papers.md)); a no is kept like a yes. Effects are differences that the statement says are above zero,
as mean and interval over the seeds; of many, the first {shown} are shown. Their unit is that of the entry's
table.
"""


def studies_page(folder: Path) -> str:
    """Return the page, in Markdown."""
    files = sorted(folder.glob("**/findings.json"))
    return "\n".join([HEAD.format(shown=SHOWN), *(_section(file) for file in files)])


def _section(file: Path) -> str:
    study = json.loads((file.parent / "study.json").read_text(encoding="utf-8"))
    findings = json.loads(file.read_text(encoding="utf-8"))
    lines = [
        f"## {study['entry']}, data {study['data']}, budget {study['budget']}",
        "",
        f"Seeds {study['seeds']}. Measured on {study['measured on']}. Searched: {study['searched']}. "
        f"Controls: {study['controls']}.",
        "",
        "| the paper states | verdict | effects |",
        "|---|---|---|",
        *(f"| {_cell(each['paper'])} | {_cell(each['verdict'])} | {_effects(each)} |" for each in findings),
        "",
    ]
    return "\n".join(lines)


def _effects(finding: Mapping) -> str:
    effects: Sequence[Mapping] = finding.get("effects", [])
    shown = [_effect(effect) for effect in effects[:SHOWN]]
    if len(effects) > SHOWN:
        shown.append(f"and {len(effects) - SHOWN} more")
    return _cell("; ".join(shown))


def _effect(effect: Mapping) -> str:
    numbers = [effect.get(key) for key in ("mean", "low", "high")]
    if None in numbers:
        return f"{effect['name']} not measured".strip()
    mean, low, high = (f"{number:+.3g}".replace("-", "\N{MINUS SIGN}") for number in numbers)
    return f"{effect['name']} {mean} [{low}, {high}]".strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
