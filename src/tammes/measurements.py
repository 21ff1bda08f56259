"""Named numbers of an objective's last call, computed when they are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from tammes.coupling import Fit
from tammes.reduce import Exponent, Positives, WeightedNegatives


class Measurements(Mapping[str, float]):
    """A mapping from names to numbers, each computed when it is first read.

    Reading costs up to one pass over the similarities; not reading costs nothing but holding on to the
    embeddings of the last call.

    Example:
        >>> measurements = Measurements()
        >>> measurements.record({"two": lambda: 1 + 1})
        >>> dict(measurements)
        {'two': 2.0}
    """

    def __init__(self) -> None:
        self._open: dict[str, Callable[[], Tensor | float]] = {}
        self._known: dict[str, float] = {}

    def record(self, numbers: Mapping[str, Callable[[], Tensor | float]]) -> None:
        """Forgets the numbers of the call before and takes those of this one."""
        self._open, self._known = dict(numbers), {}

    def __reduce__(self) -> tuple[type[Measurements], tuple[()]]:
        """Copies and other processes start without numbers: these belong to a call, not to an objective."""
        return Measurements, ()

    def __getitem__(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = float(self._open[name]())
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)

    def __repr__(self) -> str:
        return f"Measurements({dict(self)})" if self._open else "Measurements()"


def numbers_of_call(
    loss: Tensor,
    weighted: WeightedNegatives,
    positives: Positives,
    fit: Fit,
    on_floor: Tensor | None,
) -> dict[str, Callable[[], Tensor | float]]:
    """What an objective tells of a call; nothing in it holds on to the graph.

    - `loss`
    - `positive_similarity`, `negative_similarity`: means over all positive and all negative pairs
    - `weighted_negative_similarity`: the negatives under the coupling's weights
    - `negatives`: how many an anchor has, on average
    - `effective_negatives`: 1 / sum_j w_ij^2, averaged over anchors
    - `debias_floor_fraction`: the share of anchors whose correction stands on its floor
    - `sinkhorn_iterations`, `sinkhorn_error`: of a transport plan
    """
    weighted = dataclasses.replace(weighted, negatives=weighted.negatives.detached)
    loss, similarity, counts = loss.detach(), positives.similarity.detach(), weighted.negatives.count

    def over_pairs(sample: WeightedNegatives) -> Tensor:
        with torch.no_grad():
            return (sample.mean_similarity() * counts).sum() / counts.sum()

    numbers: dict[str, Callable[[], Tensor | float]] = {
        "loss": lambda: float(loss),
        "positive_similarity": similarity.mean,
        "negative_similarity": lambda: over_pairs(dataclasses.replace(weighted, weight=Exponent())),
        "weighted_negative_similarity": lambda: over_pairs(weighted),
        "negatives": lambda: counts.double().mean(),
        "effective_negatives": lambda: weighted.effective_count().mean(),
    }
    if on_floor is not None:
        floored = on_floor
        numbers["debias_floor_fraction"] = lambda: floored.double().mean()
    if fit.iterations is not None and fit.error is not None:
        iterations, error = fit.iterations, fit.error
        numbers |= {"sinkhorn_iterations": lambda: iterations, "sinkhorn_error": lambda: error}
    return numbers
