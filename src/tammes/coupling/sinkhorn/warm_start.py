"""Warm start: the potential of one fit as the beginning of the next."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.reduce import Negatives


class WarmStart:
    """Memory of the last potential, and of the ids of the candidates that it belongs to.

    Example:
        >>> from tammes.reduce import KeyRanges
        >>> negatives = Negatives(anchors=torch.eye(3), ranges=KeyRanges(keys=torch.arange(3)), bound=1.0)
        >>> memory = WarmStart()
        >>> memory.keep(negatives, torch.ones(3))
        >>> memory.potential_for(negatives)
        tensor([1., 1., 1.])
    """

    def __init__(self) -> None:
        # Keys and potential, in one assignment: another thread sees both or neither.
        self._kept: tuple[Tensor, Tensor] | None = None

    def potential_for(self, negatives: Negatives) -> Float[Tensor, " m"] | None:
        """Return the last potential if its candidates had the same ids, device and type, else None."""
        if self._kept is None:
            return None
        keys, potential = self._kept
        now = negatives.ranges.keys_of_candidates
        same_kind = keys.device == now.device and potential.dtype == negatives.anchors.dtype
        return potential if same_kind and torch.equal(keys, now) else None

    def keep(self, negatives: Negatives, potential: Float[Tensor, " m"]) -> None:
        """Replace the potential."""
        self._kept = negatives.ranges.keys_of_candidates, potential

    def __reduce__(self) -> tuple[type[WarmStart], tuple[()]]:
        """Return an empty memory for copies: a potential belongs to a step, not to a coupling."""
        return WarmStart, ()
