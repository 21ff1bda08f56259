"""How the concentration of hard negatives changes over the epochs of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Falling:
    """Beta falls from its value towards 0, by beta / l once every e / l of the e epochs.

    With t epochs finished, beta (1 - floor(t l / e) / l) : hard negatives early on, for informative
    gradients, and fewer of them later, when many of the hardest are false. The change that would reach 0
    falls on the end of the run.

    Args:
        changes: l, from 1 to the number of epochs.

    Raises:
        ValueError: for a number of changes that is no integer of at least 1.

    Source: Robinson (2023), appendix A.4.1.

    Example:
        >>> [Falling(changes=2).beta(1.0, epoch=epoch, epochs=4) for epoch in range(4)]
        [1.0, 1.0, 0.5, 0.5]
    """

    changes: int

    def __post_init__(self) -> None:
        _check_changes(self.changes)

    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        """The concentration after so many finished epochs, from the one that is annealed."""
        return beta * (1 - _done(self.changes, epoch, epochs) / self.changes)


@dataclass(frozen=True, kw_only=True)
class Rising:
    """Beta rises from 0 towards its value, by beta / l once every e / l of the e epochs.

    With t epochs finished, beta floor(t l / e) / l ; the change that would reach beta falls on the end of
    the run.

    Args:
        changes: l, from 1 to the number of epochs.

    Raises:
        ValueError: for a number of changes that is no integer of at least 1.

    Source: Robinson (2023), appendix A.4.1, "in the opposite direction".

    Example:
        >>> [Rising(changes=2).beta(1.0, epoch=epoch, epochs=4) for epoch in range(4)]
        [0.0, 0.0, 0.5, 0.5]
    """

    changes: int

    def __post_init__(self) -> None:
        _check_changes(self.changes)

    def beta(self, beta: float, *, epoch: int, epochs: int) -> float:
        """The concentration after so many finished epochs, from the one that is annealed."""
        return beta * (_done(self.changes, epoch, epochs) / self.changes)


def _done(changes: int, epoch: int, epochs: int) -> int:
    """How many changes have been made: change i after i e / l epochs, the last at the end."""
    return min(epoch, epochs) * changes // epochs


def _check_changes(changes: int) -> None:
    if not isinstance(changes, int) or isinstance(changes, bool) or changes < 1:
        raise ValueError(f"changes must be an integer of at least 1, got {changes!r}")
