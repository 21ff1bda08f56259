"""Which network sees which eigenspaces: one for each multiplicity, or one that is told it."""

from __future__ import annotations

from collections.abc import Sequence

from tammes.spectral.bases import Bases
from tammes.spectral.counts import check_count


def checked(known: Sequence[int] | None) -> tuple[int, ...] | None:
    """The multiplicities that networks are made for; None for one network that is told them.

    Raises:
        ValueError: for none, for one twice, and for what is no integer of at least 1.

    Example:
        >>> checked([1, 2])
        (1, 2)
    """
    if known is None:
        return None
    for each in known:
        check_count("each of multiplicities", each)
    if not known or len(set(known)) < len(known):
        raise ValueError(f"multiplicities must be different integers, at least one, got {known!r}")
    return tuple(known)


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
