"""What contrasts refuse when they are made."""

from __future__ import annotations

import math

import pytest

import tammes


@pytest.mark.parametrize("weight", [0.0, -2.0, math.nan, math.inf])
@pytest.mark.parametrize("contrast", [tammes.InfoNCE, tammes.Logistic])
def test_weight_must_be_positive(contrast: type, weight: float) -> None:
    with pytest.raises(ValueError, match=r"weight \(Q\) must be a positive number"):
        contrast(weight=weight)


def test_the_limit_form_has_no_weight() -> None:
    with pytest.raises(ValueError, match="limit form has no weight"):
        tammes.InfoNCE(weight=3.0, limit=True)


@pytest.mark.parametrize("margin", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("contrast", [tammes.Triplet, tammes.Hinge])
def test_margin_must_be_positive(contrast: type, margin: float) -> None:
    with pytest.raises(ValueError, match="margin must be a finite number above 0"):
        contrast(margin=margin)
