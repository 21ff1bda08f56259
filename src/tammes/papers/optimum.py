"""Which of several settings is best, and how sure a few seeds are of it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

DRAWS = 2000


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The best of some settings in a row.

    Args:
        best: its place: that with the largest mean over the seeds.
        first: the first place that is best in 95 % of the resamples.
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
    order of the data) cancels out of the comparison. The split into sentences to learn from and to be tried
    on is the same for all seeds, so its part of the chance is not seen; and with two or three seeds there
    are few different resamples.

    Args:
        values: (seeds, settings), larger is better; a setting with NaN for a seed is not considered.

    Raises:
        ValueError: where no setting has a value for every seed.

    Example:
        >>> optimum(np.array([[0.1, 0.5, 0.4], [0.1, 0.4, 0.6]]))
        Optimum(best=2, first=1, last=2, share=0.7655)
    """
    usable = np.isfinite(values).all(axis=0)
    if not usable.any():
        raise ValueError("expected a setting that was measured for every seed, got none")
    seeds = len(values)
    drawn = np.random.default_rng(0).integers(seeds, size=(DRAWS, seeds))
    # How often each seed is in each resample: (draws, seeds).
    counts = np.stack([(drawn == seed).sum(axis=1) for seed in range(seeds)], axis=1)
    filled = np.where(usable, values, -np.inf)
    means = np.where(usable, counts @ np.where(usable, values, 0.0), -np.inf)
    places = np.sort(means.argmax(axis=1))
    best = int(filled.mean(axis=0).argmax())
    outside = int(0.025 * DRAWS)
    return Optimum(
        best=best,
        first=int(places[outside]),
        last=int(places[-1 - outside]),
        share=float((places == best).mean()),
    )
