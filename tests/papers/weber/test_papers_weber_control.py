"""Without learning, no page of the folder says yes."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tammes.data import digits
from tammes.papers import study
from tammes.papers.ash.vision_training import balanced
from tammes.papers.page import PaperPage
from tammes.papers.weber import active, figure_3, table_1, table_2


@pytest.mark.parametrize("module", [table_1, table_2, figure_3, active], ids=lambda module: module.ENTRY.name)
def test_nothing_is_confirmed_without_learning(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[PaperPage] = []
    monkeypatch.setattr(study, "write_page", lambda page, request, protocol: pages.append(page))
    monkeypatch.setattr(figure_3, "VARIED", {"scale": (1.0, 2.5)})
    monkeypatch.setattr(active, "load", lambda data: {})
    small = balanced(digits("train"), 60, seed=0)
    monkeypatch.setattr(active, "digits", lambda part: small)
    data = None if module.ENTRY.data is None else tmp_path
    module.ENTRY.reproduce(tmp_path / "out", budget=1e-4, seed=0, seeds=3, data=data, learning=False)
    (page,) = pages
    stated = [finding for finding in page.findings if finding.verdict != "–"]
    assert stated
    assert all(finding.verdict.startswith(("no", "not resolved")) for finding in stated)
