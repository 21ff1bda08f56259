"""Definition 1 on constructed encoders: of one feature, of the other, of both, and in between."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from tammes.diagnostics import Separation, separation
from tammes.diagnostics.blocks import directions


def sphere(count: int, seed: int) -> Tensor:
    return directions(torch.randn(count, 3, generator=torch.Generator().manual_seed(seed)))


def parts(shift: float, kinds: int = 4, count: int = 4000) -> Separation:
    """Points in the plane whose center depends on the value by a shift, as directions in space."""
    values = torch.arange(count) % kinds
    generator = torch.Generator().manual_seed(1)
    angle = 2 * math.pi * values / kinds
    centers = torch.stack([angle.cos(), angle.sin()], dim=1)
    points = shift * centers + torch.randn(count, 2, generator=generator)
    on_sphere = torch.cat([points, torch.ones(count, 1)], dim=1)
    half = count // 2
    return separation((on_sphere[:half], values[:half]), (on_sphere[half:], values[half:]))


def test_an_encoder_of_the_other_feature_suppresses_this_one() -> None:
    """The encoder f = z^k of Proposition 2: its law does not depend on z^j."""
    values = torch.arange(2000) % 5
    found = separation((sphere(2000, 0), values), (sphere(2000, 1), values))
    assert found.at_least.low <= 0 < found.at_least.high
    assert (found.is_suppressed, found.is_distinguished) == (None, False)


def test_of_suppressed_features_one_in_forty_is_called_otherwise() -> None:
    """The lower end of an interval is above 0 by chance in 2.5 %; the better of two votes doubles that."""
    generator, values = torch.Generator().manual_seed(0), torch.arange(200) % 2
    wrong = 0
    for _ in range(1000):
        train, test = torch.randn(2, 200, 8, generator=generator)
        wrong += separation((train, values), (test, values)).is_suppressed is False
    assert 15 < wrong < 45


def test_an_encoder_of_the_feature_itself_distinguishes_it() -> None:
    values = torch.arange(200) % 5
    places = sphere(5, 0)
    found = separation((places[values], values), (places[values], values))
    assert (found.at_least.mean, found.at_most.mean, found.at_most.high) == (1, 1, 1)
    assert (found.is_suppressed, found.is_distinguished) == (False, None)


def test_the_bounds_hold_the_truth_in_between() -> None:
    """Two values with normal laws a distance of 2 s apart: D = 2 Phi(s) - 1 of the best classifier."""
    for shift in (0.5, 1.0, 2.0):
        truth = math.erf(shift / math.sqrt(2))
        found = parts(shift, kinds=2)
        assert found.at_least.low <= truth <= found.at_most.high + 0.02
        assert found.at_least.mean <= found.at_most.mean
        assert (found.is_suppressed, found.is_distinguished) == (False, False)


def test_rare_values_do_not_count_less() -> None:
    values = torch.cat([torch.zeros(900), torch.ones(100)]).long()
    embeddings = sphere(1000, 3)
    found = separation((embeddings, values), (sphere(1000, 4), values), neighbors=5)
    # The majority alone is right for nine of ten, and tells nothing.
    assert found.at_least.low < 0.1


def test_what_cannot_be_compared_is_refused() -> None:
    embeddings, values = sphere(40, 0), torch.arange(40) % 2
    with pytest.raises(ValueError, match="two values of the feature at least, the same in both parts"):
        separation((embeddings, values), (embeddings, values + 1))
    with pytest.raises(ValueError, match="two values of the feature at least"):
        separation((embeddings, 0 * values), (embeddings, 0 * values), neighbors=3)
    with pytest.raises(ValueError, match="50 neighbors are too many of 40 embeddings"):
        separation((embeddings, values), (embeddings, values), neighbors=50)
    with pytest.raises(ValueError, match="values of test, one for each embedding"):
        separation((embeddings, values), (embeddings, values[:3]))
    with pytest.raises(ValueError, match=r"expected embeddings of test .* got none"):
        separation((embeddings, values), (embeddings[:0], values[:0]))
