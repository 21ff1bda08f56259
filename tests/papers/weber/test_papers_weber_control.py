"""Without learning, no page of the folder says yes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tammes.data import digits
from tammes.papers import Entry, study
from tammes.papers.image_sets import balanced
from tammes.papers.page import PaperPage
from tammes.papers.weber import (
    POSITIVES_FIGURE_3,
    POSITIVES_REAL_DATA,
    POSITIVES_TABLE_1,
    POSITIVES_TABLE_2,
    active,
    figure_3,
)


@pytest.mark.parametrize(
    "entry",
    [POSITIVES_TABLE_1, POSITIVES_TABLE_2, POSITIVES_FIGURE_3, POSITIVES_REAL_DATA],
    ids=lambda entry: entry.name,
)
def test_nothing_is_confirmed_without_learning(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[PaperPage] = []
    monkeypatch.setattr(study, "write_page", lambda page, request, protocol: pages.append(page))
    monkeypatch.setattr(figure_3, "VARIED", {"scale": (1.0, 2.5)})
    monkeypatch.setattr(active, "published_sets", lambda data, wanted: {})
    small = balanced(digits("train"), 60, seed=0)
    monkeypatch.setattr(active, "digits", lambda part: small)
    data = None if entry.data is None else tmp_path
    entry.reproduce(tmp_path / "out", budget=1e-4, seed=0, seeds=3, data=data, learning=False)
    (page,) = pages
    stated = [finding for finding in page.findings if finding.verdict != "–"]
    assert stated
    assert all(finding.verdict.startswith(("no", "not resolved")) for finding in stated)
