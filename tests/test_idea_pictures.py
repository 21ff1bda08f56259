"""The pictures of ideas are drawn by one command, and each stands on its page."""

import re
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from matplotlib.colors import to_hex

from tammes.extensions import Lovasz, Multilinear
from tammes.report.palette import objective_color

ROOT = Path(__file__).parent.parent
DRAWN = [objective_color(0), objective_color(1)]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes."""
    written = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(ROOT / "benchmarks"))
        import_module("idea_pictures").main(written)
    return written


def test_one_command_draws_a_picture_for_each_page(folder: Path) -> None:
    pictures = import_module("idea_pictures")
    pages = {f"{page}.png": page for page in pictures.PICTURES}
    pages |= {f"idea-{page}.svg": page for page in pictures.DRAWINGS}
    assert {file.name for file in folder.iterdir()} == pages.keys()
    for name, page in pages.items():
        assert (folder / name).stat().st_size > 10_000
        assert (ROOT / f"docs/images/{name}").is_file()
        assert f"](images/{name})" in (ROOT / f"docs/{page}.md").read_text()


@pytest.mark.parametrize("name", ["sources", "masked", "extensions", "features", "positives", "graphs"])
def test_a_drawing_can_be_read_in_both_modes_and_at_400_pixels(name: str, folder: Path) -> None:
    """As a file of its own: no page gives it colors."""
    text = (folder / f"idea-{name}.svg").read_text()
    assert len(text) < 60_000
    drawing = ElementTree.fromstring(text)
    background, *_ = drawing.findall("{*}rect")
    assert (background.get("width"), background.get("fill")) == ("100%", "var(--paper)")
    light, dark = re.findall(r":root\{(.*?)\}", text)
    assert light.count("--") == dark.count("--")
    assert set(re.findall(r"var\((--[\w-]+)\)", text)) <= set(re.findall(r"(--[\w-]+):", dark))
    # A color that is no variable would be the same in both modes.
    _, _, drawn = text.partition("</style>")
    assert not re.findall(r"#[0-9a-f]{6}\b(?=[;\"])", drawn)
    wide = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", drawn)]
    assert sizes
    assert min(sizes) * 400 / wide > 8.5


def test_the_matrices_of_sources_have_a_cell_for_each_pair_but_an_anchor_with_itself() -> None:
    drawings = import_module("idea_drawings")
    counts = [
        [sum(to_hex(patch.get_facecolor()) == color for patch in axes.patches) for color in DRAWN]
        for axes in drawings.sources().axes
    ]
    assert counts == [[6, 24], [3, 24], [3, 15], [6, 12]]


def test_the_sets_of_an_extension_have_the_point_as_their_mean() -> None:
    drawings = import_module("idea_drawings")
    x = torch.tensor([0.75, 0.35])
    corners = torch.cartesian_prod(torch.arange(2), torch.arange(2)).bool()
    for extension, number in ((Lovasz(), 3), (Multilinear(), 4)):
        shares = torch.tensor([drawings.probability(extension, x, corner) for corner in corners])
        assert (shares > 0).sum() == number
        torch.testing.assert_close(shares @ corners.float(), x)
        torch.testing.assert_close(shares.sum(), torch.tensor(1.0))


def test_the_factor_is_drawn_least_at_the_best_number() -> None:
    (axes,) = import_module("idea_pictures").theory(sizes=(10,)).axes
    curve, dot = axes.lines
    assert dot.get_xydata().tolist() == [[9, 1]]
    assert min(curve.get_ydata()) == 1
