"""Pages of the studies: a table of all, a page for each kept result, and one for each entry without."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from studies import KEPT, Kept
from tammes.papers.entry import Entry, entries

HEAD = """\
# Papers redone

What `tammes reproduce` has measured and the repository keeps, in `benchmarks/results/studies`. Each statement
of a paper has a verdict that follows from the 95 % intervals of its effects and controls alone
([how](/papers.md)); what did not come out is kept like the rest. Most are a small part of the papers' own
work, as the budget says: a *no* there is a no at that size. Hours are processor time, of some studies beside
other work. `python benchmarks/studies.py` runs them again.
"""
HEADER = """\
| study | data | budget | seeds | verdicts | measured | hours |
|---|---|---|---|---|---|---|"""
CHAPTER = re.compile(r', "[^"]*", (?=chapter)')
"""Title of a document, in front of its chapters."""
YES, NO, PASSED, FAILED, UNDECIDED, REMARK = "yes", "no", "passed", "failed", "undecided", "remark"
HEADINGS = {
    YES: "Came out as stated",
    NO: "Did not come out",
    FAILED: "Checks that failed",
    UNDECIDED: "Not decided here",
    PASSED: "Checks that passed",
    REMARK: "Beside the statements",
}


@dataclass(frozen=True, kw_only=True)
class KeptStudy:
    """A folder of benchmarks/results/studies whose study is whole."""

    folder: Path
    entry: Entry

    def _read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    @cached_property
    def study(self) -> Mapping[str, str]:
        """What was asked for."""
        return self._read("study.json")

    @cached_property
    def findings(self) -> Sequence[Mapping]:
        """Statements and verdicts."""
        return self._read("findings.json")

    @cached_property
    def runs(self) -> Sequence[Mapping]:
        """When and where it was measured; none for the first studies, of which this was not written down."""
        return self._read("runs.json") if (self.folder / "runs.json").exists() else []

    @property
    def hours(self) -> str:
        """Processor time of all runs."""
        return f"{sum(run['seconds'] for run in self.runs) / 3600:.2f}" if self.runs else ""

    @property
    def counts(self) -> Counter[str]:
        """Number of statements by kind of verdict."""
        return Counter(kind_of(finding) for finding in self.findings)

    @property
    def verdicts(self) -> str:
        """The verdicts, counted."""
        counts = self.counts
        words = [f"{counts[kind]} {kind}" for kind in (YES, NO, UNDECIDED) if counts[kind]]
        if checks := counts[PASSED] + counts[FAILED]:
            words.append(f"{counts[PASSED]} of {checks} checks passed")
        return ", ".join(words) or "no statement"

    def row(self) -> str:
        """Row of the table of all."""
        cells = (
            f"[{self.folder.name}](/measured/studies/{self.folder.name}.md)",
            self.study["data"] or "none",
            self.study["budget"],
            str(len(self.study["seeds"].split(","))),
            self.verdicts,
            max((run["date"] for run in self.runs), default=""),
            self.hours,
        )
        return table_row(cells)

    def page(self) -> str:
        """Its page, in Markdown."""
        figure = self.folder / "figure.svg"
        lines = [
            f"# {self.folder.name}",
            "",
            f"{self.entry.statement} ({self.entry.source})",
            "",
            document_of(self.entry),
            "",
            f"    {self._command()}",
            "",
            *(f"- **{name}:** {words}" for name, words in self._facts()),
            "",
            *([f"![Figure of {self.folder.name}]({self.folder.name}.svg)", ""] if figure.exists() else []),
        ]
        for kind, heading in HEADINGS.items():
            chosen = [finding for finding in self.findings if kind_of(finding) == kind]
            if chosen:
                lines += [f"## {heading}", "", *(line for each in chosen for line in finding_lines(each))]
        return "\n".join(lines)

    def _command(self) -> str:
        seeds = self.study["seeds"].split(", ")
        data = f" --data {self.study['data']}" if self.study["data"] else ""
        return (
            f"tammes reproduce {self.study['entry']}{data} --budget {self.study['budget']} --seed {seeds[0]} "
            f"--seeds {len(seeds)}"
        )

    def _facts(self) -> Iterable[tuple[str, str]]:
        yield "Measured on", self.study["measured on"]
        yield "Controls", self.study["controls"]
        yield "Searched", self.study["searched"]
        for run in self.runs:
            yield (
                f"Run of {run['date']}",
                f"{run['seconds']:,.0f} s of processor time, {run['threads']} thread"
                f"{'s' * (run['threads'] > 1)} of an {run['processor']}, torch {run['torch']}, commit "
                f"{run['commit']}",
            )
        if not self.runs:
            yield "Run", "its date, commit and time were not written down"
        yield "Files", f"`benchmarks/results/studies/{self.folder.name}`"


def document_of(entry: Entry) -> str:
    """Return what an entry is from."""
    package = entry.run.__module__.rpartition(".")[0]
    return (sys.modules[package].__doc__ or "").splitlines()[0]


def page_without(entry: Entry, listed: Kept) -> str:
    """Return the page of an entry without a kept result: the statement, a command and what it costs."""
    words = listed.command(Path("FOLDER"))
    command = " ".join(["tammes", *words[: words.index("--out")]])
    lines = [
        f"# {entry.name}",
        "",
        f"{one_line(entry.statement)} ({entry.source})",
        "",
        document_of(entry),
        "",
        f"    {command}",
        "",
        f"- **Data:** {entry.data or 'none are needed'}",
        f"- **Cost:** with this budget, {listed.budget:g} of the work of the full entry; not timed",
        "- **Result:** none is kept yet",
    ]
    return "\n".join([*lines, ""])


def kind_of(finding: Mapping) -> str:
    """Return the kind of a verdict."""
    verdict = finding["verdict"]
    fixed = {YES: YES, NO: NO, "check: passed": PASSED, "check: failed": FAILED, "–": REMARK}
    return fixed.get(verdict, UNDECIDED)


def finding_lines(finding: Mapping) -> list[str]:
    """Return a statement, what was measured, and the verdict."""
    named = [("effect", each) for each in finding["effects"]]
    named += [("control", each) for each in finding["controls"]]
    verdict = "" if kind_of(finding) == REMARK else f" **{finding['verdict'].capitalize()}.**"
    lines = [f"**{one_line(finding['paper'])}** {one_line(finding['ours'])}{verdict}".strip(), ""]
    if named:
        lines += ["| | | mean with 95 % interval |", "|---|---|---|"]
        lines += [table_row((kind, each["name"], each["text"])) for kind, each in named]
        lines.append("")
    return lines


def table_row(cells: Iterable[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())


def kept_studies(results: Path) -> list[KeptStudy]:
    """Return the studies that are whole, by name."""
    by_name = {entry.name: entry for entry in entries()}
    found = []
    for file in sorted(results.glob("*/findings.json")):
        study = json.loads((file.parent / "study.json").read_text(encoding="utf-8"))
        found.append(KeptStudy(folder=file.parent, entry=by_name[study["entry"]]))
    return found


def study_pages(results: Path) -> dict[str, str]:
    """Return the pages in Markdown by the name of their file: the table of all, and a page for each study."""
    studies = kept_studies(results)
    by_document: dict[str, list[KeptStudy]] = {}
    for study in studies:
        by_document.setdefault(document_of(study.entry), []).append(study)
    lines = [HEAD]
    for document, group in sorted(by_document.items()):
        heading = CHAPTER.sub(", ", document).rstrip(".")
        lines += [f"## {heading}", "", HEADER]
        lines += [*(study.row() for study in group), ""]
    measured = {study.entry.name for study in studies}
    listed = {study.entry: study for study in reversed(KEPT)}
    without = {
        entry.name: page_without(entry, listed[entry.name])
        for entry in sorted(entries(), key=lambda entry: entry.name)
        if entry.name not in measured
    }
    if without:
        links = ", ".join(f"[{name}](/measured/studies/{name}.md)" for name in without)
        lines += ["## Without a kept result", "", f"{links}.", ""]
    names = [*(study.folder.name for study in studies), *without]
    lines += ["```{toctree}", ":hidden:", "", *(f"studies/{name}" for name in names), "```", ""]
    pages = {study.folder.name: study.page() for study in studies} | without
    return {"studies.md": "\n".join(lines)} | {f"studies/{name}.md": page for name, page in pages.items()}
