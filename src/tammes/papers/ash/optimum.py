"""The best of several settings, and its uncertainty over a few seeds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.papers.statistics import Interval

DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The best of several settings.

    Args:
        best: index of the setting with the largest mean over the seeds.
        first: first index that is best in the middle 95 % of the resamples.
        last: last index that is best in them; the settings between need not all be.
        share: fraction of the resamples in which `best` is best.
    """

    best: int
    first: int
    last: int
    share: float


def optimum(values: Float[np.ndarray, "seeds settings"]) -> Optimum:
    """Return the best setting, and its range in a bootstrap over the seeds.

    Seeds are drawn with replacement, all settings of a seed together, so that the variation that they share
    (first weights, the order of the data) cancels out of the comparison. With two or three seeds there are
    few different resamples, and a split of the data that all seeds share is not resampled.

    Args:
        values: accuracies, (seeds, settings); a setting with NaN for a seed is never best.

    Raises:
        ValueError: no setting has a value for every seed.

    Example:
        >>> optimum(np.array([[0.1, 0.5, 0.4], [0.1, 0.4, 0.6]]))
        Optimum(best=2, first=1, last=2, share=0.7655)
    """
    places = np.sort(resampled_best(values))
    best = int(_comparable(values).mean(axis=0).argmax())
    outside = int(0.025 * DRAWS)
    return Optimum(
        best=best,
        first=int(places[outside]),
        last=int(places[-1 - outside]),
        share=float((places == best).mean()),
    )


def resampled_best(
    values: Float[np.ndarray, "seeds settings"], *, seed: int = 0
) -> Int[np.ndarray, " draws"]:
    """Return the index of the best setting in each of 2,000 resamples of the seeds.

    Args:
        values: accuracies, (seeds, settings).
        seed: random seed of the resamples.

    Raises:
        ValueError: no setting has a value for every seed.

    Example:
        >>> resampled_best(np.array([[0.1, 0.5, 0.4]])).tolist() == [1] * DRAWS
        True
    """
    values = _comparable(values)
    if not np.isfinite(values).any():
        raise ValueError("expected a setting that was measured for every seed, got none")
    seeds = len(values)
    drawn = np.random.default_rng(seed).integers(seeds, size=(DRAWS, seeds))
    return values[drawn].mean(axis=1).argmax(axis=1)


def growth(
    at: Sequence[float], values: Sequence[Float[np.ndarray, "seeds settings"]], settings: Sequence[float]
) -> float:
    """Return the fraction of the resamples in which the best setting grows.

        slope of log(best setting) over log(at)  >  0

    Args:
        at: positive numbers, at least two, at each of which there is a best setting.
        values: accuracies at each of them, (seeds, settings), resampled independently.
        settings: positive numbers, the values of the settings.

    Example:
        >>> rising = [np.array([[0.5, 0.4]]), np.array([[0.4, 0.5]])]
        >>> growth([10, 100], rising, [1, 2]), growth([100, 10], rising, [1, 2])
        (1.0, 0.0)
    """
    x = np.log(np.asarray(at, dtype=float))
    best = [resampled_best(each, seed=number) for number, each in enumerate(values)]
    y = np.log(np.asarray(settings, dtype=float))[np.stack(best)]  # (at, draws)
    return float(((x - x.mean()) @ y > 1e-9).mean())


def rise_and_fall(values: Float[np.ndarray, "seeds settings"]) -> tuple[Interval, Interval]:
    """Return the changes from the first setting to the best, and from the best to the last.

    The best setting of a seed is chosen by the other seeds: chosen by that seed, the best would be above the
    last by chance alone. With one seed there is nothing to compare.

    Args:
        values: accuracies, (seeds, settings).

    Example:
        >>> rise, fall = rise_and_fall(np.array([[0.1, 0.5, 0.4], [0.1, 0.4, 0.3]]))
        >>> rise.change, fall.change
        ('+35.0 ± 7.1 points', '−10.0 ± 0.0 points')
    """
    values = _comparable(values)
    measured = np.flatnonzero(np.isfinite(values[0]))
    if len(values) < 2 or len(measured) < 2:
        return Interval(()), Interval(())
    best = [int(np.delete(values, seed, axis=0).mean(axis=0).argmax()) for seed in range(len(values))]
    chosen = values[range(len(values)), best]
    return (
        Interval.of((chosen - values[:, measured[0]]).tolist()),
        Interval.of((values[:, measured[-1]] - chosen).tolist()),
    )


def _comparable(values: np.ndarray) -> np.ndarray:
    """Return the values with -inf for settings that some seed lacks, so that they are never best."""
    return np.where(np.isfinite(values).all(axis=0), values, -np.inf)
