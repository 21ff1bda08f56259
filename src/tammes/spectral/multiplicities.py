"""Which network sees which eigenspaces: one for each multiplicity, or one that is told it."""

from __future__ import annotations

from tammes.checks import check_integer
from tammes.spectral.bases import Bases


def check_multiplicities(known: tuple[int, ...] | None) -> None:
    """Refuses what is no list of multiplicities that networks are made for.

    Raises:
        ValueError: for none, for one twice, and for what is no integer of at least 1.

    Example:
        >>> check_multiplicities((1, 1))
        Traceback (most recent call last):
            ...
        ValueError: multiplicities must be a tuple of different integers, at least one, got (1, 1)
    """
    if known is None:
        return
    if not isinstance(known, tuple) or not known or len(set(known)) < len(known):
        raise ValueError(f"multiplicities must be a tuple of different integers, at least one, got {known!r}")
    for each in known:
        check_integer("each of multiplicities", each)


def shares(bases: Bases, known: tuple[int, ...] | None) -> list[list[int]]:
    """The eigenspaces that each network sees.

    Args:
        bases: of a batch.
        known: the multiplicities that there are networks for; None for one network.

    Raises:
        ValueError: for an eigenspace of another multiplicity.
    """
    if known is None:
        return [list(range(len(bases.spaces)))]
    found: dict[int, list[int]] = {multiplicity: [] for multiplicity in known}
    for member, basis in enumerate(bases.spaces):
        if basis.dimension not in found:
            raise ValueError(
                f"an eigenspace of graph {basis.graph} has multiplicity {basis.dimension}, and there are "
                f"networks for {known} alone: name it in multiplicities, or leave these out for one network "
                "that is told the multiplicity"
            )
        found[basis.dimension].append(member)
    return list(found.values())
