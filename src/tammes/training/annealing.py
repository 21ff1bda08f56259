"""Annealing over the epochs of a run: of the concentration beta of hard negatives, or of the temperature."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.coupling import Hard
from tammes.objective import Objective


class BetaAnnealing(ABC):
    """Schedule of the beta of hard negatives, which changes several times in a run."""

    changes: int

    def __post_init__(self) -> None:
        check_integer("changes", self.changes)

    @abstractmethod
    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        """Return the beta after `epoch` finished epochs, given the beta that is annealed."""

    def check(self, objective: Objective, *, epochs: int) -> None:
        """Raise ValueError for an objective without a beta, or for more changes than epochs."""
        if not isinstance(objective.coupling, Hard):
            raise ValueError(
                f"annealing changes the beta of Hard, but the coupling is {objective.coupling!r}: "
                "leave annealing out, or weight the negatives by Hard(beta=...)"
            )
        if self.changes > epochs:
            raise ValueError(
                f"beta changes at most once an epoch: got {self.changes} changes in {epochs} epochs"
            )

    def at(self, objective: Objective, *, epoch: int, epochs: int) -> Objective:
        """Return the objective after `epoch` finished epochs."""
        coupling = objective.coupling
        assert isinstance(coupling, Hard)
        beta = self.beta(coupling.beta, epoch=epoch, epochs=epochs)
        return replace(objective, coupling=replace(coupling, beta=beta))


@dataclass(frozen=True, kw_only=True)
class Falling(BetaAnnealing):
    """Schedule in which beta falls from its value towards 0, by beta / l once every e / l of the e epochs.

    With t epochs finished it is beta (1 - floor(t l / e) / l) : hard negatives early on, for informative
    gradients, and less hard ones later, when many of the hardest are false. The change that would reach 0
    falls on the end of the run.

    Args:
        changes: Number l of changes, from 1 to the number of epochs.

    Raises:
        ValueError: unless the number of changes is an integer of at least 1.

    Source: Robinson (2023), appendix A.4.1.

    Example:
        >>> [Falling(changes=2).beta(1.0, epoch=epoch, epochs=4) for epoch in range(4)]
        [1.0, 1.0, 0.5, 0.5]
    """

    changes: int

    @override
    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        return beta * (1 - _changes_until(epoch, epochs, self.changes) / self.changes)


@dataclass(frozen=True, kw_only=True)
class Rising(BetaAnnealing):
    """Schedule in which beta rises from 0 towards its value, by beta / l once every e / l of the e epochs.

    With t epochs finished it is beta floor(t l / e) / l ; the change that would reach beta falls on the end
    of the run.

    Args:
        changes: Number l of changes, from 1 to the number of epochs.

    Raises:
        ValueError: unless the number of changes is an integer of at least 1.

    Source: Robinson (2023), appendix A.4.1, "in the opposite direction".

    Example:
        >>> [Rising(changes=2).beta(1.0, epoch=epoch, epochs=4) for epoch in range(4)]
        [0.0, 0.0, 0.5, 0.5]
    """

    changes: int

    @override
    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        return beta * (_changes_until(epoch, epochs, self.changes) / self.changes)


@dataclass(frozen=True, kw_only=True)
class Oscillating:
    """Schedule in which the temperature swings between two values, high first.

        temperature(t) = low + (high - low) (1 + cos(2 pi t / period)) / 2 ,    t epochs finished

    Low temperatures spread all rows apart; high ones leave groups of similar rows together, which helps the
    rare classes of unbalanced data. The objective's own temperature is not used.

    Args:
        low: Lowest temperature.
        high: Highest temperature.
        period: Epochs from one highest temperature to the next.

    Raises:
        ValueError: unless 0 < low <= high and the period is an integer of at least 1.

    Source: Kukleva et al. (2023).

    Example:
        >>> schedule = Oscillating(low=0.1, high=1.0, period=4)
        >>> [round(schedule.temperature(epoch), 2) for epoch in range(5)]
        [1.0, 0.55, 0.1, 0.55, 1.0]
    """

    low: float
    high: float
    period: int

    def __post_init__(self) -> None:
        check_number("low", self.low, above=0)
        check_number("high", self.high, minimum=self.low)
        check_integer("period", self.period)

    def temperature(self, epoch: int) -> float:
        """Return the temperature after `epoch` finished epochs."""
        return self.low + (self.high - self.low) * (1 + math.cos(2 * math.pi * epoch / self.period)) / 2

    def check(self, objective: Objective, *, epochs: int) -> None:
        """Accept every objective, since each has a temperature."""

    def at(self, objective: Objective, *, epoch: int, epochs: int) -> Objective:
        """Return the objective after `epoch` finished epochs."""
        return replace(objective, temperature=self.temperature(epoch))


def _changes_until(epoch: int, epochs: int, changes: int) -> int:
    """Return the number of changes until an epoch: change i comes after i e / l epochs."""
    return min(epoch, epochs) * changes // epochs
