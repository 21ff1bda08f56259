"""Figures become part of the page: its colors, its own ids, nothing from elsewhere."""

import re

import numpy as np

from tammes.report.figures.canvas import canvas
from tammes.report.figures.map import embedding_map
from tammes.report.palette import INK, STYLESHEET, objective_color
from tammes.report.svg import inline_svg


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


def test_both_papers_have_all_colors():
    assert STYLESHEET.light.keys() == STYLESHEET.dark.keys()
    assert len(set(STYLESHEET.light.values())) == len(STYLESHEET.light)
