"""No page says yes to anything that training should cause where nothing is learned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tammes.papers import Entry
from tammes.papers.robinson_spectral import (
    SPECTRAL_FILTERS,
    SPECTRAL_MOLECULES,
    SPECTRAL_MULTIPLICITIES,
    SPECTRAL_PROPERTIES,
    SPECTRAL_SUBSTRUCTURES,
    SPECTRAL_TEXTURE,
    SPECTRAL_ZINC,
    properties,
    texture,
    texture_training,
)

pytest.importorskip("torch_geometric")


@pytest.mark.parametrize(
    ("entry", "folder", "budget"),
    [
        (SPECTRAL_ZINC, "graph_folder", 1e-4),
        (SPECTRAL_MOLECULES, "molecule_folder", 1e-4),
        (SPECTRAL_SUBSTRUCTURES, "random_folder", 0.004),
        (SPECTRAL_PROPERTIES, None, 0.004),
        (SPECTRAL_FILTERS, "image_folder", 1e-4),
        (SPECTRAL_MULTIPLICITIES, "graph_folder", 1.0),
        (SPECTRAL_TEXTURE, "mesh_folder", 1e-7),
    ],
)
def test_no_verdict_is_yes_without_learning(
    entry: Entry,
    folder: str | None,
    budget: float,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, count in (("VALIDATION", 20), ("TEST", 20), ("TRAIN", 80)):
        monkeypatch.setattr(properties, name, count)
    monkeypatch.setattr(texture_training, "SIDE", 64)
    monkeypatch.setattr(texture, "PAGE_SIDE", 64)
    data = None if folder is None else request.getfixturevalue(folder)
    if entry is SPECTRAL_ZINC:
        data = data / "zinc"
    entry.reproduce(tmp_path / "out", budget=budget, seed=0, seeds=3, data=data, learning=False)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<td>yes</td>" not in page
    assert ("no verdict: not above the control" in page) == (entry is not SPECTRAL_MULTIPLICITIES)
