"""What counts as a number of things where a function of numbers is called."""

from tammes.finite import is_whole


def expect_whole(name: str, value: int, *, least: int = 1) -> None:
    """Refuse what is no whole number, or too small a one.

    Args:
        name: of the argument, for the message.
        value: what came.
        least: the smallest number that makes sense.

    Raises:
        ValueError: For a fraction, a truth value or a number below `least`.

    Example:
        >>> expect_whole("k", 0)
        Traceback (most recent call last):
            ...
        ValueError: k must be a whole number of at least 1, got 0
    """
    if not is_whole(value, least=least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
