"""One measure of a diagnosis: its value with an interval, what it could be, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from scipy.special import stdtrit
from torch import Tensor

GROUPS = 20
"""Groups of rows of which the jackknife leaves one out at a time."""

NEEDS = {
    "rows": "",
    "dimensions": "",
    "faults": "",
    "rankme": "",
    "effective_rank": "",
    "alpha_req": "",
    "stable_rank": "",
    "nesum": "",
    "isoscore": "",
    "dimensions_99": "",
    "mean_share": "",
    "dead_dimensions": "",
    "duplicated_dimensions": "",
    "uniformity": "",
    "alignment": "pairs",
    "lidar": "pairs",
    "intrinsic_dimension": "",
    "neighbor_recall": "",
    "hubness": "",
    "hubs": "",
    "orphans": "",
    "exact_duplicates": "",
    "near_duplicates": "",
    "leaked": "splits",
    "knn_accuracy": "labels",
    "probe_accuracy": "labels",
    "label_errors": "labels",
    "class_overlap": "labels",
    "classes_per_cluster": "labels",
    "collision_share": "labels or pairs",
    "hard_collision_share": "labels",
    "best_k": "labels",
    "neighbor_overlap": "a second embedding",
    "cka": "a second embedding",
    "procrustes": "a second embedding",
    "rsa": "a second embedding",
}
"""All measures, in the order of the summary, and what each needs beside the embeddings."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of a diagnosis.

    Args:
        value: the number; None if it was not measured.
        low: lower end of its 95 % interval; None if there is none.
        high: upper end.
        ceiling: largest possible value, or the smallest for measures that are better when smaller; None if
            there is no bound.
        null: value of a Gaussian with as many rows and dimensions; None if it does not apply.
        verdict: a sentence that begins with `fine:`, `note:` or `fault:`, or says why there is no value.

    Example:
        >>> Measure(value=3.0, verdict="fault: collapsed").is_fault
        True
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    ceiling: float | None = None
    null: float | None = None
    verdict: str = ""

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "ceiling", "null"):
            number = getattr(self, name)
            assert number is None or math.isfinite(number), f"{name} is {number}"

    @property
    def is_fault(self) -> bool:
        """Whether the verdict names a fault."""
        return self.verdict.startswith("fault:")


def jackknife(
    statistic: Callable[[list[int]], float | None], groups: int, value: float | None
) -> tuple[float | None, float | None]:
    """Return a 95 % interval by leaving out one of several groups of rows at a time.

        value  -+  t_{0.975, G - 1} sqrt( (G - 1) / G sum_g (theta_g - mean theta)^2 )

    A bootstrap would draw rows several times: copies lower the rank, are duplicates, and are each other's
    nearest neighbors. Rows left out do none of this.

    Args:
        statistic: function of the groups that stay; it may return None, and there is no interval then.
        groups: number G of groups.
        value: statistic of all rows.

    Source: Efron (1982); delete-a-group form.

    Example:
        >>> x = torch.arange(20.0)
        >>> low, high = jackknife(lambda kept: float(x[kept].mean()), 20, 9.5)
        >>> round(low, 2), round(high, 2)
        (6.73, 12.27)
    """
    if value is None or groups < 2:
        return None, None
    found = [statistic([g for g in range(groups) if g != without]) for without in range(groups)]
    thetas = [each for each in found if each is not None]
    if len(thetas) < groups:
        return None, None
    mean = sum(thetas) / groups
    error = math.sqrt((groups - 1) / groups * sum((each - mean) ** 2 for each in thetas))
    half = float(stdtrit(groups - 1, 0.975)) * error
    return value - half, value + half


def random_groups(n: int, groups: int) -> Int64[Tensor, " n"]:
    """Return the group of each of n rows, the same in every call: random ones of nearly equal size.

    In their order rows may be sorted by class. Every twentieth row then makes groups that are more alike than
    random ones, and intervals that are too short.

    Args:
        n: number of rows.
        groups: number of groups.

    Example:
        >>> random_groups(7, 3).bincount().tolist()
        [3, 2, 2]
    """
    return torch.randperm(n, generator=torch.Generator().manual_seed(0)) % groups


def row_jackknife(
    statistic: Callable[[Tensor], float | None], values: Tensor
) -> tuple[float | None, float | None, float | None]:
    """Return a statistic of rows with its interval by twenty random groups of rows.

    Args:
        statistic: function of some rows of `values`.
        values: a value or several for each row.

    Example:
        >>> row_jackknife(lambda rows: float(rows.mean()), torch.ones(40))
        (1.0, 1.0, 1.0)
    """
    value = statistic(values)
    groups = min(GROUPS, len(values))
    group = random_groups(len(values), groups)

    def of(kept: list[int]) -> float | None:
        (missing,) = set(range(groups)) - set(kept)
        return statistic(values[group != missing])

    return (value, *jackknife(of, groups, value))


def wilson(successes: int, trials: int) -> tuple[float, float, float]:
    """Return a share of successes with Wilson's 95 % interval.

    Args:
        successes: number of successes.
        trials: number of trials, at least 1.

    Source: Wilson (1927); the same as `Estimate.of_share`, without its packages.

    Example:
        >>> [round(each, 3) for each in wilson(342, 360)]
        [0.95, 0.922, 0.968]
    """
    z2 = 1.959963984540054**2
    p = successes / trials
    half = math.sqrt(z2 * (p * (1 - p) / trials + z2 / (4 * trials**2)))
    middle, whole = p + z2 / (2 * trials), 1 + z2 / trials
    low, high = (middle - half) / whole, (middle + half) / whole
    return p, min(p, max(0.0, low)), max(p, min(1.0, high))


def verdict_of(kind: str, words: str) -> str:
    """Return a verdict of its kind.

    Args:
        kind: `fine`, `note` or `fault`.
        words: sentence without a point at its end.

    Example:
        >>> verdict_of("fine", "all dimensions are in use")
        'fine: all dimensions are in use'
    """
    assert kind in ("fine", "note", "fault")
    return f"{kind}: {words}"
