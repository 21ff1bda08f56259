"""Test errors by setting and seed, and their differences seed by seed."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from tammes.estimate import Estimate

Setting = TypeVar("Setting")
BySeed = Mapping[int, float]
"""Error of each seed."""


def by_seed(errors: Iterable[tuple[Setting, int, float]]) -> dict[Setting, dict[int, float]]:
    """Return errors by setting and seed.

    Args:
        errors: setting, seed and error of each training.

    Example:
        >>> by_seed([("a", 0, 0.5), ("b", 0, 0.4), ("a", 1, 0.6)])
        {'a': {0: 0.5, 1: 0.6}, 'b': {0: 0.4}}
    """
    found: dict[Setting, dict[int, float]] = {}
    for setting, seed, error in errors:
        found.setdefault(setting, {})[seed] = error
    return found


def below(worse: BySeed, better: BySeed) -> Estimate | None:
    """Return by how much errors are smaller, over the seeds that both have; None if they share none.

    Example:
        >>> print(below({0: 0.5, 1: 0.6}, {0: 0.4, 1: 0.5, 2: 0.1}))
        0.100 [0.100, 0.100]
    """
    gains = [error - better[seed] for seed, error in worse.items() if seed in better]
    return Estimate.over_seeds(gains) if gains else None


def without_learning(constant: BySeed, untrained: BySeed) -> dict[int, float]:
    """Return the smaller error of both controls, for the seeds that both have.

    Example:
        >>> without_learning({0: 0.5, 1: 0.5}, {0: 0.7, 1: 0.4, 2: 0.1})
        {0: 0.5, 1: 0.4}
    """
    return {seed: min(error, untrained[seed]) for seed, error in constant.items() if seed in untrained}
