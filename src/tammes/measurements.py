"""Named numbers of an objective's last call, computed when they are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from tammes.coupling import Fit
from tammes.reduce import Exponent, Positives, WeightedNegatives

Number = Callable[[], Tensor | float]


class Measurements(Mapping[str, float]):
    """A mapping from names to numbers, each computed when it is first read.

    Reading costs up to one pass over the similarities; not reading costs nothing but holding on to the
    embeddings of the last call.

    Example:
        >>> from tammes import recipes
        >>> objective = recipes.simclr(temperature=0.5)
        >>> _ = objective(torch.eye(4), torch.eye(4))
        >>> objective.last["negatives"]
        6.0
    """

    def __init__(self) -> None:
        self._call: Callable[[], Call] | None = None
        self._known: dict[str, float] = {}

    def record(self, call: Callable[[], Call]) -> None:
        """Forgets the numbers of the call before and takes those of this one, asked for when read."""
        self._call, self._known = call, {}

    def __reduce__(self) -> tuple[type[Measurements], tuple[()]]:
        """Copies and other processes start without numbers: these belong to a call, not to an objective."""
        return Measurements, ()

    def __getitem__(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = float(self._numbers()[name]())
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers())

    def __len__(self) -> int:
        return len(self._numbers())

    def __repr__(self) -> str:
        return f"Measurements({dict(self)})" if len(self) else "Measurements()"

    def _numbers(self) -> dict[str, Number]:
        if self._call is None:
            return {}
        call = self._call()
        self._call = lambda: call  # what it is made of may have cost a pass: once is enough
        return call.numbers()


class Call:
    """What an objective's numbers are made of; nothing in it holds on to the graph.

    - `loss`
    - `positive_similarity`, `negative_similarity`: means over all positive and all negative pairs
    - `weighted_negative_similarity`: the negatives under the coupling's weights
    - `negatives`: how many an anchor has, on average
    - `effective_negatives`: 1 / sum_j w_ij^2, averaged over anchors
    - `debias_floor_fraction`: the share of anchors whose correction stands on its floor
    - `sinkhorn_iterations`, `sinkhorn_error`: of a transport plan
    """

    def __init__(
        self,
        loss: Tensor,
        weighted: WeightedNegatives,
        positives: Positives,
        fit: Fit,
        on_floor: Tensor | None,
    ) -> None:
        self._loss, self._similarity = loss.detach(), positives.similarity.detach()
        self._weighted, self._fit, self._on_floor = weighted.detached(), fit, on_floor

    def numbers(self) -> dict[str, Number]:
        """By name, how to compute each."""
        counts = self._weighted.negatives.count
        numbers: dict[str, Number] = {
            "loss": lambda: self._loss,
            "positive_similarity": self._similarity.mean,
            "negative_similarity": lambda: self._over_pairs(Exponent()),
            "weighted_negative_similarity": lambda: self._over_pairs(self._weighted.weight),
            "negatives": lambda: counts.double().mean(),
            "effective_negatives": lambda: self._weighted.effective_count().mean(),
        }
        on_floor, iterations, error = self._on_floor, self._fit.iterations, self._fit.error
        if on_floor is not None:
            numbers["debias_floor_fraction"] = lambda: on_floor.double().mean()
        if iterations is not None and error is not None:
            numbers |= {"sinkhorn_iterations": lambda: iterations, "sinkhorn_error": lambda: error}
        return numbers

    def _over_pairs(self, weight: Exponent) -> Tensor:
        counts = self._weighted.negatives.count
        with torch.no_grad():
            means = dataclasses.replace(self._weighted, weight=weight).mean_similarity()
            return (means * counts).sum() / counts.sum()
