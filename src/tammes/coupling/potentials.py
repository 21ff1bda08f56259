"""The potentials of the last transport plan, as a beginning for the next."""

from __future__ import annotations

import torch
from torch import Tensor

from tammes.reduce import Negatives


class Potentials:
    """Remembers one potential, and for which ids it was found.

    Example:
        >>> negatives = Negatives(anchors=torch.eye(3), keys=torch.arange(3), bound=1.0)
        >>> potentials = Potentials()
        >>> potentials.keep(negatives, torch.ones(3))
        >>> potentials.of(negatives)
        tensor([1., 1., 1.])
    """

    def __init__(self) -> None:
        self._kept: tuple[Tensor, Tensor] | None = None  # keys and potential; at once, for threads

    def of(self, negatives: Negatives) -> Tensor | None:
        """`(m,)`, the potential last kept, if it was found for candidates of the same ids."""
        if self._kept is None:
            return None
        keys, potential = self._kept
        now, anchors = negatives.keys_of_candidates, negatives.anchors
        if keys.device != now.device or potential.dtype != anchors.dtype or not torch.equal(keys, now):
            return None
        return potential

    def keep(self, negatives: Negatives, potential: Tensor) -> None:
        """Replaces what was kept."""
        self._kept = negatives.keys_of_candidates, potential

    def __reduce__(self) -> tuple[type[Potentials], tuple[()]]:
        """Copies and other processes start without: a potential belongs to a step, not to a coupling."""
        return Potentials, ()
