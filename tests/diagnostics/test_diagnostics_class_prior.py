"""Class priors from positives and unlabeled data: on mixtures with known shares, and on digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from tammes.diagnostics import alpha_max, class_prior_alpha_max, class_prior_pen_l1
from tammes.diagnostics.class_prior import GRID, _likelihood

METHODS = pytest.mark.parametrize("method", [class_prior_pen_l1, class_prior_alpha_max])


def mixture(share: float, *, apart: float = 3.0, seed: int = 0) -> tuple[Tensor, Tensor]:
    """400 positives, and 1,500 examples of which a share are of the same class."""
    generator = torch.Generator().manual_seed(seed)
    positives = torch.randn(400, 2, generator=generator) + apart
    unlabeled = torch.randn(1500, 2, generator=generator)
    unlabeled[: round(1500 * share)] += apart
    return positives, unlabeled


@METHODS
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_the_share_of_a_separate_class_is_found(method, share: float) -> None:  # type: ignore[no-untyped-def]
    found = method(*mixture(share), generator=torch.Generator().manual_seed(1))
    assert found == pytest.approx(share, abs=0.12 * share + 0.04)


@METHODS
def test_classes_that_overlap_give_an_upper_bound(method) -> None:  # type: ignore[no-untyped-def]
    """The share cannot be told from any up to the smallest ratio of densities, which is above it."""
    found = method(*mixture(0.1, apart=0.5), generator=torch.Generator().manual_seed(1))
    assert found > 0.15


def test_digits_are_a_tenth_each() -> None:
    """Sixty positives of each class: AlphaMax comes within a fifth of the mean share, penL1 does not."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    rows, of = torch.from_numpy(images / 16), torch.from_numpy(labels)
    generator = torch.Generator().manual_seed(0)
    found, other, true = [], [], []
    for c in range(3):
        own = (of == c).nonzero()[:, 0]
        chosen = own[torch.randperm(len(own), generator=generator)[:60]]
        rest = torch.ones(len(rows), dtype=torch.bool)
        rest[chosen] = False
        found.append(class_prior_alpha_max(rows[chosen], rows[rest], generator=generator))
        other.append(class_prior_pen_l1(rows[chosen], rows[rest], generator=generator))
        true.append(float((of[rest] == c).float().mean()))
    assert np.mean(found) == pytest.approx(np.mean(true), rel=0.2)
    assert np.mean(other) > 1.2 * np.mean(true)


def test_the_likelihood_is_flat_up_to_the_share_and_falls_beyond() -> None:
    """Three bins; the class is nowhere above 0.3 of the data, in proportion."""
    m, n = np.array([0.0, 50, 50]), np.array([700.0, 150, 150])
    likelihood = _likelihood(m, n)
    exact = (m[1:] * np.log(0.5)).sum() + (n * np.log(n / n.sum())).sum()
    flat = GRID < 0.3
    np.testing.assert_allclose(likelihood[flat], exact, atol=1e-6)
    beyond = likelihood[GRID > 0.305]
    assert (np.diff(beyond) < 0).all()
    assert beyond[-1] < exact - 50


def test_more_tolerance_allows_more() -> None:
    positives, unlabeled = mixture(0.3)
    scores = positives.sum(dim=1), unlabeled.sum(dim=1)
    estimates = [alpha_max(*scores, tolerance=tolerance) for tolerance in (0.1, 2, 20)]
    assert estimates == sorted(estimates)
    assert estimates[0] < estimates[-1]


def test_the_order_of_rows_does_not_matter() -> None:
    """Data sorted by class do not spoil the folds."""
    positives, unlabeled = mixture(0.3)
    for seed in (0, 1):
        shuffled = unlabeled[torch.randperm(len(unlabeled), generator=torch.Generator().manual_seed(seed))]
        found = class_prior_alpha_max(positives, shuffled, generator=torch.Generator().manual_seed(seed))
        assert found == pytest.approx(0.3, abs=0.1)


@pytest.mark.parametrize("place", [0.0, 0.3])
def test_repeated_rows_leave_the_kernels_a_width(place: float) -> None:
    """Most unlabeled rows are equal, as binary features often are: the median distance is 0."""
    positives, unlabeled = mixture(0.3)
    most = unlabeled.repeat(1, 9)[:1000]
    most[150:] = place
    found = class_prior_pen_l1(positives.repeat(1, 9), most, generator=torch.Generator().manual_seed(1))
    assert found == pytest.approx(0.15, abs=0.03)
    with pytest.raises(ValueError, match="expected unlabeled features that differ"):
        class_prior_pen_l1(positives, torch.full((100, 2), place), generator=torch.Generator())


@METHODS
def test_wrong_features_are_refused(method) -> None:  # type: ignore[no-untyped-def]
    good, generator = torch.randn(10, 2), torch.Generator()
    with pytest.raises(ValueError, match="unlabeled, of the dimension of positives"):
        method(good, torch.randn(10, 3), generator=generator)
    with pytest.raises(ValueError, match="at least 5 positives"):
        method(good[:4], good, generator=generator)
    with pytest.raises(ValueError, match="at least 5 unlabeled"):
        method(good, good[:4], generator=generator)
    with pytest.raises(ValueError, match="finite features of unlabeled"):
        method(good, torch.full((10, 2), math.nan), generator=generator)


def test_wrong_scores_are_refused() -> None:
    good = torch.randn(10)
    for bad in (torch.empty(0), torch.full((3,), math.inf), torch.ones(2, 2)):
        with pytest.raises(ValueError, match="expected finite scores of unlabeled"):
            alpha_max(good, bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bins must be an integer of at least 2"):
        alpha_max(good, good, bins=1)
    with pytest.raises(ValueError, match="tolerance must be a finite number above 0"):
        alpha_max(good, good, tolerance=0)
