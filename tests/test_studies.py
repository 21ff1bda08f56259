"""The kept studies are those of benchmarks/studies.py, and each has its page on the site."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

from tammes.papers.entry import entries
from tammes.papers.robinson_masked.runs import MaskedRun
from tammes.papers.robinson_masked.training import MINUTES_HERE

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/studies"


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.syspath_prepend(str(ROOT / "docs/_site"))
    for name in ("studies", "study_pages"):
        sys.modules.pop(name, None)


def test_every_entry_has_a_study_and_every_study_an_entry() -> None:
    kept = import_module("studies").KEPT
    assert {study.entry for study in kept} == {entry.name for entry in entries()}
    assert len({study.folder for study in kept}) == len(kept)


def test_a_kept_result_is_of_the_study_that_is_listed() -> None:
    by_folder = {study.folder.name: study for study in import_module("studies").KEPT}
    for file in sorted(RESULTS.glob("*/study.json")):
        study, listed = json.loads(file.read_text()), by_folder[file.parent.name]
        seeds = study["seeds"].split(", ")
        assert (study["entry"], study["budget"]) == (listed.entry, f"{listed.budget:g}")
        assert study["data"] == (listed.data or "")
        assert int(seeds[0]) == listed.seed
        assert listed.seeds in (None, len(seeds))
        assert study["learning"] == "True"


def test_a_page_has_every_statement_and_the_table_counts_them() -> None:
    pages = import_module("study_pages")
    written = pages.study_pages(RESULTS)
    studies = pages.kept_studies(RESULTS)
    assert studies
    for study in studies:
        page = written[f"studies/{study.folder.name}.md"]
        assert study.counts.total() == len(study.findings)
        for finding in study.findings:
            assert pages.one_line(finding["paper"]) in page
            assert page.count("| effect |") == sum(len(each["effects"]) for each in study.findings)
        assert study.row() in written["studies.md"]


def test_what_did_not_come_out_stands_under_its_own_heading() -> None:
    pages = import_module("study_pages")
    effect = {"name": "gain", "mean": -0.01, "low": -0.015, "high": -0.005, "text": "−1.0 [−1.5, −0.5]"}
    no = {"paper": "It is better.", "ours": "Here:", "verdict": "no", "effects": [effect], "controls": []}
    assert pages.kind_of(no) == pages.NO
    assert "| effect | gain | −1.0 [−1.5, −0.5] |" in pages.finding_lines(no)
    open_ = no | {"verdict": "not resolved: at this size about 9 seeds would be needed"}
    assert pages.kind_of(open_) == pages.UNDECIDED


def test_the_minutes_of_the_masked_studies_are_those_of_their_tables() -> None:
    """An encoder that several entries measure is trained once."""
    cells = {}
    for file in RESULTS.glob("masked-*/table.csv"):
        with file.open(encoding="utf-8") as table:
            for row in csv.DictReader(table):
                settings = tuple(row[each.name] for each in fields(MaskedRun))
                cells[settings] = float(row["seconds"])
    assert round(sum(cells.values()) / 60) == MINUTES_HERE
    page = (ROOT / "docs/masked.md").read_text(encoding="utf-8")
    assert page.count(f"{MINUTES_HERE} minutes of training on one core") == 2
