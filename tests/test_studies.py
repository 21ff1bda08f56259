"""The kept studies are those of benchmarks/studies.py, and each has its page on the site."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tammes.papers.entry import entries
from tammes.papers.robinson_masked.runs import MaskedRun
from tammes.papers.robinson_masked.scale import MEDIUM, MINUTES_HERE, SMALL

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks/results/studies"
TUNING = ("tuned_epochs", "corrupted_images")


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


def test_every_entry_has_a_page_with_its_statement_and_a_command() -> None:
    pages = import_module("study_pages")
    written = pages.study_pages(RESULTS)
    studies = pages.kept_studies(RESULTS)
    for entry in entries():
        names = [each.folder.name for each in studies if each.entry.name == entry.name] or [entry.name]
        for name in names:
            page = written[f"studies/{name}.md"]
            assert pages.one_line(entry.statement) in pages.one_line(page)
            assert f"    tammes reproduce {entry.name} " in page
            assert f"studies/{name}\n" in written["studies.md"]


def test_a_page_without_a_result_says_what_its_command_costs() -> None:
    pages, kept = import_module("study_pages"), import_module("studies")
    entry = next(each for each in entries() if each.name == "spectral-zinc")
    page = pages.page_without(entry, kept.Kept(entry="spectral-zinc", budget=0.04, seeds=3, data="zinc"))
    assert "    tammes reproduce spectral-zinc --budget 0.04 --seed 0 --seeds 3 --data FOLDER/zinc\n" in page
    assert "- **Cost:** with this budget, 0.04 of the work of the full entry" in page
    assert "- **Result:** none is kept yet" in page


def test_what_did_not_come_out_stands_under_its_own_heading() -> None:
    pages = import_module("study_pages")
    effect = {"name": "gain", "mean": -0.01, "low": -0.015, "high": -0.005, "text": "−1.0 [−1.5, −0.5]"}
    no = {"paper": "It is better.", "ours": "Here:", "verdict": "no", "effects": [effect], "controls": []}
    assert pages.kind_of(no) == pages.NO
    assert "| effect | gain | −1.0 [−1.5, −0.5] |" in pages.finding_lines(no)
    open_ = no | {"verdict": "not resolved: at this size about 9 seeds would be needed"}
    assert pages.kind_of(open_) == pages.UNDECIDED


def hours_of_masked(encoder: str) -> float:
    """Hours of training of a network; an encoder that several entries measure is trained once."""
    cells = {}
    for file in RESULTS.glob("masked-*/table.csv"):
        with file.open(encoding="utf-8") as table:
            for row in csv.DictReader(table):
                # Whether it is fine-tuned afterwards changes nothing of the training.
                trained = (row[each.name] for each in fields(MaskedRun) if each.name not in TUNING)
                if row["encoder"] == encoder:
                    cells[tuple(trained)] = float(row["seconds"])
    return sum(cells.values()) / 3600


def test_the_times_of_the_masked_studies_are_those_of_their_tables() -> None:
    assert round(60 * hours_of_masked(SMALL)) == MINUTES_HERE
    page = (ROOT / "docs/masked.md").read_text(encoding="utf-8")
    assert page.count(f"{MINUTES_HERE} minutes of training on one core") == 2
    assert f"have taken {hours_of_masked(MEDIUM):.1f} hours of one core" in page


def test_another_mean_and_another_verdict_are_counted() -> None:
    """`benchmarks/other_kernels.py` on a page whose second mean has left its interval, and its verdict."""

    def page(mean: float, verdict: str) -> list[dict[str, Any]]:
        effects = [
            {"name": "a", "mean": 1.0, "low": 0.0, "high": 2.0},
            {"name": "b", "mean": mean, "low": 1.0, "high": 3.0},
            {"name": "not measured", "mean": None, "low": None, "high": None},
        ]
        return [{"verdict": verdict, "effects": effects, "controls": []}]

    row = import_module("other_kernels").row
    assert row("same", page(2.0, "yes"), page(2.0, "yes")) == "| same | 2 | 0 | 0.00 | 1 | none |"
    assert row("other", page(2.0, "yes"), page(4.5, "no")) == "| other | 2 | 1 | 2.50 | 1 | yes → no |"
    with pytest.raises(ValueError, match="expected the kept page's 'b', which is not there"):
        row(
            "less", page(2.0, "yes"), [{**page(2.0, "yes")[0], "effects": page(2.0, "yes")[0]["effects"][:1]}]
        )
