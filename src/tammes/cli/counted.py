"""Counts as they stand in a sentence."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """So many of something.

    Args:
        count: how many.
        one: what one of them is called.
        many: what several are called; left out, with an s.

    >>> counted(1, "edge"), counted(2000, "edge"), counted(0, "vertex", "vertices")
    ('1 edge', '2,000 edges', '0 vertices')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
