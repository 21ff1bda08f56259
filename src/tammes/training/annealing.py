"""Annealing of the concentration beta of hard negatives over the epochs of a run."""

from dataclasses import dataclass

from tammes.checks import check_integer


@dataclass(frozen=True, kw_only=True)
class Falling:
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

    def __post_init__(self) -> None:
        check_integer("changes", self.changes)

    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        """Return the beta after `epoch` finished epochs, given the beta that is annealed."""
        return beta * (1 - _changes_until(epoch, epochs, self.changes) / self.changes)


@dataclass(frozen=True, kw_only=True)
class Rising:
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

    def __post_init__(self) -> None:
        check_integer("changes", self.changes)

    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        """Return the beta after `epoch` finished epochs, given the beta that is annealed."""
        return beta * (_changes_until(epoch, epochs, self.changes) / self.changes)


def _changes_until(epoch: int, epochs: int, changes: int) -> int:
    """Return the number of changes until an epoch: change i comes after i e / l epochs."""
    return min(epoch, epochs) * changes // epochs
