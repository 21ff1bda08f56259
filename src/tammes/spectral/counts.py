"""What counts as a number of things where a part is made."""

from __future__ import annotations


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Raises ValueError where `value` is not an integer of at least `least`.

    Args:
        name: what the value is called, for the message.
        value: what came.
        least: the smallest allowed.

    Example:
        >>> check_count("layers", 0)
        Traceback (most recent call last):
            ...
        ValueError: layers must be an integer of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
