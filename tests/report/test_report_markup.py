"""Figures become part of the page, with its colors and their own ids; pictures are unchanged or smaller."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from tammes.report.figures.canvas import canvas
from tammes.report.figures.map import embedding_map
from tammes.report.markup import LARGEST, data_uri, inline_svg
from tammes.report.palette import DARK, INK, LIGHT, objective_color


def drawn(name: str = "fig") -> str:
    figure, axes = canvas(width=3, height=2)
    axes.plot([0, 1], [0, 1], color=objective_color(1))
    axes.set(xlabel="a < b", ylabel="y")
    return str(inline_svg(figure, name=name, description='Say "less" < more.'))


def test_colors_become_variables():
    text = drawn()
    assert "stroke: var(--objective-1)" in text
    assert "var(--ink)" in text
    assert objective_color(1) not in text
    assert INK not in text


def test_ids_belong_to_the_figure():
    text = drawn("one")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert ids
    assert all(each.startswith("one-") for each in ids)
    assert len(set(ids)) == len(ids)
    referred = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
    assert set(referred) <= set(ids)


def test_text_is_escaped_and_stays_text():
    text = drawn()
    assert 'aria-label="Say &quot;less&quot; &lt; more."' in text
    assert "a &lt; b</text>" in text


def test_a_browser_has_the_fonts_that_matplotlib_lacks():
    """Warnings are errors: of a glyph that matplotlib cannot draw there is none."""
    drawing, axes = canvas(width=3, height=2)
    axes.set_title("日本語")
    assert "日本語" in inline_svg(drawing, name="a", description="")


def test_nothing_is_fetched_and_nothing_is_dated():
    text = drawn()
    assert not re.search(r'(?:href|src)="(?!#)', text)
    assert "<metadata" not in text
    assert text == drawn()


def test_every_dot_of_a_map_has_its_title():
    places = np.random.default_rng(0).normal(size=(5, 2))
    figure = embedding_map(places, np.array([0, 1, 0, 1, 0]), ("a", "b"), color=objective_color(0))
    titles = [f"picture <{index}>" for index in range(5)]
    text = str(inline_svg(figure, name="map", description="A map.", titles=titles))
    assert re.findall(r"<use [^>]*><title>picture &lt;(\d)&gt;</title></use>", text) == list("01234")


def test_both_modes_have_all_colors():
    assert LIGHT.keys() == DARK.keys()
    assert len(set(LIGHT.values())) == len(LIGHT)


def decoded(uri: str) -> np.ndarray:
    head, _, data = uri.partition(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


@pytest.mark.parametrize("channels", [1, 3])
def test_pixels_survive(channels):
    image = np.random.default_rng(0).integers(0, 256, (channels, 9, 7), dtype=np.uint8)
    shown = decoded(data_uri(image))
    np.testing.assert_array_equal(shown, image[0] if channels == 1 else np.moveaxis(image, 0, -1))


def test_large_pictures_are_made_smaller_in_their_shape():
    shown = decoded(data_uri(np.zeros((3, 400, 200), np.uint8)))
    assert shown.shape == (LARGEST, LARGEST // 2, 3)
