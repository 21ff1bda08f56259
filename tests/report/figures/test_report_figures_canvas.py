"""Labels make room for one another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tammes.report.figures.canvas import spread

heights = st.lists(st.floats(-50, 50), min_size=1, max_size=10)


@given(values=heights, gap=st.floats(0.01, 5))
def test_no_two_labels_touch_and_none_overtakes(values, gap):
    places = spread(values, gap=gap)
    order = np.argsort(values, kind="stable")
    assert np.all(np.diff(places[order]) >= gap * (1 - 1e-6))


@given(values=heights, gap=st.floats(0.01, 5))
def test_labels_stay_around_their_values(values, gap):
    np.testing.assert_allclose(spread(values, gap=gap).mean(), np.mean(values), atol=1e-9)


def test_labels_with_room_stay_where_they_are():
    assert spread([3.0, 1.0, 2.0], gap=0.5).tolist() == [3.0, 1.0, 2.0]
