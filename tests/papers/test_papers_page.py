"""The page shows each effect and control with its interval, and counts the verdicts."""

import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tammes.estimate import Estimate
from tammes.papers.entry import Entry, Request
from tammes.papers.finding import Check, Effect, Finding
from tammes.papers.page import Numbers, PaperPage, write_page
from tammes.papers.protocol import Protocol

GAIN = Effect(name="gain", difference=Estimate.over_seeds([0.02, 0.03, 0.025]))
LEARNED = Effect(name="over the untrained network", difference=Estimate.over_seeds([0.4, 0.5, 0.4]))
OPEN = Effect(name="not measured", difference=None)


@pytest.fixture
def page() -> PaperPage:
    return PaperPage(
        title="Gains",
        overview=Figure(),
        findings=(
            Finding(paper="It is better.", effects=(GAIN,), controls=(LEARNED,)),
            Finding(paper="It is the best.", effects=(GAIN, OPEN), controls=(LEARNED,)),
            Check(paper="1 = 1.", ours="1.", passed=True),
            Check(paper="1 = 2.", ours="1.", passed=False),
            Finding(paper="(No statement.)", ours="It is 3."),
        ),
        figures=(),
        numbers=Numbers(header=("k",), rows=(), note=""),
        settings={},
    )


def written(page: PaperPage, out: Path) -> Path:
    entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda request: None)
    request = Request(entry=entry, out=out, budget=0.5, seed=3, seeds=3, learning=False)
    protocol = Protocol(
        seeds=[3, 4, 5],
        controls=["untrained network"],
        measured_on="test images",
        search={"learning rate": [0.1, 0.2]},
        searched_on="validation images",
    )
    write_page(page, request, protocol)
    return out


def test_effects_controls_and_the_protocol_are_on_the_page(page, tmp_path):
    text = (written(page, tmp_path) / "report.html").read_text(encoding="utf-8")
    for words in (
        "gain: +0.025 [+0.013, +0.037]",
        "control: over the untrained network: +0.433 [+0.290, +0.577]",
        "not measured: not measured yet",
        "Above zero in 1 of 2, below in 0; by chance 0.05 each.",
        "learning rate: 0.1, 0.2; chosen on validation images",
        "--seeds 3 --no-learning",
        "1 × yes, 1 × not measured yet, 1 × check: passed, 1 × check: failed.",
        "95 % confidence intervals over the seeds (Student",
    ):
        assert words in text, words


def test_findings_can_be_read_by_a_program(page, tmp_path):
    found = json.loads((written(page, tmp_path) / "findings.json").read_text(encoding="utf-8"))
    assert [each["verdict"] for each in found] == [
        *("yes", "not measured yet"),
        *("check: passed", "check: failed"),
        "–",
    ]
    (effect,) = found[0]["effects"]
    assert effect["low"] < effect["mean"] < effect["high"]
    assert effect["text"] == "+0.025 [+0.013, +0.037]"
    assert found[1]["effects"][1] == {
        "name": "not measured",
        "mean": None,
        "low": None,
        "high": None,
        "text": "not measured yet",
    }
