"""What counts as a dimension or a number of things in the laboratory."""


def expect_whole(name: str, value: object, *, least: int) -> int:
    """The value, or a refusal of what is no whole number or too small a one.

    Raises:
        ValueError: a fraction, a truth value, a number below `least`.

    Example:
        >>> expect_whole("classes", 3, least=1)
        3
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return value


def expect_dimension(name: str, value: object) -> int:
    """The value, or a refusal of what is no dimension that a sphere can lie in.

    Raises:
        ValueError: less than 2 dimensions, or no whole number.

    Example:
        >>> expect_dimension("d", 1)
        Traceback (most recent call last):
            ...
        ValueError: d must be a whole number of at least 2, got 1: in one dimension a sphere is two points
    """
    try:
        return expect_whole(name, value, least=2)
    except ValueError as error:
        raise ValueError(f"{error}: in one dimension a sphere is two points") from None
