"""What counts as a number of things where a part is made, and which numbers divide others."""

from __future__ import annotations

from tammes.finite import is_whole


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
    if not is_whole(value, least=least):
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def check_multiple(name: str, value: int, of: str, parts: int) -> None:
    """Raises ValueError where `value` cannot be dealt to `parts` equally.

    Args:
        name: what the value is called, for the message.
        value: what came.
        of: what the parts are called.
        parts: how many there are.

    Example:
        >>> check_multiple("width", 6, "heads", 4)
        Traceback (most recent call last):
            ...
        ValueError: expected a width that is a multiple of the heads, got 6 and 4
    """
    if value % parts:
        raise ValueError(f"expected a {name} that is a multiple of the {of}, got {value} and {parts}")
