"""Named numbers of an objective's last call, computed when they are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tammes.batch import Samples
from tammes.coupling import Fit
from tammes.deferred import DeferredCheck
from tammes.reduce import Exponent, WeightedNegatives, WeightedPositives
from tammes.reduce.autograd import without_autocast
from tammes.temperature import LogitScale

Number = Callable[[], Tensor | float]


class Measurements(Mapping[str, float]):
    """A mapping from names to numbers, each computed when it is first read.

    Reading costs up to one pass over the similarities; until then only the embeddings of the last call are
    kept.

    Example:
        >>> from tammes import recipes
        >>> objective = recipes.simclr(temperature=0.5)
        >>> _ = objective(torch.eye(4), torch.eye(4))
        >>> objective.last["negatives"]
        6.0
    """

    def __init__(self) -> None:
        self._calls: tuple[Call, ...] = ()
        self._known: dict[str, float] = {}
        self._checks: tuple[DeferredCheck, ...] = ()

    def record(self, *calls: Call) -> None:
        """Replace the numbers of the previous call by those of this one.

        Args:
            calls: one call, or one for each direction of two towers, of which the means are kept.
        """
        self._calls, self._known = calls, {}
        self._checks = sum((call.checks for call in calls[1:]), calls[0].checks)

    def check(self) -> None:
        """Raise the error of a check of the last call that a GPU had not finished when the call ended.

        Raises:
            ValueError: as the call would have raised it on a CPU.
        """
        checks, self._checks = self._checks, ()
        for check in checks:
            check.raise_if_failed()

    def __reduce__(self) -> tuple[type[Measurements], tuple[()]]:
        """Leave the numbers out of copies: they belong to a call, not to an objective."""
        return Measurements, ()

    def __getitem__(self, name: str) -> float:
        self.check()
        if name not in self._known:
            values = [float(number()) for number in self._numbers[name]]
            self._known[name] = sum(values) / len(values)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        return f"Measurements({dict(self)})" if len(self) else "Measurements()"

    @property
    def _numbers(self) -> dict[str, tuple[Number, ...]]:
        each = [call.numbers() for call in self._calls]
        return {name: tuple(numbers[name] for numbers in each) for name in (each[0] if each else ())}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of an objective; it holds no graph.

    Args:
        loss: the loss, detached.
        make_samples: returns the negatives and the positives, detached.
        fit: the fitted coupling.
        scale: the temperature, without a graph.
        on_floor: returns `(n,)` where the correction is on its floor, given the samples and the scale; None
            without a correction.
        overtaken: returns `(e,)` where a perturbed positive lies below all perturbed negatives of its anchor,
            given the samples; None without a perturbation.
        skipped: number of anchors left out; None where an anchor without a positive is an error.
        checks: checks that the host has yet to read.
    """

    loss: Tensor
    make_samples: Callable[[], Samples]
    fit: Fit
    scale: LogitScale
    on_floor: Callable[[WeightedNegatives, WeightedPositives, LogitScale], Tensor] | None
    overtaken: Callable[[WeightedNegatives, WeightedPositives], Tensor] | None = None
    skipped: int | None = None
    checks: tuple[DeferredCheck, ...] = ()

    def numbers(self) -> dict[str, Number]:
        """Return a function for each number, by name.

        - `loss`
        - `positive_similarity`, `negative_similarity`: means over all positive and all negative pairs
        - `weighted_negative_similarity`: the same under the coupling's weights
        - `negatives`: number of negatives of an anchor, on average
        - `effective_negatives`: 1 / sum_j w_ij^2, averaged over anchors
        - `debias_floor_fraction`: share of anchors whose correction is on its floor
        - `overtaken_positives`: share of positives moved below all moved negatives of their anchor
        - `skipped_anchors`: number of anchors without a positive, which were left out
        - `sinkhorn_iterations`, `sinkhorn_error`: of a transport plan
        """
        negatives, positives = self._samples
        iterations, error = self.fit.iterations, self.fit.error
        numbers: dict[str, Number] = {
            "loss": lambda: self.loss,
            "positive_similarity": lambda: self._similarities(positives).mean(),
            "negative_similarity": lambda: self._over_pairs(Exponent()),
            "weighted_negative_similarity": lambda: self._over_pairs(self.fit.weight),
            "negatives": lambda: negatives.negatives.count.double().mean(),
            "effective_negatives": lambda: negatives.effective_count().mean(),
        }
        if self.on_floor is not None:
            numbers["debias_floor_fraction"] = self._floor_fraction
        if self.overtaken is not None:
            numbers["overtaken_positives"] = self._overtaken_share
        if (skipped := self.skipped) is not None:
            numbers["skipped_anchors"] = lambda: float(skipped)
        if iterations is not None and error is not None:
            numbers |= {"sinkhorn_iterations": lambda: iterations, "sinkhorn_error": lambda: error}
        return numbers

    def _floor_fraction(self) -> Tensor:
        with torch.no_grad(), without_autocast(self.loss.device):
            assert self.on_floor is not None
            return self.on_floor(*self._samples, self.scale).double().mean()

    def _overtaken_share(self) -> Tensor:
        with torch.no_grad(), without_autocast(self.loss.device):
            assert self.overtaken is not None
            return self.overtaken(*self._samples).double().mean()

    def _similarities(self, positives: WeightedPositives) -> Tensor:
        """Return `(e,)` the similarity of each positive pair."""
        one = self.scale.one
        return positives.similarity if one is None else positives.similarity / positives.of_anchor(one)

    @cached_property
    def _samples(self) -> Samples:
        return self.make_samples()

    def _over_pairs(self, weight: Exponent) -> Tensor:
        negatives, _ = self._samples
        counts = negatives.negatives.count
        with torch.no_grad():
            means = dataclasses.replace(negatives, weight=weight).mean_similarity()
            if self.scale.one is not None:
                means = means / self.scale.one
            return (means * counts).sum() / counts.sum()
