"""Which of several settings is best, and how sure a few seeds are of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from tammes.papers.statistics import Interval

DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The best of some settings in a row.

    Args:
        best: its place: that with the largest mean over the seeds.
        first: the first place that is best in the middle 95 % of the resamples.
        last: the last place likewise; the settings between need not all be.
        share: the share of the resamples in which `best` is best.
    """

    best: int
    first: int
    last: int
    share: float


def optimum(values: Float[np.ndarray, "seeds settings"]) -> Optimum:
    """The best setting, and a bootstrap over the seeds: how far it might lie from there by chance.

    Seeds are drawn with replacement, all settings of a seed together: what they share (first weights, the
    order of the data) cancels out of the comparison. With two or three seeds there are few different
    resamples, and what is the same for all seeds, as a split of the data, is not resampled.

    Args:
        values: (seeds, settings), larger is better; a setting with NaN for a seed is not considered.

    Raises:
        ValueError: where no setting has a value for every seed.

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
    """The best place in each of 2,000 resamples of the seeds.

    Args:
        values: as for `optimum`.
        seed: of the resamples; different ones are independent.

    Raises:
        ValueError: As `optimum` does.

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
    """How sure it is that the best setting grows: the share of the resamples in which it does.

        slope of log(best setting) over log(at)  >  0

    Args:
        at: positive numbers, over which the best setting is looked at, at least two.
        values: for each of them (seeds, settings), resampled independently.
        settings: the positive numbers that the places stand for.

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
    """From the first setting to the best, and from the best to the last.

    What is best for a seed is chosen by the other seeds: chosen by itself, the best would be above the last
    by chance alone. With one seed there is nothing to compare.

    Args:
        values: as for `optimum`.

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
    """Settings that were not measured for every seed are never best."""
    return np.where(np.isfinite(values).all(axis=0), values, -np.inf)
