"""Numbers and names as they stand in a sentence."""

from collections.abc import Sequence


def percent(fraction: float) -> str:
    r"""A fraction in per cent with one decimal, not to be broken across lines.

    >>> percent(0.9715)
    '97.2\xa0%'
    """
    return f"{100 * fraction:.1f}\N{NO-BREAK SPACE}%"


def listed(names: Sequence[str]) -> str:
    """Names in a row.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}"
