"""Numbers with their nouns, for messages and captions."""


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Args:
        count: the number.
        singular: noun for one.
        plural: noun for several; None appends an s.

    Example:
        >>> counted(1, "edge"), counted(2000, "edge"), counted(0, "vertex", "vertices")
        ('1 edge', '2,000 edges', '0 vertices')
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
