"""No page says yes to anything that training should cause where nothing is learned."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tammes.papers.robinson_spectral import (
    filters,
    multiplicities,
    properties,
    substructures,
    texture,
    texture_training,
    zinc,
)

pytest.importorskip("torch_geometric")


@pytest.mark.parametrize(
    ("module", "folder", "budget"),
    [
        (zinc, "graph_folder", 1e-4),
        (substructures, "random_folder", 0.004),
        (properties, None, 0.004),
        (filters, "image_folder", 1e-4),
        (multiplicities, "graph_folder", 1.0),
        (texture, "mesh_folder", 1e-7),
    ],
)
def test_no_verdict_is_yes_without_learning(
    module: ModuleType,
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
    if module is zinc:
        data = data / "zinc"
    module.ENTRY.reproduce(tmp_path / "out", budget=budget, seed=0, seeds=3, data=data, learning=False)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<td>yes</td>" not in page
    assert ("no verdict: not above the control" in page) == (module is not multiplicities)
