"""Laplacian positional encodings with random signs."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.baselines.baseline import Baseline


class RandomFlips(Baseline):
    """[s_1 v_1, ..., s_k v_k], with signs s_i that are drawn anew for each graph at each call in training.

    In evaluation the eigenvectors are taken as they are. An equivariant network learns from it what does not
    depend on signs, out of 2^k cases.

    Args:
        eigenvectors: how many, k.
        generator: what signs are drawn with.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.11.2; Dwivedi et al., Benchmarking Graph Neural Networks, 2020.

    Example:
        >>> flips = RandomFlips(1, generator=torch.Generator().manual_seed(0))
        >>> vectors, values = torch.full((2, 1), 0.5), torch.zeros(1, 1)
        >>> flips(None, None, None, vectors, values).abs().tolist()
        [[0.5], [0.5]]
    """

    def __init__(self, eigenvectors: int, *, generator: torch.Generator) -> None:
        super().__init__(eigenvectors)
        self.generator = generator

    def signed(
        self, eigenvectors: Float[Tensor, "nodes k"], batch: Int[Tensor, " nodes"], graphs: int
    ) -> Float[Tensor, "nodes k"]:
        """See `Baseline.signed`."""
        if not self.training:
            return eigenvectors
        drawn = torch.randint(2, (graphs, self.dim), generator=self.generator, device=self.generator.device)
        signs = (2 * drawn - 1).to(eigenvectors)
        return eigenvectors * signs[batch]
