"""The pictures of ideas are drawn by one command, and each stands on its page."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def test_one_command_draws_a_picture_for_each_page(tmp_path: Path) -> None:
    pictures = import_module("idea_pictures")
    pictures.main(tmp_path)
    for name in pictures.PICTURES:
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
        assert (ROOT / f"docs/images/{name}.png").is_file()
        assert f"](images/{name}.png)" in (ROOT / f"docs/{name}.md").read_text()


def test_the_factor_is_drawn_least_at_the_best_number() -> None:
    (axes,) = import_module("idea_pictures").theory(sizes=(10,)).axes
    curve, dot = axes.lines
    assert dot.get_xydata().tolist() == [[9, 1]]
    assert min(curve.get_ydata()) == 1
