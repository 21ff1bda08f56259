"""The figure of a packing draws every point and every contact, in any dimension."""

import numpy as np
import pytest

from tammes.report.figures.packing import _view, packing_figure
from tammes.theory import Packing, pack


@pytest.mark.parametrize(("count", "dim"), [(3, 1), (5, 2), (12, 3), (10, 4), (56, 7)])
def test_any_packing_can_be_drawn(count: int, dim: int) -> None:
    figure = packing_figure(pack(count, dim))
    figure.draw_without_rendering()
    noun = "dimension" if dim == 1 else "dimensions"
    assert figure.axes[0].get_title(loc="left").startswith(f"{count} points in {dim} {noun}, ")


def test_the_sphere_shows_all_points_and_contacts_in_front_and_behind() -> None:
    packing = pack(12, 3)
    axes = packing_figure(packing).axes[0]
    groups = [dots for dots in axes.collections if len(dots.get_offsets())]
    assert sum(len(dots.get_offsets()) for dots in groups) == 12
    assert {dots.get_alpha() for dots in groups} == {1.0, 0.35}
    arcs = axes.lines[1:]
    assert len(arcs) == 2 * len(packing.contacts)
    drawn = sum(np.isfinite(arc.get_xdata()).sum() for arc in arcs)
    assert drawn == 25 * len(packing.contacts)


def test_points_without_contact_have_a_color() -> None:
    loose = np.concatenate([np.eye(3), [[-0.577, -0.577, -0.577]]])
    loose /= np.linalg.norm(loose, axis=1, keepdims=True)
    packing = Packing(points=loose)
    assert len(packing.contacts) == 3
    inks = [
        dots.get_facecolor()[0].tolist()
        for dots in packing_figure(packing).axes[0].collections
        if len(dots.get_offsets())
    ]
    assert len({tuple(ink[:3]) for ink in inks}) == 2


def test_opposite_points_have_no_arc() -> None:
    assert len(packing_figure(pack(2, 3)).axes[0].lines) == 1


def test_the_view_keeps_points_apart() -> None:
    points = np.array([[0.0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    flat = (points @ _view(points).T)[:, :2]
    gaps = np.linalg.norm(flat[:, None] - flat[None], axis=2) + 9 * np.eye(6)
    assert gaps.min() > 0.4
