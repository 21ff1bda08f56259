"""Laplacian positional encodings without signs."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.baselines.baseline import Baseline


class AbsoluteValues(Baseline):
    """[|v_1|, ..., |v_k|]: invariant, but nodes on either side of a zero become alike.

    Args:
        eigenvectors: how many, k.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.2.3 and E.11.2.

    Example:
        >>> import torch
        >>> AbsoluteValues(1)(None, None, None, torch.tensor([[-0.6], [0.8]]), torch.zeros(1, 1)).tolist()
        [[0.6000000238418579], [0.800000011920929]]
    """

    def signed(
        self, eigenvectors: Float[Tensor, "nodes k"], batch: Int[Tensor, " nodes"], graphs: int
    ) -> Float[Tensor, "nodes k"]:
        """See `Baseline.signed`."""
        return eigenvectors.abs()
