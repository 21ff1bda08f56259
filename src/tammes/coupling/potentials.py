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
        self._keys: Tensor | None = None
        self._potential: Tensor | None = None

    def of(self, negatives: Negatives) -> Tensor | None:
        """`(m,)`, the potential last kept, if it was found for candidates of the same ids."""
        keys, anchors = negatives.keys_of_candidates, negatives.anchors
        if self._keys is None or self._potential is None or self._keys.device != keys.device:
            return None
        if self._potential.dtype != anchors.dtype or not torch.equal(self._keys, keys):
            return None
        return self._potential

    def keep(self, negatives: Negatives, potential: Tensor) -> None:
        """Replaces what was kept."""
        self._keys, self._potential = negatives.keys_of_candidates, potential

    def __reduce__(self) -> tuple[type[Potentials], tuple[()]]:
        """Copies and other processes start without: a potential belongs to a step, not to a coupling."""
        return Potentials, ()
