"""The best of several settings over a few seeds: which it is, where it may lie, how it changes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The best of several settings, and the range of those that it is not resolved from.

    Args:
        best: index of the setting with the largest mean over the seeds.
        first: first index whose paired difference from the best has an interval that is not above zero.
        last: last such index; with one seed, `first` and `last` are the ends of all that was measured.
    """

    best: int
    first: int
    last: int


def optimum(values: Float[np.ndarray, "seeds settings"]) -> Optimum:
    """Return the best setting, and the range of the settings that are not resolved from it.

    Args:
        values: accuracies, (seeds, settings); a setting with NaN for a seed is never best.

    Raises:
        ValueError: no setting has a value for every seed.

    Example:
        >>> optimum(np.array([[0.1, 0.5, 0.4], [0.1, 0.5, 0.6]]))
        Optimum(best=1, first=1, last=2)
    """
    places = _measured(values)
    best = int(places[values[:, places].mean(axis=0).argmax()])
    open_ones = [
        int(place)
        for place in places
        if not Estimate.of_difference(values[:, best].tolist(), values[:, place].tolist()).above_zero
    ]
    return Optimum(best=best, first=open_ones[0], last=open_ones[-1])


def best_by_others(values: Float[np.ndarray, "seeds settings"]) -> Int[np.ndarray, " seeds"]:
    """Return, for each seed, the index of the setting that is best for the other seeds.

    Chosen by that seed itself, the best would lie above the rest by chance alone. A single seed chooses for
    itself: it has no interval anyway.

    Args:
        values: accuracies, (seeds, settings); a setting with NaN for a seed is never best.

    Raises:
        ValueError: no setting has a value for every seed.

    Example:
        >>> best_by_others(np.array([[0.1, 0.5, 0.4], [0.1, 0.3, 0.4]])).tolist()
        [2, 1]
    """
    places = _measured(values)
    measured = values[:, places]
    others = [
        np.delete(measured, seed, axis=0) if len(measured) > 1 else measured for seed in range(len(measured))
    ]
    return places[[each.mean(axis=0).argmax() for each in others]]


def best_of_others(values: Float[np.ndarray, "seeds settings"]) -> Float[np.ndarray, " seeds"]:
    """Return the value of each seed at the setting that is best for the other seeds.

    Example:
        >>> best_of_others(np.array([[0.1, 0.5, 0.4], [0.1, 0.3, 0.4]])).tolist()
        [0.4, 0.3]
    """
    return values[np.arange(len(values)), best_by_others(values)]


def growth(
    at: Sequence[float], values: Sequence[Float[np.ndarray, "seeds settings"]], settings: Sequence[float]
) -> Estimate:
    """Return the slope of log(best setting) over log(at), one for each seed.

    Args:
        at: different positive numbers, at least two, at each of which there is a best setting.
        values: accuracies at each of them, (seeds, settings), of the same seeds.
        settings: positive numbers, the values of the settings.

    Raises:
        ValueError: no setting has a value for every seed.

    Example:
        >>> rising = [np.array([[0.5, 0.4], [0.6, 0.4]]), np.array([[0.4, 0.5], [0.3, 0.6]])]
        >>> growth([10, 100], rising, [1, 10]).values, growth([100, 10], rising, [1, 10]).values
        ((1.0, 1.0), (-1.0, -1.0))
    """
    x = np.log(np.asarray(at, dtype=float))
    x -= x.mean()
    best = []
    for each in values:
        places = _measured(each)
        best.append(places[each[:, places].argmax(axis=1)])
    y = np.log(np.asarray(settings, dtype=float))[np.stack(best)]  # (at, seeds)
    # x sums to zero only up to rounding: without y[0], the same best everywhere has a slope of exactly zero.
    return Estimate.over_seeds((x @ (y - y[0]) / (x @ x)).tolist())


def _measured(values: Float[np.ndarray, "seeds settings"]) -> Int[np.ndarray, " measured"]:
    """Return the indices of the settings that have a value for every seed."""
    places = np.flatnonzero(np.isfinite(values).all(axis=0))
    if not len(places):
        raise ValueError("expected a setting that was measured for every seed, got none")
    return places
